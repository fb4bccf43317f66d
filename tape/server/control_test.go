package server

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"hemera/rules/checksum"
	"hemera/tape/session"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// control is a manager in memory that keeps the contract of tapeapi.Control, and checks that its caller does. It archives all files, then
// recalls those that are asked for. It is also the disks: it implements Files.
type control struct {
	t testing.TB

	mu      sync.Mutex
	r       *rand.Rand
	calls   int
	dead    bool            // nothing answers any more
	flaky   float64         // share of calls that fail, before or after they took effect
	cutAt   int             // the number of the call at which dying is called; 0: never
	dying   func()          // called without the lock
	epoch   hemera.Epoch    // of the lease now
	mounts  tapeapi.MountID // ids
	open    map[tapeapi.MountID]*openMount
	tapes   map[hemera.VID]*tapeapi.Tape
	files   map[hemera.FileID]*content
	in      map[string]hemera.VID // VID by drive, as of what the drive was told
	out     map[string]bool       // drives that are to unload and did not ask since
	seen    tapeapi.Library
	wake    chan struct{}
	wrong   int  // recalls that were committed with another content
	limit   int  // jobs in one answer
	odd     bool // mounts are for work that no session does
	scans   []tapeapi.Scanned
	scanned tapeapi.ScanResults                 // the last report of a scan
	last    map[tapeapi.MountID]tapeapi.Results // report by mount
	wanted  hemera.VID                          // VID to scan
	key     tapeapi.Key                         // of all tapes
}

// openMount is a mount that has not ended.
type openMount struct {
	tapeapi.Mount
	drive string
	given map[tapeapi.JobKey]bool
}

// content is a file.
type content struct {
	data    []byte
	onTape  *tapeapi.Written
	vid     hemera.VID
	recall  bool // it is to be recalled
	back    bool // it was
	attempt int
	failed  string
}

func newControl(t testing.TB, seed uint64, files int) *control {
	c := &control{t: t, r: rand.New(rand.NewPCG(seed, 1)), epoch: 1, last: map[tapeapi.MountID]tapeapi.Results{}, open: map[tapeapi.MountID]*openMount{}, tapes: map[hemera.VID]*tapeapi.Tape{},
		files: map[hemera.FileID]*content{}, in: map[string]hemera.VID{}, out: map[string]bool{}, wake: make(chan struct{}), limit: 1000}
	for i := range files {
		data := make([]byte, 1+c.r.IntN(300_000)>>c.r.IntN(12))
		_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(i), byte(i >> 8)}).Read(data)
		c.files[hemera.FileID(i+1)] = &content{data: data}
	}
	return c
}

// node implements Options.Node.
func (c *control) node() (hemera.NodeID, hemera.Epoch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return 7, c.epoch
}

// call begins each call: it may fail, and the returned function may lose the answer. The lock is held afterwards if err is nil.
func (c *control) call(node hemera.NodeID, epoch hemera.Epoch) (end func() error, err error) {
	c.mu.Lock()
	c.calls++
	dying := c.dying
	if c.calls != c.cutAt {
		dying = nil
	}
	lost := errs.New(errs.Unavailable, "control.Call", "", "no answer")
	switch {
	case dying != nil:
		c.dead = true
		c.mu.Unlock()
		dying()
		return nil, lost
	case c.dead, c.r.Float64() < c.flaky:
		c.mu.Unlock()
		return nil, lost
	case node != 7 || epoch != c.epoch:
		c.mu.Unlock()
		return nil, errs.New(errs.Fenced, "control.Call", "", "another lease")
	}
	drop := c.r.Float64() < c.flaky
	return func() error {
		c.mu.Unlock()
		if drop {
			return lost
		}
		return nil
	}, nil
}

func (c *control) ReportLibrary(_ context.Context, node hemera.NodeID, epoch hemera.Epoch, l tapeapi.Library) error {
	end, err := c.call(node, epoch)
	if err != nil {
		return err
	}
	c.seen = l
	for vid, media := range l.VIDs {
		if c.tapes[vid] == nil {
			c.tapes[vid] = &tapeapi.Tape{VID: vid, MediaType: media}
		}
	}
	c.changed()
	return end()
}

