package server

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hemera/platform/contain"
	"hemera/tape/device"
	"hemera/tape/device/emulated"
	"hemera/tape/session"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// rig is a library on emulated hardware, without waiting, and a server of it that runs.
type rig struct {
	t       testing.TB
	dir     string
	control *control
	library *emulated.Library
	limits  session.Limits
	bound   time.Duration // of calls to drives; 0 is the default
	panics  *contain.Panics
	wrap    func(device.Changer) device.Changer // nil wraps nothing
	stop    func()
}

// newRig makes a library of two drives and six small cartridges.
func newRig(t testing.TB, c *control) *rig {
	t.Helper()
	x := &rig{t: t, dir: t.TempDir(), control: c, limits: session.Limits{FlushFiles: 3, BatchFiles: 7, Buffers: 8, Chunk: 256 << 10, Open: 4}}
	if err := emulated.Create(x.dir, emulated.Spec{Drives: 2, Slots: 8, Cartridges: 6, Capacity: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	return x
}

// open opens the library.
func (x *rig) open() *emulated.Library {
	x.t.Helper()
	library, err := emulated.Open(x.dir, emulated.Options{NoSync: true})
	if err != nil {
		x.t.Fatal(err)
	}
	return library
}

// options returns the options of a server of the library.
func (x *rig) options(library *emulated.Library) Options {
	o := Options{Node: x.control.node, Control: x.control, Name: "lib", Changer: library.Changer(), Files: x.control, Limits: x.limits, CallMax: x.bound,
		LastReports: 5 * time.Millisecond, Host: "TEST", Version: "1", Log: slog.New(slog.DiscardHandler),
		// Pauses are not waited for, but others get a turn.
		Sleep: func(ctx context.Context, _ time.Duration) error {
			runtime.Gosched()
			return sleep(ctx, time.Millisecond)
		}}
	if o.Panics = x.panics; x.wrap != nil {
		o.Changer = x.wrap(o.Changer)
	}
	for i, d := range library.Drives() {
		o.Drives = append(o.Drives, Drive{Drive: d, Name: fmt.Sprintf("d%d", i+1), Media: []string{"LTO-9"}})
	}
	return o
}

// start opens the library and runs a server.
func (x *rig) start() {
	x.t.Helper()
	library := x.open()
	x.library = library
	s, err := New(x.options(library))
	if err != nil {
		x.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	x.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := library.Close(); err != nil {
			x.t.Error(err)
		}
	})
	x.t.Cleanup(func() { x.stop() })
}

// await waits until something is so. The lock of the control is held for it.
func (x *rig) await(what string, so func(c *control) bool) {
	x.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		x.control.mu.Lock()
		done := so(x.control)
		x.control.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(deadline) {
			x.control.mu.Lock()
			defer x.control.mu.Unlock()
			for id, f := range x.control.files {
				if f.onTape == nil || f.failed != "" {
					x.t.Logf("file %d: %d attempts, %q", id, f.attempt, f.failed)
				}
			}
			for _, tape := range x.control.tapes {
				x.t.Logf("%+v", *tape)
			}
			for mount, r := range x.control.last {
				x.t.Logf("mount %d of %s: ended %v, %q", mount, r.VID, r.Ended, r.Session.Error)
			}
			x.t.Fatalf("not after a minute: %s; the library: %+v", what, x.control.seen)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// archived waits until all files are on tape.
func (x *rig) archived() {
	x.t.Helper()
	x.await("all files are on tape", func(c *control) bool {
		for _, f := range c.files {
			if f.onTape == nil && f.failed == "" {
				return false
			}
		}
		return true
	})
}

// recalled asks for all files that are on tape and compares what comes back.
func (x *rig) recalled() {
	x.t.Helper()
	x.control.mu.Lock()
	for _, f := range x.control.files {
		f.recall, f.back, f.failed = f.onTape != nil, false, ""
	}
	x.control.changed()
	x.control.mu.Unlock()
	x.await("all files are back", func(c *control) bool {
		for _, f := range c.files {
			if f.recall && !f.back && f.failed == "" {
				return false
			}
		}
		return true
	})
	x.control.mu.Lock()
	defer x.control.mu.Unlock()
	for id, f := range x.control.files {
		if f.recall && !f.back {
			x.t.Errorf("file %d was acknowledged and cannot be read: %s", id, f.failed)
		}
	}
	if x.control.wrong > 0 {
		x.t.Errorf("%d files came back with another content", x.control.wrong)
	}
}

// TestArchiveAndRecall: a fresh library gets labels, files, and gives them back, over several tapes.
func TestArchiveAndRecall(t *testing.T) {
	x := newRig(t, newControl(t, 1, 130)) // more than two tapes take
	x.start()
	x.archived()
	x.recalled()
	x.control.mu.Lock()
	defer x.control.mu.Unlock()
	full := 0
	for _, tape := range x.control.tapes {
		if tape.Full {
			full++
		}
		if tape.State != "" {
			t.Errorf("tape %s is %s: %s", tape.VID, tape.State, tape.Reason)
		}
	}
	for id, f := range x.control.files {
		if f.failed != "" {
			t.Errorf("file %d: %s", id, f.failed)
		}
	}
	if full == 0 {
		t.Error("no tape is full: the test archives too little")
	}
}

// defectiveChanger panics in its first moves.
type defectiveChanger struct {
	device.Changer
	left *atomic.Int64
}

func (c defectiveChanger) Move(ctx context.Context, from, to int) error {
	if c.left.Add(-1) >= 0 {
		panic("a defect of the driver")
	}
	return c.Changer.Move(ctx, from, to)
}

// TestADriveThatPanicsIsDown, with the cause, and works again after a pause; its mounts end, and nothing is lost.
func TestADriveThatPanicsIsDown(t *testing.T) {
	x := newRig(t, newControl(t, 1, 10))
	x.panics = contain.New(nil)
	x.wrap = func(c device.Changer) device.Changer {
		left := new(atomic.Int64)
		left.Store(2)
		return defectiveChanger{c, left}
	}
	x.start()
	x.archived()
	x.recalled()
	x.stop()
	if x.panics.Count() != 2 {
		t.Errorf("%d panics", x.panics.Count())
	}
}

// TestScan: a tape tells which files are on it.
func TestScan(t *testing.T) {
	x := newRig(t, newControl(t, 2, 20))
	x.start()
	x.archived()
	x.control.mu.Lock()
	vid := x.control.used()
	x.control.wanted = vid
	want := map[hemera.FileID]string{}
	for id, f := range x.control.files {
		if f.vid == vid {
			want[id] = fmt.Sprintf("/f%d", id)
		}
	}
	x.control.changed()
	x.control.mu.Unlock()
	x.await("the tape is scanned", func(c *control) bool { return c.scanned.Complete })
	x.control.mu.Lock()
	defer x.control.mu.Unlock()
	if len(x.control.scans) < len(want) {
		t.Errorf("%d files were found of %d", len(x.control.scans), len(want))
	}
	// An append goes on behind what the scan calls the end.
	tape := x.control.tapes[vid]
	if end := x.control.scanned.End; end.FSeq != tape.LastFSeq || end.ArchiveID != tape.LastID || end.Bytes != tape.Occupancy {
		t.Errorf("the tape ends with %+v, and the catalogue has %+v", end, tape)
	}
	for _, s := range x.control.scans {
		f := x.control.files[s.File]
		if f == nil || want[s.File] != s.Path || f.onTape.FSeq != s.Written.FSeq || f.onTape.Block != s.Written.Block || f.onTape.Sum != s.Written.Sum {
			t.Errorf("the scan found %+v, which is %+v", s, f)
		}
	}
}

// TestDrivesRecover: faults of drives and of the robot that pass need nobody.
func TestDrivesRecover(t *testing.T) {
	x := newRig(t, newControl(t, 3, 30))
	x.start()
	if err := x.library.SetPlan(emulated.Plan{Faults: []emulated.Fault{
		{Op: "load", Fail: "hardware", Count: 2}, {Op: "unload", Fail: "hardware", Count: 4, After: 1}, {Op: "move", Fail: "hardware", Count: 9, After: 2},
		{Op: "write", Fail: "hardware", Count: 1, After: 40}, {Op: "flush", Fail: "hardware", Count: 1, After: 3},
	}}); err != nil {
		t.Fatal(err)
	}
	x.archived()
	x.recalled()
}

// TestNothingIsLost kills servers and drives at every point, loses answers and files, and cuts the power. Each file that the manager was told of is on
// tape, whole, and all others are archived in the end.
func TestNothingIsLost(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := newControl(t, seed, 40)
			x := newRig(t, c)
			for range 6 {
				dies := make(chan struct{})
				c.mu.Lock()
				c.dead, c.flaky = false, c.r.Float64()/10
				c.epoch++
				c.open, c.in = map[tapeapi.MountID]*openMount{}, map[string]hemera.VID{}
				c.cutAt = c.calls + 1 + c.r.IntN(60)
				c.dying = sync.OnceFunc(func() { close(dies) })
				faults := []emulated.Fault{{Op: []string{"read", "write", "flush", "locate", "load", "unload", "move"}[c.r.IntN(7)],
					Fail: []string{"hardware", "not-ready", "power"}[c.r.IntN(3)], Count: 1 + c.r.IntN(3), After: c.r.IntN(80)}}
				c.mu.Unlock()
				x.start()
				if err := x.library.SetPlan(emulated.Plan{Faults: faults}); err != nil {
					t.Fatal(err)
				}
				<-dies
				x.library.PowerCut()
				x.stop()
			}
			c.mu.Lock()
			c.dead, c.flaky, c.dying = false, 0, nil
			c.epoch++
			c.open, c.in = map[tapeapi.MountID]*openMount{}, map[string]hemera.VID{}
			for _, f := range c.files {
				f.failed, f.attempt = "", 0
			}
			c.mu.Unlock()
			x.start()
			x.archived()
			x.recalled()
		})
	}
}

