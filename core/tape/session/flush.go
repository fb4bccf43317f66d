package session

import "hemera"

// flushWhenDue flushes and reports if enough was written or enough time has passed since the last flush.
func (a *archive) flushWhenDue() error {
	l := a.o.Limits
	files := len(a.pending.Written)
	if files < l.FlushFiles && a.bytes < l.FlushBytes && a.f.now().Sub(a.flushed) < l.FlushAfter {
		return nil
	}
	// Only failures: they need no flush.
	if files == 0 {
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
		a.written(hemera.TapeJobKey{}, w, sum)
	}
	if err := a.appender.Flush(a.ctx); err != nil {
		return err
	}
	a.f.Flushes++
	a.f.spent(&a.f.Tape, since)
	return a.report()
}

// report gives the journal all results. What was written is durable already.
func (a *archive) report() error {
	// Whatever the journal answers, these results are not reported again: it retries by itself.
	a.flushed, a.bytes = a.f.now(), 0
	r := a.pending
	a.pending = hemera.TapeResults{}
	if len(r.Written) == 0 && len(r.Failed) == 0 && !r.Full {
		return nil
	}
	// Figures cost a call to the drive, so they come with a flush and not with each file.
	r.Session = a.f.report(a.ctx)
	return a.o.Journal.Report(a.ctx, r)
}

// finish flushes and reports what is left. After an error of the tape or the journal nothing is flushed: only failures of files are reported,
// and the jobs of what was written since the last flush are given back.
func (a *archive) finish() error {
	if a.failed != nil {
		full := a.appender.Full()
		a.pending.Written, a.pending.Full = nil, full
		if err := a.report(); err != nil {
			return err
		}
		return nil
	}
	// Behind the early warning the files come first: the index is worth trying, but no file depends on it.
	if a.appender.Full() && len(a.pending.Written) > 0 {
		if err := a.appender.Flush(a.ctx); err != nil {
			a.pending.Written = nil
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
	return a.flush()
}
