package session

import (
	"context"
	"errors"
	"io"
	"sync"

	"hemera/tape/device"
	"hemera/tape/volume"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// Recall reads the files of the jobs from the tape, in their order, until there are no more or the context ends. Jobs of kind [tapeapi.Verify] are
// compared and written nowhere. It returns the figures of the session, and an error if the drive, the jobs or the journal failed.
func Recall(ctx context.Context, o RecallOptions) (tapeapi.Session, error) {
	o.Limits = o.Limits.filled()
	f := newFigures(ctx, o.Common)
	tapeCtx := context.WithoutCancel(ctx)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	told := &reporter{journal: o.Journal, panics: o.Panics, in: make(chan result, reportMax), finished: make(chan struct{}), stop: stop}
	go told.run(tapeCtx)
	r := &recall{o: o, f: f, pool: newPool(o.Limits.Buffers, o.Limits.Chunk), open: make(chan struct{}, o.Limits.Open), told: told}
	err := r.run(ctx)
	if err != nil {
		stop(err) // writers abort what is not whole
	}
	// The tape is done; disks may take longer, and the tape stays mounted for that time.
	waited := f.waits()
	r.writers.Wait()
	f.got(waited)
	close(told.in)
	<-told.finished
	if told.err != nil {
		err = told.err
	}
	told.figures(&f.Session)
	return f.end(tapeCtx), err
}

// recall is the goroutine of the tape in a recall session.
type recall struct {
	o       RecallOptions
	f       *figures
	pool    *pool          // buffers between the tape and the writers
	open    chan struct{}  // one for each file that is not committed yet
	writers sync.WaitGroup // of files that are not committed yet
	told    *reporter
	// container is the last one whose table was read; its other members need it too.
	container *volume.Container
	bad       int    // tape files that failed one after the other
	badFile   uint64 // fSeq of the last of them
	tries     int    // reads of its table that failed one after the other, if it is a container
	badTable  error  // why its table cannot be read, after tableTries
}

// tableTries is the number of times that the table of a container is read before all members fail that the session was given: a second read often
// helps.
const tableTries = 2

// badMax is the number of tape files that may fail one after the other before the drive is suspected instead of the tape. Members of a container are
// of one tape file: a table that cannot be read fails all of them, and says nothing about the rest of the tape.
const badMax = 5

// run reads files until there are no more jobs.
func (r *recall) run(ctx context.Context) error {
	for {
		jobs, last, err := r.o.Jobs.Next(ctx, r.o.Limits.BatchFiles, r.o.Limits.BatchBytes)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if err := r.one(ctx, job); err != nil {
				return err
			}
			r.told.figures(&r.f.Session)
			r.f.progress()
		}
		if last || len(jobs) == 0 {
			return nil
		}
	}
}