// changed has those who wait look again. The lock is held.
func (c *control) changed() {
	close(c.wake)
	c.wake = make(chan struct{})
}

func (c *control) NextMount(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, drive string) (m tapeapi.Mount, err error) {
	for range 20 {
		end, err := c.call(node, epoch)
		if err != nil {
			return m, err
		}
		// A drive asks when it does nothing: what it had is over.
		for id, o := range c.open {
			if o.drive == drive {
				delete(c.open, id)
			}
		}
		// And a tape that it was to unload is in its slot only now.
		if c.out[drive] {
			c.in[drive] = ""
			delete(c.out, drive)
		}
		m = c.decide(drive)
		if m.Kind == tapeapi.MountUnload {
			c.out[drive] = true
		} else if m.Kind != tapeapi.MountNothing {
			c.mounts++
			m.ID = c.mounts
			m.Labels.LastFSeq, m.Labels.LastID = c.tapes[m.VID].LastFSeq, c.tapes[m.VID].LastID
			if m.Kind != tapeapi.MountLabel {
				m.Labels.Key = c.key
			}
			c.open[m.ID] = &openMount{Mount: m, drive: drive, given: map[tapeapi.JobKey]bool{}}
			c.in[drive] = m.VID
		}
		wake := c.wake
		if err := end(); err != nil || m.Kind != tapeapi.MountNothing {
			return m, err
		}
		select {
		case <-wake:
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return m, errs.Wrap(ctx.Err(), "control.NextMount", drive)
		}
	}
	return m, nil
}

// decide chooses what a drive does. The lock is held.
func (c *control) decide(drive string) tapeapi.Mount {
	busy := map[hemera.VID]bool{}
	for d, vid := range c.in {
		if d != drive {
			busy[vid] = true
		}
	}
	for _, t := range c.tapes {
		if t.Reason == unscanned && !busy[t.VID] {
			return tapeapi.Mount{Kind: tapeapi.MountScan, VID: t.VID, After: t.LastFSeq}
		}
	}
	if c.wanted != "" && !busy[c.wanted] {
		vid := c.wanted
		c.wanted = ""
		return tapeapi.Mount{Kind: tapeapi.MountScan, VID: vid}
	}
	for _, f := range c.files {
		if f.recall && !f.back && f.failed == "" && !busy[f.vid] {
			return tapeapi.Mount{Kind: tapeapi.MountWork, Job: tapeapi.Recall, VID: f.vid}
		}
	}
	if c.waiting() > 0 {
		for i := range len(c.tapes) {
			t := c.tapes[hemera.VID(fmt.Sprintf("V%05d", i+1))]
			switch {
			case t == nil || t.Full || busy[t.VID] || t.State != "" || t.Reason != "":
			case t.Labelled.IsZero():
				return tapeapi.Mount{Kind: tapeapi.MountLabel, VID: t.VID}
			case c.odd:
				return tapeapi.Mount{Kind: tapeapi.MountWork, Job: tapeapi.Repack, VID: t.VID}
			default:
				return tapeapi.Mount{Kind: tapeapi.MountWork, Job: tapeapi.Archive, VID: t.VID}
			}
		}
	}
	if c.in[drive] != "" && c.r.IntN(3) == 0 {
		return tapeapi.Mount{Kind: tapeapi.MountUnload}
	}
	return tapeapi.Mount{}
}

// used returns a tape that has files: whichever drive was first chose it. The lock is held.
func (c *control) used() hemera.VID {
	for _, f := range c.files {
		if f.vid != "" {
			return f.vid
		}
	}
	c.t.Fatal("no file is on tape")
	return ""
}

// given reports whether a mount has the job. The lock is held.
func (c *control) given(k tapeapi.JobKey) bool {
	for _, o := range c.open {
		if o.given[k] {
			return true
		}
	}
	return false
}

