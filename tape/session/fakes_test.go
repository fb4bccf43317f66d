package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"hemera/platform/contain"
	"hemera/rules/checksum"
	"hemera/tape/device"
	"hemera/tape/internal/memtape"
	"hemera/tape/session"
	"hemera/tape/volume"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

const vid = "V01007"

func origin() volume.Writer {
	return volume.Writer{System: "HEMERA test", Drive: device.Identity{Vendor: "IBM"}, Now: time.Now}
}

// content returns the bytes of a file, other ones for each id.
func content(id hemera.FileID, size int64) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(id), byte(id >> 8)}).Read(b)
	return b
}

func adler(b []byte) hemera.Checksum {
	sum, _ := checksum.Of(hemera.Adler32, b)
	return sum
}

// world is a manager, its disks and one tape.
type world struct {
	t    *testing.T
	tape *memtape.Tape

	mu      sync.Mutex
	queue   []tapeapi.Work
	last    volume.Last
	copies  map[hemera.FileID]tapeapi.Written
	failed  map[hemera.FileID]tapeapi.Failure
	done    map[hemera.FileID]bool
	disk    map[hemera.FileID][]byte // recalled
	open    int                      // contents and targets that were not closed
	full    bool
	reports int
	// broken says which file fails at which offset when it is read from disk.
	broken map[hemera.FileID]int64
	// unwritable files fail when they are written to disk.
	unwritable map[hemera.FileID]bool
	// defects have a step of a file panic: opening, reading, creating, writing, committing, aborting, reporting.
	defects   map[hemera.FileID]string
	panics    *contain.Panics
	reportErr error
	taken     bool        // the manager takes a report although its answer is reportErr
	onReport  func(n int) // before the n-th report is taken, from 1
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, tape: &memtape.Tape{}, copies: map[hemera.FileID]tapeapi.Written{}, failed: map[hemera.FileID]tapeapi.Failure{},
		done: map[hemera.FileID]bool{}, disk: map[hemera.FileID][]byte{}, broken: map[hemera.FileID]int64{}, unwritable: map[hemera.FileID]bool{},
		defects: map[hemera.FileID]string{}, panics: contain.New(nil)}
	if err := volume.Format(t.Context(), w.tape, volume.Label{VID: vid}, origin()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) volume() *volume.Volume {
	w.t.Helper()
	v, err := volume.Open(w.t.Context(), w.tape, vid, origin())
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// job returns work for a file of the size.
func job(id int, size int64) tapeapi.Work {
	f := hemera.FileID(id)
	return tapeapi.Work{Job: tapeapi.Job{JobKey: tapeapi.JobKey{File: f, Kind: tapeapi.Archive, Copy: 1}, ArchiveID: uint64(1000 + id), Size: size},
		Path: fmt.Sprintf("/f%d", id), Checksum: []hemera.Checksum{adler(content(f, size))}}
}

// Next gives a few jobs at a time.
func (w *world) Next(_ context.Context, files int, size int64) (jobs []tapeapi.Work, last bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) > 0 && len(jobs) < files && (len(jobs) == 0 || size >= w.queue[0].Size) {
		size -= w.queue[0].Size
		jobs, w.queue = append(jobs, w.queue[0]), w.queue[1:]
	}
	return jobs, false, nil
}

// Report checks that what is written is durable at this moment, and follows what was written before.
func (w *world) Report(_ context.Context, r tapeapi.Results) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reports++
	if w.onReport != nil {
		w.onReport(w.reports)
	}
	if w.reportErr != nil && !w.taken {
		return w.reportErr
	}
	if len(r.Written) > 0 && w.tape != nil && !w.tape.Durable() {
		w.t.Error("files were reported that were not flushed")
	}
	for _, f := range r.Written {
		if f.FSeq != w.last.FSeq+1 && (f.FSeq != w.last.FSeq || f.Member == 0) {
			w.t.Errorf("file %d behind %d", f.FSeq, w.last.FSeq)
		}
		if f.Member == 0 {
			w.last = volume.Last{FSeq: f.FSeq, ArchiveID: f.ArchiveID}
		}
		if f.Job.Kind != 0 {
			w.copies[f.Job.File] = f
		}
	}
	for _, f := range r.Failed {
		w.failed[f.Job.File] = f
	}
	for _, d := range r.Done {
		w.done[d.File] = true
	}
	w.full = w.full || r.Full
	return w.reportErr
}

