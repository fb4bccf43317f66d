package session

import (
	"context"
	"errors"
	"time"

	"hemera/tape/device"
	"hemera/tape/volume"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Archive appends the files of the jobs to the tape until there are no more jobs, the tape is full, or the context ends. It returns the figures
// of the session, and an error if the tape, the jobs or the journal failed: then jobs may be left that no report named.
func Archive(ctx context.Context, o ArchiveOptions) (tapeapi.Session, error) {
	o.Limits = o.Limits.filled()
	f := newFigures(ctx, o.Common)
	// The tape goroutine closes what it began, also when the context ends.
	tapeCtx := context.WithoutCancel(ctx)
	begun := f.now()
	appender, err := o.Volume.Append(tapeCtx, o.Known)
	f.spent(&f.Tape, begun)
	if err != nil {
		return f.report(tapeCtx), err
	}
	f.sample(tapeCtx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Two goroutines share no state but the channel of units and the pool.
	p := &planner{o: o, f: f, pool: newPool(o.Limits.Buffers, o.Limits.Chunk), units: make(chan *unit, o.Limits.Buffers)}
	go p.run(ctx)

	a := &archive{o: o, f: f, ctx: tapeCtx, appender: appender, pool: p.pool, flushed: f.now()}
	err = a.run(ctx, p.units)
	cancel()
	for u := range p.units { // everything that was read ahead is given back
		u.release(p.pool)
	}
	if err == nil && !a.appender.Full() {
		err = p.err
	}
	if last := a.finish(); err == nil {
		err = last
	}
	// A tape that is full to its very end is an ordinary one: what was not flushed goes to another tape.
	if errors.Is(err, device.ErrEndOfTape) {
		err = nil
	}
	return f.end(tapeCtx), err
}

// archive is the goroutine of the tape in an archive session.
type archive struct {
	o        ArchiveOptions
	f        *figures
	ctx      context.Context //nolint:containedctx // that of the tape, which does not end with the session's
	appender *volume.Appender
	pool     *pool
	// pending are results since the last report; files, bytes and flushed are since the last flush.
	pending tapeapi.Results
	files   int   // tape files
	bytes   int64 // on tape, with labels
	flushed time.Time
	failed  error // of the tape or the journal: nothing is flushed or reported any more
}

// run writes units in order. It ends when there are no more, when the tape is full, or with the first error of the tape or the journal.
func (a *archive) run(ctx context.Context, units <-chan *unit) error {
	for {
		waited := a.f.waits()
		u, ok := <-units
		a.f.got(waited)
		if !ok {
			return ctx.Err()
		}
		err := a.o.Panics.Do("session.Archive", "tape "+a.o.Volume.VID(), func() error { return a.write(u) })
		// Its buffers go to units that wait for them, before a flush that may take seconds.
		u.release(a.pool)
		if err == nil {
			err = a.flushWhenDue()
		}
		if err != nil {
			a.failed = err
			return err
		}
		a.f.progress()
		switch {
		// The jobs that are left go to another tape.
		case a.appender.Full():
			a.pending.Full = true
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// write writes one unit. It returns errors of the tape only; a file that fails is a result.
func (a *archive) write(u *unit) error {
	if u.packed() {
		return a.container(u)
	}
	return a.file(u)
}

// endSlack bounds the rest of a file that is written behind the early warning, in bytes. Drives warn when some hundred MiB are left.
const endSlack = 16 << 20

// file writes a single file from its chunks.
func (a *archive) file(u *unit) error {
	job := u.jobs[0]
	begun, left := false, job.Size // left are the bytes that were not written yet
	for {
		waited := a.f.waits()
		c := <-u.chunks
		a.f.got(waited)
		if err := a.take(u, c, &begun); err != nil {
			return err
		}
		left -= int64(len(c.data))
		switch {
		// What was written of it stays on the tape, without a row in the catalogue that refers to it.
		case c.err != nil:
			a.fail(job, c.err)
			return a.dead(job, begun)
		case c.last:
			return a.end(job, c.sum)
			// A file that is nearly done is worth the room behind the warning.
		case a.appender.Full() && left > endSlack:
			return a.dead(job, true) // the job is given back
		}
	}
}

// take gives a chunk of the unit's file, and the chunk's buffer back to the unit.
func (a *archive) take(u *unit, c chunk, begun *bool) error {
	defer u.used(c) // also in a panic: the unit's release waits for all buffers
	return a.give(u.jobs[0], c, begun)
}

// give writes a chunk, and the header of the file before its first one. A chunk with an error is not written.
func (a *archive) give(job tapeapi.Work, c chunk, begun *bool) error {
	if c.err != nil {
		return nil
	}
	if !*begun {
		if err := a.appender.Begin(a.ctx, job.ArchiveID); err != nil {
			return err
		}
		*begun = true
	}
	return a.append(c.data)
}

// append gives the drive a part of a file.
func (a *archive) append(b []byte) error {
	if err := a.appender.Write(a.ctx, b); err != nil {
		return err
	}
	a.f.moved(a.ctx, len(b))
	return nil
}

// end closes a file and notes it for the journal and the index.
func (a *archive) end(job tapeapi.Work, sum hemera.Checksum) error {
	w, err := a.appender.End(a.ctx)
	if err != nil {
		return err
	}
	a.f.Files, a.f.Bytes = a.f.Files+1, a.f.Bytes+w.Size
	r := record(job, sum)
	// The record of the index and the row of the catalogue say the same.
	r.Kind, r.FSeq, r.Block = volume.KindFile, w.FSeq, w.Block
	a.appender.Note(r)
	a.written(job.JobKey, w, sum)
	return nil
}

// dead closes a file that does not have all of its data. Its place on tape is taken, and no job is behind it.
func (a *archive) dead(job tapeapi.Work, begun bool) error {
	if !begun {
		return nil
	}
	w, err := a.appender.End(a.ctx)
	if err != nil {
		return err
	}
	r := volume.Record{Kind: volume.KindDead, FSeq: w.FSeq, Block: w.Block, ArchiveID: w.ArchiveID, Size: w.Size, Path: job.Path, File: job.File}
	a.appender.Note(r)
	a.written(tapeapi.JobKey{}, w, hemera.Checksum{Kind: hemera.Adler32})
	return nil
}

// fail notes a job whose file cannot be read.
func (a *archive) fail(job tapeapi.Work, err error) {
	if errs.KindOf(err) == errs.Cancelled {
		return // the session ends; the job is given back
	}
	a.f.Failed++
	a.pending.Failed = append(a.pending.Failed, failure(job, err))
}

// failure returns the result of a job that failed at its disk.
func failure(job tapeapi.Work, err error) tapeapi.Failure {
	kind := errs.KindOf(err)
	return tapeapi.Failure{Job: job.JobKey, Error: errs.Reason(err, ""), Void: kind == errs.NotFound || kind == errs.Conflict,
		PutOff: kind == errs.NoSpace || kind == errs.Locked}
}

// written adds a tape file to the next report. The first of its results has all its bytes.
func (a *archive) written(job tapeapi.JobKey, w volume.Written, sum hemera.Checksum) {
	a.files, a.bytes = a.files+1, a.bytes+w.Bytes
	a.pending.Written = append(a.pending.Written, tapeapi.Written{Job: job, ArchiveID: w.ArchiveID, FSeq: w.FSeq, Block: w.Block, Size: w.Size, Sum: sum, Bytes: w.Bytes})
}

// record returns the record of a job's file for the index; the caller adds its place on tape.
func record(job tapeapi.Work, sum hemera.Checksum) volume.Record {
	sums := []hemera.Checksum{sum}
	for _, s := range job.Checksum {
		if s.Kind != hemera.Adler32 {
			sums = append(sums, s)
		}
	}
	return volume.Record{ArchiveID: job.ArchiveID, Size: job.Size, Sums: sums, Path: job.Path, File: job.File,
		UID: job.Owner.UID, GID: job.Owner.GID, Mode: job.Owner.Mode, Mtime: job.Mtime, Class: job.Class, Copy: job.Copy}
}

// container writes small files as one tape file. Those that could not be read are left out.
func (a *archive) container(u *unit) error {
	waited := a.f.waits()
	<-u.ready
	a.f.got(waited)
	var members []volume.Record
	var good []member
	for _, m := range u.members {
		if m.err != nil {
			a.fail(m.job, m.err)
			continue
		}
		members, good = append(members, record(m.job, m.sum)), append(good, m)
	}
	// A container without members would only waste a number.
	if len(good) == 0 {
		return nil
	}
	// The table says where it is itself, so that a member's record is complete.
	fseq, block := a.appender.Next()
	table := volume.Table(a.o.Volume.VID(), fseq, block, members)
	whole := newSums(tapeapi.Work{})
	if err := a.appender.Begin(a.ctx, volume.ContainerID(fseq)); err != nil {
		return err
	}
	whole.write(table)
	if err := a.appender.Write(a.ctx, table); err != nil {
		return err
	}
	for _, m := range good {
		whole.write(m.data)
		if err := a.append(m.data); err != nil {
			return err
		}
	}
	w, err := a.appender.End(a.ctx)
	if err != nil {
		return err
	}
	a.appender.Note(volume.Record{Kind: volume.KindContainer, FSeq: w.FSeq, Block: w.Block, ArchiveID: w.ArchiveID, Size: w.Size, Sums: []hemera.Checksum{whole.adler()}})
	// The container comes first: its members follow with the same fSeq.
	a.written(tapeapi.JobKey{}, w, whole.adler())
	for i, m := range good {
		a.appender.Note(members[i])
		a.pending.Written = append(a.pending.Written, tapeapi.Written{Job: m.job.JobKey, ArchiveID: m.job.ArchiveID, FSeq: w.FSeq, Block: w.Block,
			Member: members[i].Member, Size: m.job.Size, Sum: m.sum})
		a.f.Files, a.f.Bytes = a.f.Files+1, a.f.Bytes+m.job.Size
	}
	return nil
}