// waiting counts the files that are to be archived and are given to nobody. The lock is held.
func (c *control) waiting() (n int) {
	for id, f := range c.files {
		if f.onTape == nil && f.failed == "" && !c.given(tapeapi.JobKey{File: id, Kind: tapeapi.Archive, Copy: 1}) {
			n++
		}
	}
	return n
}

func (c *control) TapeJobs(_ context.Context, node hemera.NodeID, epoch hemera.Epoch, want tapeapi.JobsRequest) (reply tapeapi.JobsReply, err error) {
	end, err := c.call(node, epoch)
	if err != nil {
		return reply, err
	}
	o := c.open[want.Mount]
	if o == nil {
		_ = end()
		return reply, errs.New(errs.NotFound, "control.Jobs", "", "no such mount")
	}
	for id := hemera.FileID(1); int(id) <= len(c.files) && len(reply.Jobs) < min(want.Files, c.limit); id++ {
		f := c.files[id]
		k := tapeapi.JobKey{File: id, Kind: o.Job, Copy: 1}
		fits := (o.Job == tapeapi.Archive || c.odd && f.attempt == 0) && f.onTape == nil || o.Job == tapeapi.Recall && f.recall && !f.back && f.vid == o.VID
		if !fits || f.failed != "" || c.given(k) {
			continue
		}
		o.given[k] = true
		w := tapeapi.Work{Job: tapeapi.Job{JobKey: k, ArchiveID: 1000 + uint64(id), Size: int64(len(f.data))}, Path: fmt.Sprintf("/f%d", id),
			Checksum: []hemera.Checksum{adler(f.data)}}
		if o.Job == tapeapi.Recall {
			w.From = &hemera.TapeCopy{Number: 1, VID: f.vid, FSeq: f.onTape.FSeq, Block: f.onTape.Block, Member: f.onTape.Member}
		}
		reply.Jobs = append(reply.Jobs, w)
	}
	reply.Last = len(reply.Jobs) == 0
	return reply, end()
}

// adler returns the checksum of some bytes.
func adler(b []byte) hemera.Checksum {
	h := checksum.NewAdler32()
	_, _ = h.Write(b)
	return h.Sum()
}

func (c *control) TapeGrant(_ context.Context, node hemera.NodeID, epoch hemera.Epoch, mount tapeapi.MountID, job tapeapi.JobKey) (g tapeapi.Grant, err error) {
	end, err := c.call(node, epoch)
	if err != nil {
		return g, err
	}
	if o := c.open[mount]; o == nil || !o.given[job] {
		c.t.Errorf("mount %d asks for a job that it does not have: %+v", mount, job)
	}
	g = tapeapi.Grant{Path: fmt.Sprint(job.File), Size: int64(len(c.files[job.File].data))}
	return g, end()
}

func (c *control) TapeDone(_ context.Context, node hemera.NodeID, epoch hemera.Epoch, r tapeapi.Results) ([]byte, error) {
	end, err := c.call(node, epoch)
	if err != nil {
		return nil, err
	}
	tape := c.tapes[r.VID]
	if len(r.Written) > 0 && r.Key != c.key.Name {
		c.t.Errorf("a report of key %q, the mount has %q", r.Key, c.key.Name)
	}
	for _, w := range r.Written {
		if err := c.written(tape, w); err != nil {
			_ = end()
			return nil, err
		}
	}
	o := c.open[r.Mount]
	// A report whose answer was lost comes again. Its failures count once: the job may have been given out again since.
	again := reflect.DeepEqual(c.last[r.Mount], r)
	c.last[r.Mount] = r
	for _, f := range r.Failed {
		if again {
			break
		}
		file := c.files[f.Job.File]
		if file.attempt++; file.attempt > 50 || f.Void {
			file.failed = f.Error
		}
		// It stays with the mount until that ends: the report may come twice.
	}
	for _, k := range r.Done {
		if o != nil {
			delete(o.given, k)
		}
	}
	if r.Scan != nil {
		c.scans = append(c.scans, r.Scan.Files...)
		c.scanned = *r.Scan
	}
	if r.Unscanned != "" {
		tape.Reason = unscanned
	}
	if r.Scan != nil && tape.Reason == unscanned {
		c.takeTail(tape, r.Scan)
	}
	tape.Full = tape.Full || r.Full
	if r.Labelled {
		tape.Labelled = time.Unix(1, 0)
	}
	if r.Problem != "" {
		tape.State, tape.Reason = tapeapi.Disabled, r.Problem
	}
	if r.Ended {
		delete(c.open, r.Mount)
	}
	c.changed()
	return nil, end()
}

