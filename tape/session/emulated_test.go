package session_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"hemera/tape/device"
	"hemera/tape/device/emulated"
	"hemera/tape/session"
	"hemera/tape/volume"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// library is an emulated library whose first cartridge is labelled, and its world.
type library struct {
	*world
	l *emulated.Library
}

func newLibrary(t *testing.T, capacity int64, o emulated.Options) *library {
	t.Helper()
	dir := t.TempDir()
	if err := emulated.Create(dir, emulated.Spec{Drives: 1, Slots: 2, Cartridges: 1, Media: "LTO-9", Capacity: capacity}); err != nil {
		t.Fatal(err)
	}
	o.NoSync = true
	l, err := emulated.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	x := &library{world: newWorld(t), l: l}
	x.tape = nil
	elements, err := l.Changer().Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	from, to := 0, 0
	for _, e := range elements {
		switch {
		case e.Kind == device.ElementSlot && e.Full:
			from = e.Address
		case e.Kind == device.ElementDrive:
			to = e.Address
		}
	}
	if err := l.Changer().Move(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if err := volume.Format(t.Context(), x.load(), volume.Label{VID: vid, Protected: true}, origin()); err != nil {
		t.Fatal(err)
	}
	return x
}

// load loads the cartridge, as after a power cut too.
func (x *library) load() device.Tape {
	x.t.Helper()
	loaded, err := x.l.Drives()[0].Load(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	return loaded
}

func (x *library) volume() *volume.Volume {
	x.t.Helper()
	v, err := volume.Open(x.t.Context(), x.load(), vid, origin())
	if err != nil {
		x.t.Fatal(err)
	}
	if !v.Protected() {
		x.t.Error("blocks are not protected")
	}
	return v
}

func (x *library) archive(l session.Limits) (tapeapi.Session, error) {
	v := x.volume()
	s, err := session.Archive(x.t.Context(), session.ArchiveOptions{Volume: v, Known: volume.Known{Last: x.last}, Jobs: x, Source: x, Journal: x, Common: session.Common{Limits: l}})
	if errors.Is(err, volume.ErrUnscanned) {
		x.scanTail(x.t.Context(), v)
		return x.archive(l)
	}
	return s, err
}

// recall recalls all copies and compares them.
func (x *library) recall(l session.Limits) {
	x.t.Helper()
	x.queue = nil
	for id := range x.copies {
		x.request(tapeapi.Recall, int(id))
	}
	if _, err := session.Recall(x.t.Context(), session.RecallOptions{Volume: x.volume(), Jobs: x, Sink: x, Journal: x, Common: session.Common{Limits: l}}); err != nil {
		x.t.Error(err)
	}
	for id := range x.copies {
		if !x.done[id] {
			x.t.Errorf("file %d did not come back: %+v", id, x.failed[id])
		}
	}
}

// fill asks for an archive of the files that have no copy.
func (x *library) fill(n int, size int64) {
	x.queue = nil
	for i := range n {
		if _, ok := x.copies[hemera.FileID(i+1)]; !ok {
			x.queue = append(x.queue, job(i+1, size))
		}
	}
}

// TestFaultsOfADriveLoseNothingThatWasReported fails one operation after the other in each way that a drive fails.
func TestFaultsOfADriveLoseNothingThatWasReported(t *testing.T) {
	for _, f := range []emulated.Fault{
		{Op: "write", Fail: "medium"}, {Op: "write", Fail: "hardware"}, {Op: "write", Fail: "power"}, {Op: "write", Fail: "corrupt"},
		{Op: "mark", Fail: "hardware"}, {Op: "mark", Fail: "power"}, {Op: "flush", Fail: "medium"}, {Op: "flush", Fail: "power"},
	} {
		for _, after := range []int{0, 5, 23, 64} {
			t.Run(fmt.Sprintf("%s %s after %d", f.Op, f.Fail, after), func(t *testing.T) {
				x := newLibrary(t, 1<<40, emulated.Options{})
				x.fill(20, 300_000)
				f.After, f.Count = after, 1
				if f.Op == "flush" {
					f.After = after / 25
				}
				if err := x.l.SetPlan(emulated.Plan{Faults: []emulated.Fault{f}}); err != nil {
					t.Fatal(err)
				}
				s, err := x.archive(small())
				if err == nil {
					t.Errorf("%+v, %v", s, err)
				}
				if err := x.l.SetPlan(emulated.Plan{}); err != nil {
					t.Fatal(err)
				}
				x.recall(small())
				x.fill(20, 300_000)
				if _, err := x.archive(small()); err != nil || len(x.copies) != 20 {
					t.Errorf("%v, %d copies", err, len(x.copies))
				}
				x.recall(small())
			})
		}
	}
}

func TestATapeIsFilledToItsEnd(t *testing.T) {
	x := newLibrary(t, 100<<20, emulated.Options{})
	x.fill(300, 900_000)
	s, err := x.archive(small())
	if err != nil || !x.full || len(x.copies) < 60 || len(x.copies) == 300 || int(s.Files) != len(x.copies) {
		t.Errorf("%+v, %v: %d copies, full %v", s, err, len(x.copies), x.full)
	}
	x.recall(small())
}

func TestADriveThatBreaksEndsARecall(t *testing.T) {
	x := newLibrary(t, 1<<40, emulated.Options{})
	x.fill(20, 300_000)
	if _, err := x.archive(small()); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		x.request(tapeapi.Recall, i+1)
	}
	if err := x.l.SetPlan(emulated.Plan{Faults: []emulated.Fault{{Op: "read", Fail: "hardware", After: 50}}}); err != nil {
		t.Fatal(err)
	}
	_, err := session.Recall(t.Context(), session.RecallOptions{Volume: x.volume(), Jobs: x, Sink: x, Journal: x, Common: session.Common{Limits: small()}})
	if !errors.Is(err, device.ErrHardware) || len(x.failed) != 0 || len(x.done) == 0 || len(x.done) == 20 {
		t.Errorf("%v: %d done, %+v", err, len(x.done), x.failed)
	}
}

func TestABlockThatArrivesWrongIsNoticed(t *testing.T) {
	x := newLibrary(t, 1<<40, emulated.Options{})
	x.fill(1, 300_000)
	if _, err := x.archive(small()); err != nil {
		t.Fatal(err)
	}
	x.request(tapeapi.Recall, 1)
	at := uint64(6)
	if err := x.l.SetPlan(emulated.Plan{Faults: []emulated.Fault{{Op: "read", Fail: "corrupt", Object: &at}}}); err != nil {
		t.Fatal(err)
	}
	_, err := session.Recall(t.Context(), session.RecallOptions{Volume: x.volume(), Jobs: x, Sink: x, Journal: x, Common: session.Common{Limits: small()}})
	if err != nil || x.done[1] || x.failed[1].Error == "" || errors.Is(err, errs.Internal) {
		t.Errorf("%v: done %v, %+v", err, x.done[1], x.failed[1])
	}
}

// driveTime returns the time for which a drive is busy with an archive of files.
func driveTime(t *testing.T, n int, size int64, l session.Limits) time.Duration {
	t.Helper()
	x := newLibrary(t, 0, emulated.Options{Discard: true})
	z := &zeros{}
	for i := range n {
		z.jobs = append(z.jobs, tapeapi.Work{Job: tapeapi.Job{JobKey: tapeapi.JobKey{File: hemera.FileID(i), Kind: tapeapi.Archive}, ArchiveID: uint64(i), Size: size}})
	}
	v := x.volume()
	before := x.l.Elapsed()
	s, err := session.Archive(t.Context(), session.ArchiveOptions{Volume: v, Jobs: z, Source: z, Journal: z, Common: session.Common{Limits: l}})
	if err != nil || s.Bytes != int64(n)*size {
		t.Fatal(s, err)
	}
	spent := x.l.Elapsed() - before
	t.Logf("%d files of %d bytes: %v, %.0f MB/s", n, size, spent, float64(s.Bytes)/1e6/spent.Seconds())
	return spent
}

// TestContainersSaveTheTimeOfFlushes compares the busy time of a drive, which the model counts, not this machine's.
func TestContainersSaveTheTimeOfFlushes(t *testing.T) {
	large := driveTime(t, 4, 1<<30, session.Limits{})
	alone := driveTime(t, 8192, 128<<10, session.Limits{PackBelow: -1})
	packed := driveTime(t, 8192, 128<<10, session.Limits{})
	// A quarter of the bytes of the large files, in 1,000 tape files a flush and in few containers.
	if alone < large || packed > alone/3 {
		t.Errorf("%v for large files, %v for small ones, %v in containers", large, alone, packed)
	}
}

// TestTheWayToAMemberIsWaitedForTheTape: a member that is asked for behind later ones of its container costs a way back, and the figures say so.
func TestTheWayToAMemberIsWaitedForTheTape(t *testing.T) {
	x := newLibrary(t, 0, emulated.Options{})
	l := session.Limits{PackBelow: 1 << 20, Chunk: 1 << 20, Buffers: 64}
	x.fill(20, 900_000)
	if _, err := x.archive(l); err != nil || x.copies[20].Member != 20 {
		t.Fatalf("%+v, %v", x.copies[20], err)
	}
	waits := func(ids ...int) time.Duration {
		x.request(tapeapi.Recall, ids...)
		start := time.Now()
		common := session.Common{Limits: l, Now: func() time.Time { return start.Add(x.l.Elapsed()) }}
		s, err := session.Recall(t.Context(), session.RecallOptions{Volume: x.volume(), Jobs: x, Sink: x, Journal: x, Common: common})
		if err != nil || int(s.Files) != len(ids) {
			t.Errorf("%+v, %v", s, err)
		}
		return s.Tape
	}
	// A locate back takes 15 s at least.
	if along, back := waits(1, 2, 10, 20), waits(1, 20, 2, 10); back < along+15*time.Second {
		t.Errorf("in their order %v, with a way back %v", along, back)
	}
}

// TestATapeThatEndsAtOnceIsFull has no room at all behind its early warning.
func TestATapeThatEndsAtOnceIsFull(t *testing.T) {
	x := newLibrary(t, 1<<40, emulated.Options{})
	x.fill(20, 300_000)
	if err := x.l.SetPlan(emulated.Plan{Faults: []emulated.Fault{{Op: "write", Fail: "end", After: 90}}}); err != nil {
		t.Fatal(err)
	}
	s, err := x.archive(small())
	if err != nil || !x.full || len(x.copies) == 0 || len(x.copies) == 20 || len(x.failed) != 0 {
		t.Errorf("%+v, %v: %d copies, full %v, failed %v", s, err, len(x.copies), x.full, x.failed)
	}
	x.recall(small())
}
