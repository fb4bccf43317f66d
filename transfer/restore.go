package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Restore brings back the writes that an earlier process of the node kept, before clients come. A write that cannot be read is left out, and named in
// the log. read returns what a token says, also of one that has expired. Restore returns how many there are.
func (t *Pending) Restore(read func(token string) (hemera.Capability, error)) int {
	if t.writes.Kept == nil {
		return 0
	}
	log := t.node.Log
	records, err := t.writes.Kept.Load()
	if err != nil {
		log.Error("what was kept of writes cannot be read", "error", err)
		return 0
	}
	restored := 0
	for _, name := range slices.Sorted(maps.Keys(records)) {
		var r keptRecord
		err := json.Unmarshal(records[name], &r)
		if err == nil && r.Version != keptVersion {
			err = errs.New(errs.Unsupported, "transfer.Restore", name, "version "+strconv.Itoa(r.Version))
		}
		if err == nil {
			err = t.restore(name, records[name], &r, read)
		}
		if err != nil {
			log.Warn("a kept write cannot be brought back; its pieces are left to the audit", "id", name, "error", err)
			continue
		}
		restored++
	}
	return restored
}

// recorded returns the writer of a record, without content. It reads nothing of a base: what is there stands in the pieces.
func (t *Pending) recorded(r *keptRecord, c hemera.Capability) (*Writer, error) {
	w, err := newWriter(context.Background(), t.head(hemera.VerifiedPermit(c, r.Token)))
	if err != nil {
		return nil, err
	}
	w.head.earlier = true
	if w.base != nil {
		w.base.Close()
		w.base = nil
	}
	return w, nil
}

// restore adds one write. Unless the record says that its footers do, the process before may have asked for its commit, so its pieces are
// never removed here.
func (t *Pending) restore(name string, raw []byte, r *keptRecord, read func(string) (hemera.Capability, error)) error {
	c, err := read(r.Token)
	if err != nil {
		return err
	}
	if r.Synced {
		return t.restoreSynced(name, raw, r, c)
	}
	if r.Size < 0 || r.Size > hemera.FileSizeMax {
		return errs.New(errs.Invalid, "transfer.Restore", piece.Subject(&c), strconv.FormatInt(r.Size, 10)+" is no size")
	}
	w, err := t.recorded(r, c)
	if err != nil {
		return err
	}
	p := newPieces(&w.head)
	for i, pc := range p.list {
		if slices.Contains(r.Pieces, hemera.Piece{Index: pc.target.Index, Disk: pc.target.Disk}) {
			p.ledger.Sealed(i)
		} else {
			p.ledger.Fail(i)
		}
	}
	w.content, w.opened, w.changed, w.recorded = p, r.Opened, true, true
	w.left.ends, w.least = true, r.Size
	w.commit = &commit{head: &w.head, unsure: !r.Kept, kept: true, request: hemera.CommitRequest{Permit: w.head.permit, Size: r.Size, Checksums: r.Checksums,
		Pieces: r.Pieces, Mtime: r.Mtime, Xattrs: r.Xattrs, XattrsGone: r.XattrsGone, Left: true}}
	w.state = writeState{phase: awaiting, size: r.Size, left: true, at: r.Mtime, mtime: r.Mtime}
	return t.addKept(w, r.Gone, r.Until)
}

// addKept adds a kept write to the table.
func (t *Pending) addKept(w *Writer, gone, until time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := writeKey(w.head.cap)
	if t.entries[key] != nil {
		return errs.New(errs.Exists, "transfer.Restore", piece.Subject(w.head.cap), "it is there")
	}
	// No longer than a new one, whatever the clock says.
	now := time.Now()
	e := &entry{key: key, work: w, since: gone, until: now.Add(min(max(until.Sub(now), 0), hemera.KeptLifetime))}
	e.once.Do(func() {})
	t.entries[key] = e
	t.keepAgain(e)
	return nil
}

// restoreSynced adds a write that an earlier process had synced and not closed.
func (t *Pending) restoreSynced(name string, raw []byte, r *keptRecord, c hemera.Capability) error {
	w, err := t.recorded(r, c)
	if err != nil {
		return err
	}
	if err := w.find(); err != nil {
		if errors.Is(err, errNothingFound) || errs.KindOf(err) == errs.Unsupported { // it ended, and its record stayed
			_ = t.writes.Kept.Remove(name)
		}
		return err
	}
	now := time.Now()
	// Its client closed it, and has no answer: most likely it is committed. Later the manager may have forgotten that it was removed since.
	ended := w.found.footer != nil && w.found.footer.FileSize >= c.Size && now.Sub(w.found.sealed).Abs() < askedAgain-hemera.PendingHold
	w.opened, w.promised = r.Opened, string(raw)
	for name, value := range r.Xattrs {
		w.SetXattr(name, value)
	}
	for _, name := range r.XattrsGone {
		w.SetXattr(name, nil)
	}
	w.mu.Lock()
	w.state.at, w.state.left, w.state.lasts = now, !ended, ended
	w.mu.Unlock()
	if ended {
		return t.addLeft(w)
	}
	t.node.Log.Warn("a write that was synced and not closed is kept: its node ended", "path", c.Path, "fxid", c.File.Hex(), "user", c.Who.Name,
		"bytes", w.state.size, "id", strconv.FormatUint(c.Nonce, 36), "for", hemera.KeptLifetime, "trace", c.Trace)
	return t.addKept(w, now, now.Add(hemera.KeptLifetime))
}

// addLeft adds a write that is closed soon if its client does not come back for the answer.
func (t *Pending) addLeft(w *Writer) error {
	t.mu.Lock()
	e, err := t.holdLocked(writeKey(w.head.cap))
	if err == nil {
		e.work = w
		e.once.Do(func() {})
	}
	t.mu.Unlock()
	if err == nil {
		t.release(e)
	}
	return err
}