// step panics where a file has a defect.
func (w *world) step(f hemera.FileID, name string) {
	if w.defects[f] == name {
		panic("a defect in " + name)
	}
}

// Open implements Source.
func (w *world) Open(_ context.Context, j tapeapi.Work) (session.Content, error) {
	w.step(j.File, "opening")
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken[j.File] < 0 {
		return nil, errs.New(errs.NotFound, "test.Open", j.Path, "it was removed")
	}
	w.open++
	failAt, ok := w.broken[j.File]
	if !ok {
		failAt = 1 << 62
	}
	return &diskFile{w: w, file: j.File, data: content(j.File, j.Size), failAt: failAt}, nil
}

type diskFile struct {
	w      *world
	file   hemera.FileID
	data   []byte
	failAt int64
}

func (d *diskFile) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.w.step(d.file, "reading")
	if off+int64(len(p)) > d.failAt {
		return errs.New(errs.IO, "test.Read", "", "bad sector")
	}
	copy(p, d.data[off:])
	return nil
}

func (d *diskFile) Close() error { return d.w.closed() }

func (w *world) closed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
	return nil
}

// Create implements Sink.
func (w *world) Create(_ context.Context, j tapeapi.Work) (session.Target, error) {
	w.step(j.File, "creating")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	return &target{w: w, job: j}, nil
}

type target struct {
	w    *world
	job  tapeapi.Work
	data []byte
}

func (t *target) Write(_ context.Context, p []byte) error {
	t.w.step(t.job.File, "writing")
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	if t.w.unwritable[t.job.File] {
		return errs.New(errs.NoSpace, "test.Write", t.job.Path, "the disk is full")
	}
	t.data = append(t.data, p...)
	return nil
}

func (t *target) Commit(context.Context) error {
	if t.w.defects[t.job.File] == "committing" {
		_ = t.w.closed()
	}
	t.w.step(t.job.File, "committing")
	t.w.mu.Lock()
	t.w.disk[t.job.File] = t.data
	t.w.mu.Unlock()
	return t.w.closed()
}

func (t *target) Abort(context.Context) { _ = t.w.closed() }

// small limits let a few megabytes go round all buffers.
func small() session.Limits {
	return session.Limits{Chunk: volume.BlockSize, Buffers: 12, Window: 4, FlushFiles: 7, FlushBytes: 4 << 20, FlushAfter: time.Hour, PackBelow: -1, BatchFiles: 5, Open: 3}
}

// flaky is a tape whose block cannot be read some times.
type flaky struct {
	*memtape.Tape
	object uint64
	left   int // failures
}

// ReadBlock fails at the object while failures are left.
func (f *flaky) ReadBlock(ctx context.Context, p []byte) (int, error) {
	if at, err := f.Position(ctx); err == nil && at.Object == f.object && f.left > 0 {
		f.left--
		return 0, device.ErrMedium
	}
	return f.Tape.ReadBlock(ctx, p)
}

// defectiveTape is a tape whose driver panics, at an object in reading and in a write.
type defectiveTape struct {
	*memtape.Tape
	object uint64
	writes int // until the one that panics; 0: none does
}

// ReadBlock panics at the object.
func (d *defectiveTape) ReadBlock(ctx context.Context, p []byte) (int, error) {
	if at, err := d.Position(ctx); err == nil && d.object > 0 && at.Object == d.object {
		panic("a defect in a read")
	}
	return d.Tape.ReadBlock(ctx, p)
}

// WriteBlock panics once.
func (d *defectiveTape) WriteBlock(ctx context.Context, p []byte) error {
	if d.writes--; d.writes == 0 {
		panic("a defect in a write")
	}
	return d.Tape.WriteBlock(ctx, p)
}