// one recalls a file. It returns only what ends the session.
func (r *recall) one(ctx context.Context, job tapeapi.Work) error {
	waited := r.f.waits()
	select {
	case r.open <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// Too many files are open only if disks are slower than the tape.
	r.f.got(waited)
	w := r.startWriter(ctx, job)
	err := r.o.Panics.Do("session.Recall", job.Path, func() error { return r.read(ctx, job, w) })
	w.end(err)
	switch {
	// Where the tape stands is not known.
	case errors.Is(err, errs.Internal):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil, errors.Is(err, errWriter):
		r.bad, r.tries, r.badTable = 0, 0, nil
		return nil
	case driveFailed(err):
		return err
	}
	// After an error of a member the next one reads the table again.
	r.container = nil
	if job.From == nil || r.bad > 0 && r.badFile == job.From.FSeq {
		return nil
	}
	r.badFile = job.From.FSeq
	if r.bad++; r.bad >= badMax {
		return err
	}
	return nil
}

// driveFailed reports whether an error is of the drive. It says nothing about the tape in it.
func driveFailed(err error) bool {
	return errors.Is(err, device.ErrHardware) || errors.Is(err, device.ErrNoMedium) || errors.Is(err, device.ErrNotReady)
}

// errWriter ends the reading of a file whose writer failed. The writer has told the journal why.
var errWriter = errors.New("the file cannot be written")

// read gives the content of a job to its writer.
func (r *recall) read(ctx context.Context, job tapeapi.Work, w *writer) error {
	if job.From == nil {
		return errs.New(errs.Invalid, "session.Recall", job.Path, "the job does not say where the file is")
	}
	since := r.f.now()
	at := volume.Place{FSeq: job.From.FSeq, Block: job.From.Block, ArchiveID: job.ArchiveID}
	fill := filler{recall: r, ctx: ctx, w: w}
	if job.From.Member > 0 {
		if err := r.openContainer(ctx, at); err != nil {
			return err
		}
		err := r.container.GoTo(ctx, job.From.Member)
		r.f.spent(&r.f.Tape, since)
		if err != nil {
			return err
		}
		err = r.container.ReadMember(ctx, job.From.Member, fill.copy)
		return fill.end(err)
	}
	// A file that follows the last one needs no locate.
	file, err := r.o.Volume.OpenFile(ctx, at)
	r.f.spent(&r.f.Tape, since)
	if err != nil {
		return err
	}
	return fill.end(fill.file(file))
}

// openContainer reads the table of a container, unless it is the last one.
func (r *recall) openContainer(ctx context.Context, at volume.Place) error {
	if r.container != nil && r.container.Place().FSeq == at.FSeq {
		return nil
	}
	// Rereads of a damaged place take minutes, and there may be a thousand members.
	if r.badTable != nil && r.badFile == at.FSeq {
		return r.badTable
	}
	r.container = nil
	c, err := r.o.Volume.OpenContainer(ctx, at)
	r.container, r.badTable = c, nil
	if err == nil || driveFailed(err) || ctx.Err() != nil {
		return err
	}
	// The count is of one container: the file that failed last.
	if r.bad == 0 || r.badFile != at.FSeq {
		r.tries = 0
	}
	if r.tries++; r.tries >= tableTries {
		r.badTable = err
	}
	return err
}

// filler fills buffers with what is read and hands them to the writer.
type filler struct {
	recall *recall
	ctx    context.Context //nolint:containedctx // lives as long as one call
	w      *writer
	buf    []byte // what is filled so far, with room behind it
}

// room waits for a buffer if there is none with room for a block.
func (f *filler) room(size int) error {
	if f.buf != nil && cap(f.buf)-len(f.buf) >= size {
		return nil
	}
	// A block goes to one buffer as a whole, so a read needs room for the largest.
	if err := f.send(); err != nil {
		return err
	}
	waited := f.recall.f.waits()
	b, err := f.recall.pool.get(f.ctx)
	f.recall.f.got(waited)
	if err == nil && cap(b) < size { // of a writer with larger blocks than ours
		f.recall.pool.put(b)
		return errs.New(errs.Unsupported, "session.Recall", f.w.job.Path, "its blocks are larger than a buffer")
	}
	f.buf = b[:0]
	return err
}

// send hands over what is filled. It fails with errWriter if the writer cannot use it.
func (f *filler) send() error {
	b := f.buf
	f.buf = nil
	switch {
	// There is no use in reading the rest of the file.
	case f.w.failed.Load():
		if b != nil {
			f.recall.pool.put(b)
		}
		return errWriter
	case b != nil:
		f.recall.f.buffered.Add(int64(len(b)))
		f.w.chunks <- b
	}
	return nil
}

// file reads a whole tape file.
func (f *filler) file(file *volume.File) error {
	for {
		if err := f.room(file.BlockSize()); err != nil {
			return err
		}
		n, err := file.Read(f.ctx, f.buf[len(f.buf):cap(f.buf)])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f.buf = f.buf[:len(f.buf)+n]
		f.recall.f.moved(f.ctx, n)
	}
}

// copy takes a part of a member.
func (f *filler) copy(b []byte) error {
	if err := f.room(len(b)); err != nil {
		return err
	}
	f.buf = append(f.buf, b...)
	f.recall.f.moved(f.ctx, len(b))
	return nil
}

// end hands over the rest if there was no error, and else gives the buffer back.
func (f *filler) end(err error) error {
	if err == nil {
		return f.send()
	}
	if f.buf != nil {
		f.recall.pool.put(f.buf)
		f.buf = nil
	}
	return err
}
