package transfer

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// What a lost client wrote and nobody closes is sealed after [hemera.PendingHold], and kept for [hemera.KeptLifetime]. It does not
// hold its name: the next writer does not meet it, and the generation decides between both. Its bytes stay claimed of quotas. A
// person commits it as it is, if its name was not written meanwhile, or drops it. A commit that is refused leaves it as it is, and so
// does the node's own of what lasts: see leaving. It outlasts its node: see [KeptStore]. When there is more than may be kept, the
// oldest is removed, of the same user first.

// Bounds of what a node keeps so, of one user and in all.
const (
	keptUserMax  = 64
	keptMax      = 512
	keptUserSize = 32 << 30
	keptSize     = 256 << 30
)

// keptWrite refuses a client that comes back too late to go on.
func keptWrite(c *hemera.Capability) error {
	return errs.New(errs.Conflict, "transfer.Open", piece.Subject(c), "its client was away too long: what was written is kept, and not committed").
		WithRemedy("write the file again from its beginning, or see `hemera open ls`")
}

// worthKeeping reports whether there is something that a person may want: bytes that came to this head. Those of a direct write
// did not, and its client says that it failed.
func (w *Writer) worthKeeping() bool {
	s := w.snapshot()
	return s.phase == writing && !s.left && s.size > 0 && w.usage.Bytes.Load() > 0 && !w.head.cap.Convert
}

// keep marks an entry as kept, and takes off the table what has to make way, which may be the entry itself. The caller holds mu.
func (t *Pending) keep(e *entry) (victims []*entry) {
	e.kept = true
	if e.until.IsZero() {
		e.until = time.Now().Add(hemera.KeptLifetime)
	}
	t.endIn(e, time.Until(e.until))
	var kept []*entry
	for _, o := range t.entries {
		if o.kept {
			kept = append(kept, o)
		}
	}
	slices.SortFunc(kept, func(a, b *entry) int { return a.due.Compare(b.due) })
	rooms := make([]keptRoom, len(kept))
	for i, o := range kept {
		w := o.work.(*Writer)
		rooms[i] = keptRoom{user: w.head.cap.Who.Account(), bytes: w.snapshot().size, stays: w.found != nil}
	}
	for _, i := range overKept(rooms) {
		o := kept[i]
		o.timer.Stop()
		t.remove(o)
		t.recordAbort(o)
		victims = append(victims, o)
	}
	return victims
}

// refusal is why a commit was refused, with what a person can do.
func refusal(err error, c *hemera.Capability) error {
	remedy := "commit it again later, or remove it with `hemera open drop`"
	switch {
	case errs.KindOf(err) == errs.OverQuota:
		remedy = "free room or have the limit raised, and commit it again; or remove it with `hemera open drop`"
	case errs.KindOf(err) == errs.Conflict && c.Access == hemera.AccessCreate:
		remedy = "if its name was taken, move that file away and commit it again; or remove it with `hemera open drop`"
	case errs.KindOf(err) == errs.Conflict:
		remedy = "the file has changed since: remove the update with `hemera open drop`, and make it again"
	}
	e := &errs.Error{Kind: errs.KindOf(err), Op: "transfer.Commit", Subject: piece.Subject(c), Text: "it is kept as before", Cause: err}
	return e.WithRemedy(remedy)
}

// keptRoom is what one kept write counts for.
type keptRoom struct {
	user  hemera.Account
	bytes int64
	stays bool // what was promised does not make way, and counts for nothing
}

// overKept returns which of the kept writes, which are sorted with the oldest first, are to be removed so that all bounds hold.
func overKept(kept []keptRoom) (remove []int) {
	type sum struct {
		count int
		bytes int64
	}
	all, ofUser := sum{}, map[hemera.Account]sum{}
	// From the newest on, everything stays that fits.
	for i, k := range slices.Backward(kept) {
		if k.stays {
			continue
		}
		user := ofUser[k.user]
		user, total := sum{user.count + 1, user.bytes + k.bytes}, sum{all.count + 1, all.bytes + k.bytes}
		if user.count > keptUserMax || user.bytes > keptUserSize || total.count > keptMax || total.bytes > keptSize {
			remove = append(remove, i)
			continue
		}
		ofUser[k.user], all = user, total
	}
	return remove
}

// madeWay removes kept writes that are off the table.
func (t *Pending) madeWay(victims []*entry) {
	for _, e := range victims {
		e.work.expire(context.Background())
	}
}

// keepAgain keeps a write that was held, as its commit was refused. The caller holds mu.
func (t *Pending) keepAgain(e *entry) {
	if victims := t.keep(e); len(victims) > 0 {
		t.node.InBackground("transfer.MakeWay", "", func() { t.madeWay(victims) })
	}
}

// makeWay removes a write that is kept, for its client, which writes it again from its beginning.
func (t *Pending) makeWay(key pendingKey) {
	t.mu.Lock()
	e := t.entries[key]
	if e == nil || !e.kept {
		t.mu.Unlock()
		return
	}
	e.hold() // others do not find it gone before its pieces are, as the next ones have their names
	t.mu.Unlock()
	e.work.expire(context.Background())
	t.finish(e, nil)
	t.release(e)
}

// stillKept reports whether nobody has come for an entry since it was kept.
func (t *Pending) stillKept(e *entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.kept
}

// keep seals a write for a person, and gives back its name. A content that cannot be sealed any more is removed.
func (w *Writer) keep(ctx context.Context, still func() bool) {
	w.turn.acquire()
	defer w.turn.release()
	if w.state.phase != writing || !still() {
		return
	}
	c := w.head.cap
	log := w.head.node.Log.With("path", c.Path, "fxid", c.File.Hex(), "user", c.Who.Name, "bytes", w.state.size, "announced", c.Size, "trace", c.Trace)
	w.endsAsItIs()
	done, err := w.seal(ctx, true)
	switch {
	case err == nil && !done:
		_ = w.await(ctx, nil)
		log.Warn("a write whose client did not come back is kept: nobody closed it, and it is not complete", "for", hemera.KeptLifetime)
	case w.stop(ctx, err) != nil:
		log.Warn("a write whose client did not come back cannot be sealed", "kept", w.awaits(), "error", err)
	}
}

// endsAsItIs says that nobody comes back, so that what is there is the content, whatever size was announced. The caller has the turn.
func (w *Writer) endsAsItIs() {
	w.left.ends = true
	w.least = min(w.least, w.state.size)
}

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
		w.turn.acquire()
		if w.awaits() && ctx.Err() == nil {
			w.head.keep(ctx, w.state.size)
		}
		w.turn.release()
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

// Kept is how many writes wait here for a person.
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

// takeLeft commits the write as it is.
func (w *Writer) takeLeft(ctx context.Context) error {
	w.turn.acquire()
	w.endsAsItIs()
	w.turn.release()
	err := w.Close(ctx)
	log := w.head.node.Log.With("path", w.head.cap.Path, "fxid", w.head.cap.File.Hex(), "user", w.head.cap.Who.Name, "bytes", w.snapshot().size, "trace", w.head.cap.Trace)
	if err != nil {
		log.Warn("a write whose client did not come back could not be committed for a person", "error", err)
		return err
	}
	log.Info("a write whose client did not come back was committed for a person")
	return nil
}
