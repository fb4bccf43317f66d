package session

import (
	"hemera/words/tapeapi"
)

// rowsPerFlushedFile bounds what waits for a flush when tape files are containers: FlushFiles times this many results.
const rowsPerFlushedFile = 20

// flushWhenDue flushes and reports if enough was written or enough time has passed since the last flush.
func (a *archive) flushWhenDue() error {
	l := a.o.Limits
	rows := len(a.pending.Written) + len(a.pending.Failed)
	due := a.files >= l.FlushFiles || a.bytes >= l.FlushBytes || rows >= l.FlushFiles*rowsPerFlushedFile || a.f.now().Sub(a.flushed) >= l.FlushAfter
	switch {
	case !due:
		return nil
	case a.files == 0: // only failures: they need no flush
		return a.report()
	}
	return a.flush()
}

// flush writes an index of what is new, makes everything durable, and reports it. This is the only way to the journal for what was written.
func (a *archive) flush() error {
	since := a.f.now()
	w, sum, err := a.appender.Index(a.ctx)
	if err != nil {
		return err
	}
	// The index is flushed and reported with the files that it lists.
	if w.FSeq != 0 {
		a.written(tapeapi.JobKey{}, w, sum)
	}
	if err := a.appender.Flush(a.ctx); err != nil {
		return err
	}
	a.f.Flushes++
	a.f.spent(&a.f.Tape, since)
	return a.report()
}

// reportRows bounds one report.
const reportRows = 1000

// report gives the journal all results, in parts. What was written is durable already. After an error the rest is not reported: the next
// append goes behind the last file that the journal has.
func (a *archive) report() error {
	all := a.pending
	a.pending = tapeapi.Results{}
	a.flushed, a.bytes, a.files = a.f.now(), 0, 0
	for len(all.Written) > 0 || len(all.Failed) > 0 || all.Full {
		written, failed := min(reportRows, len(all.Written)), min(reportRows, len(all.Failed))
		part := tapeapi.Results{Written: all.Written[:written], Failed: all.Failed[:failed]}
		all.Written, all.Failed = all.Written[written:], all.Failed[failed:]
		// The tape is full behind its last file.
		if len(all.Written) == 0 {
			part.Full, all.Full = all.Full, false
		}
		// Figures cost a call to the drive, so they come with a report and not with each file.
		part.Session = a.f.report(a.ctx)
		if err := a.o.Journal.Report(a.ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// finish flushes and reports what is left. After an error of the tape or the journal nothing is flushed: only failures of files are reported,
// and the jobs of what was written since the last flush are given back.
func (a *archive) finish() error {
	if a.failed != nil {
		a.void()
		a.pending.Full = a.appender.Full()
		return a.report()
	}
	// Behind the early warning the files come first: the index is worth trying, but no file depends on it.
	if a.appender.Full() && len(a.pending.Written) > 0 {
		if err := a.appender.Flush(a.ctx); err != nil {
			a.void()
			_ = a.report() // the error of the tape says more
			return err
		}
		a.f.Flushes++
		if err := a.report(); err != nil {
			return err
		}
		if err := a.flush(); err != nil {
			return nil //nolint:nilerr // the tape is full; what was reported is durable
		}
		return nil
	}
	if len(a.pending.Written) == 0 {
		return a.report()
	}
	err := a.flush()
	if err != nil {
		a.void()
		_ = a.report() // of files that failed; the error says more
	}
	return err
}

// void forgets what was written and not flushed: nobody hears of it, and its jobs are given back.
func (a *archive) void() {
	for _, w := range a.pending.Written {
		if w.Job.Kind != 0 {
			a.f.Files, a.f.Bytes = a.f.Files-1, a.f.Bytes-w.Size
		}
	}
	a.pending.Written = nil
}