// unscanned is the reason of tapes whose end is to be scanned before they are written.
const unscanned = "its end is to be scanned"

// takeTail records what a scan found behind the last file that is known of a tape. The lock is held.
func (c *control) takeTail(tape *tapeapi.Tape, found *tapeapi.ScanResults) {
	for _, one := range found.Files {
		f := c.files[one.File]
		if one.Written.FSeq <= tape.LastFSeq || f == nil || f.onTape != nil {
			continue
		}
		w := one.Written
		f.onTape, f.vid = &w, tape.VID
	}
	if found.Complete {
		tape.LastFSeq, tape.LastID, tape.Reason = found.End.FSeq, found.End.ArchiveID, ""
	}
}

// written records a tape file. The lock is held.
func (c *control) written(tape *tapeapi.Tape, w tapeapi.Written) error {
	f := c.files[w.Job.File]
	again := w.FSeq <= tape.LastFSeq && f != nil && f.onTape != nil && *f.onTape == w && f.vid == tape.VID
	switch {
	case again, w.Job.Kind == 0 && w.FSeq <= tape.LastFSeq: // the answer was lost
		return nil
	case w.FSeq != tape.LastFSeq+1 && (w.Member < 2 || w.FSeq != tape.LastFSeq):
		return errs.New(errs.Conflict, "control.Done", string(tape.VID), fmt.Sprintf("file %d after %d", w.FSeq, tape.LastFSeq))
	}
	tape.LastFSeq, tape.LastID, tape.Occupancy = w.FSeq, w.ArchiveID, tape.Occupancy+w.Bytes
	if w.Member > 0 {
		tape.LastID = 0 // the container's own
	}
	if f != nil && f.onTape == nil {
		f.onTape, f.vid = &w, tape.VID
		if w.Size != int64(len(f.data)) || w.Sum != adler(f.data) {
			c.t.Errorf("file %d was written with %d bytes, not %d", w.Job.File, w.Size, len(f.data))
		}
	}
	return nil
}

// Open implements Files.
func (c *control) Open(_ context.Context, g tapeapi.Grant) (session.Content, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || c.r.Float64() < c.flaky {
		return nil, errs.New(errs.NotFound, "control.Open", g.Path, "the node is gone")
	}
	var id hemera.FileID
	if _, err := fmt.Sscan(g.Path, &id); err != nil {
		return nil, err
	}
	return reading{bytes.NewReader(c.files[id].data)}, nil
}

// reading is an open file.
type reading struct{ *bytes.Reader }

func (r reading) ReadAt(_ context.Context, p []byte, off int64) error {
	_, err := r.Reader.ReadAt(p, off)
	return err
}

func (r reading) Close() error { return nil }

// Create implements Files.
func (c *control) Create(_ context.Context, g tapeapi.Grant) (session.Target, error) {
	w := &writing{c: c}
	_, err := fmt.Sscan(g.Path, &w.id)
	return w, err
}

// writing is a file that is recalled.
type writing struct {
	c    *control
	id   hemera.FileID
	data []byte
}

func (w *writing) Write(_ context.Context, p []byte) error {
	w.data = append(w.data, p...)
	return nil
}

func (w *writing) Commit(context.Context) error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if w.c.dead {
		return errs.New(errs.Unavailable, "control.Commit", "", "gone")
	}
	f := w.c.files[w.id]
	if !bytes.Equal(f.data, w.data) {
		w.c.wrong++
	}
	f.back = true
	return nil
}

func (w *writing) Abort(context.Context) {}