// TestUnknownWorkFails: jobs that no session does come back as failed, and do not keep a drive mounting for ever.
func TestUnknownWorkFails(t *testing.T) {
	c := newControl(t, 4, 3)
	c.odd = true
	x := newRig(t, c)
	x.start()
	x.await("all jobs have failed", func(c *control) bool {
		for _, f := range c.files {
			if f.attempt == 0 {
				return false
			}
		}
		return true
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, f := range c.files {
		if f.onTape != nil {
			t.Errorf("file %d is on tape", id)
		}
	}
}

// TestTheLastReport: a server that ends says so, with its drives.
func TestTheLastReport(t *testing.T) {
	x := newRig(t, newControl(t, 1, 0))
	x.start()
	x.await("the library is known", func(c *control) bool { return len(c.seen.Drives) == 2 && !c.seen.Ended })
	x.stop()
	x.control.mu.Lock()
	defer x.control.mu.Unlock()
	if !x.control.seen.Ended || len(x.control.seen.Drives) != 2 {
		t.Errorf("%+v", x.control.seen)
	}
}

// A session is of the kind that its mount is, as people know it.
func TestKindsOfSessions(t *testing.T) {
	for name, m := range map[string]tapeapi.Mount{
		"verify":    {Kind: tapeapi.MountWork, Job: tapeapi.Verify},
		"read back": {Kind: tapeapi.MountWork, Job: tapeapi.Verify, ReadBack: true},
		"scan":      {Kind: tapeapi.MountScan},
		"label":     {Kind: tapeapi.MountLabel},
	} {
		var s tapeapi.Session
		desk{d: &drive{}, mount: m}.sign(&s, time.Time{}, "")
		if s.Kind.String() != name {
			t.Errorf("%+v is %s", m, s.Kind)
		}
	}
}