// recallFrom recalls from another view of the tape.
func (w *world) recallFrom(ctx context.Context, from device.Tape, l session.Limits) (tapeapi.Session, error) {
	v, err := volume.Open(ctx, from, vid, origin())
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := session.Recall(ctx, session.RecallOptions{Volume: v, Jobs: w, Sink: w, Journal: w, Common: session.Common{Limits: l, Panics: w.panics}})
	w.quiet()
	return s, err
}

func (w *world) archive(ctx context.Context, l session.Limits) (tapeapi.Session, error) {
	v := w.volume()
	s, err := session.Archive(ctx, session.ArchiveOptions{Volume: v, Known: volume.Known{Last: w.last}, Jobs: w, Source: w, Journal: w, Common: session.Common{Limits: l, Panics: w.panics}})
	w.quiet()
	if errors.Is(err, volume.ErrUnscanned) {
		w.scanTail(ctx, v)
		return w.archive(ctx, l)
	}
	return s, err
}

// scanTail reads what stands behind the last file that is known, as the manager has it done.
func (w *world) scanTail(ctx context.Context, v *volume.Volume) {
	w.t.Helper()
	after, end := w.last.FSeq, volume.Last{}
	err := v.Scan(ctx, volume.ScanOptions{After: after}, func(r volume.Record) error {
		if end.FSeq == 0 {
			end = volume.Last{FSeq: r.FSeq, ArchiveID: r.ArchiveID}
		}
		_, known := w.copies[r.File]
		if r.FSeq > after && !known && (r.Kind == volume.KindFile || r.Kind == volume.KindMember) && r.File != 0 {
			w.copies[r.File] = tapeapi.Written{Job: tapeapi.JobKey{File: r.File, Kind: tapeapi.Archive, Copy: 1}, ArchiveID: r.ArchiveID, FSeq: r.FSeq, Block: r.Block,
				Member: r.Member, Size: r.Size, Sum: r.Sums[0]}
		}
		return nil
	})
	if err != nil || end.FSeq <= after {
		w.t.Fatalf("the end of the tape: %+v behind %d, %v", end, after, err)
	}
	w.last = end
	w.queue = slices.DeleteFunc(w.queue, func(j tapeapi.Work) bool { _, known := w.copies[j.File]; return known })
}

func (w *world) recall(ctx context.Context, l session.Limits) (tapeapi.Session, error) {
	s, err := session.Recall(ctx, session.RecallOptions{Volume: w.volume(), Jobs: w, Sink: w, Journal: w, Common: session.Common{Limits: l, Panics: w.panics}})
	w.quiet()
	return s, err
}

// quiet checks that a session closed everything.
func (w *world) quiet() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open != 0 {
		w.t.Errorf("%d files are still open", w.open)
	}
}

// failAtReport has the n-th report fail, from 0.
func (w *world) failAtReport(n int) {
	w.onReport = func(at int) {
		if at > n {
			w.reportErr = errs.New(errs.Unavailable, "test.Report", "", "the manager is gone")
		}
	}
}

// request queues a recall of each file that has a copy, in some order.
func (w *world) request(kind tapeapi.JobKind, ids ...int) {
	for _, id := range ids {
		c, ok := w.copies[hemera.FileID(id)]
		if !ok {
			w.t.Errorf("file %d has no copy", id)
			continue
		}
		j := job(id, c.Size)
		j.Kind = kind
		j.From = &hemera.TapeCopy{Number: 1, VID: vid, FSeq: c.FSeq, Block: c.Block, Member: c.Member}
		w.queue = append(w.queue, j)
	}
}

// verifyCopies recalls all files that have copies and compares them.
func (w *world) verifyCopies() {
	w.t.Helper()
	var ids []int
	for id := range w.copies {
		ids = append(ids, int(id))
	}
	w.queue = nil
	w.request(tapeapi.Recall, ids...)
	if _, err := w.recall(w.t.Context(), small()); err != nil {
		w.t.Fatal(err)
	}
	for _, id := range ids {
		f := hemera.FileID(id)
		if !w.done[f] || !bytes.Equal(w.disk[f], content(f, w.copies[f].Size)) {
			w.t.Errorf("file %d did not come back: done %v, %d bytes, %+v", id, w.done[f], len(w.disk[f]), w.failed[f])
		}
	}
}
