package transfer

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// The write of a lost client that is not closed is sealed after [hemera.PendingHold], and kept for [hemera.KeptLifetime]. It does not hold its name:
// the next writer does not meet it, and the generation decides between both. Its bytes stay claimed of quotas. A person commits it as it is, if its
// name was not written meanwhile, or drops it. A refused commit leaves it
// as it is, also that of the node itself (see leaving). It outlasts its node: see [KeptStore]. When there is more than may be kept, the oldest is
// removed, of the same user first.

// TellKept tells the manager of the writes that are kept here, as one that was started since does not know of them. It waits for
// the manager.
func (t *Pending) TellKept(ctx context.Context) {
	t.mu.Lock()
	var kept []*Writer
	for _, e := range t.entries {
		if w, ok := e.work.(*Writer); ok && e.kept {
			kept = append(kept, w)
		}
	}
	t.mu.Unlock()
	for _, w := range kept {
		if w.turn.Acquire(ctx) != nil {
			return
		}
		if w.awaits() && ctx.Err() == nil {
			w.head.keep(ctx, w.state.size)
		}
		w.turn.Release()
	}
}

// Left lists the writes that no client has open, those that were left first, at most limit. It reads memory only.
func (t *Pending) Left(limit int) []hemera.WriteInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []hemera.WriteInfo
	for _, e := range t.entries {
		if w, ok := e.work.(*Writer); ok && e.refs == 0 {
			list = append(list, e.info(w))
		}
	}
	slices.SortFunc(list, func(a, b hemera.WriteInfo) int { return cmp.Or(a.Gone.Compare(b.Gone), cmp.Compare(a.ID, b.ID)) })
	return list[:min(len(list), limit)]
}

// Kept counts the writes that wait here for a person.
func (t *Pending) Kept() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		if e.kept {
			n++
		}
	}
	return n
}

// info describes a write that no client has open. The caller holds mu of the table.
func (e *entry) info(w *Writer) hemera.WriteInfo {
	c, s := w.head.cap, w.snapshot()
	i := hemera.WriteInfo{
		ID: strconv.FormatUint(c.Nonce, 36), Path: c.Path, File: c.File, Gen: c.Gen, Who: c.Who, Since: w.opened, Announced: c.Size, State: hemera.WriteDetached,
		Written: s.size, Idle: time.Since(s.at), Reported: time.Now(), Gone: e.since, Then: hemera.ThenRemove, At: e.due,
		Found: s.found, Differ: s.differ,
	}
	switch {
	case e.kept:
		i.State = hemera.WriteKept
		if s.refused != nil {
			i.Refused = errs.Reason(s.refused, c.Path) + "; " + errs.RemedyOf(s.refused)
		}
	case w.lasting():
		i.Then = hemera.ThenCommit
	case w.worthKeeping():
		i.At = e.due.Add(hemera.KeptLifetime)
	}
	return i
}

// EndLeft commits or removes a write that no client has open, as a person decided. Committed means as it is, whatever size was
// announced, and as a close of the client with each reason for which that can fail; then it is kept as before. After an error that
// is undecided the node goes on to ask. NotFound if there is no such write, Conflict if a client has it open.
func (t *Pending) EndLeft(ctx context.Context, nonce uint64, commit bool) (i hemera.WriteInfo, err error) {
	const op = "transfer.EndWrite"
	t.mu.Lock()
	var e *entry
	for key, o := range t.entries {
		if key.whole && key.nonce == nonce {
			e = o
		}
	}
	var w *Writer
	if e != nil {
		w, _ = e.work.(*Writer)
	}
	switch {
	case w == nil:
		err = errs.New(errs.NotFound, op, strconv.FormatUint(nonce, 36), "no such write is kept at its node").WithRemedy("see `hemera open ls`")
	case e.refs > 0:
		err = errs.New(errs.Conflict, op, w.head.cap.Path, "a client has the file open").WithRemedy("let the client close it")
	}
	if err != nil {
		t.mu.Unlock()
		return i, err
	}
	i = e.info(w)
	e.hold()
	t.mu.Unlock()
	defer t.release(e)
	if commit {
		err = w.takeLeft(ctx)
	} else {
		err = w.Abort(ctx)
	}
	i.Differ = w.snapshot().differ
	switch {
	case w.undecided():
		if err == nil {
			err = errs.New(errs.Unavailable, op, w.head.cap.Path, "its commit is under way, and the manager has not answered").WithRemedy("see `hemera open ls` in some minutes")
		}
	case err == nil && commit:
		info := w.Info()
		t.finish(e, &info)
	case w.awaits(): // the commit was refused
	default:
		t.finish(e, nil)
	}
	return i, err
}
