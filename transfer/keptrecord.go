package transfer

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// KeptStore holds the records of the writes that a node keeps, over the end of its process. Calls block for the device.
type KeptStore interface {
	// Save makes a record durable, in the place of an earlier one of the name.
	Save(name string, record []byte) error
	// Remove removes a record. That need not be durable.
	Remove(name string) error
	// Load returns all records by their names.
	Load() (map[string][]byte, error)
}

// keptVersion is the version of the records; docs/formats/kept.md has the fields. Those of version 1 are read.
const keptVersion = 2

// keptRecord is a kept write: its pieces are sealed, so a commit takes nothing but what the manager is to be told. Or it is one that was
// synced and is not closed: then it has no pieces, size and times, which are found on disks.
type keptRecord struct {
	Version    int               `json:"version"`
	Synced     bool              `json:"synced,omitempty"`
	Token      string            `json:"token"`
	Size       int64             `json:"size"`
	Checksums  []hemera.Checksum `json:"checksums"`
	Pieces     []hemera.Piece    `json:"pieces"`
	Mtime      time.Time         `json:"mtime"`
	Xattrs     map[string][]byte `json:"xattrs,omitempty"`
	XattrsGone []string          `json:"xattrs_gone,omitempty"`
	Opened     time.Time         `json:"opened"`
	Gone       time.Time         `json:"gone"`
	Until      time.Time         `json:"until"`
	Kept       bool              `json:"kept,omitempty"`
}

// recordName names the record of a write.
func recordName(nonce uint64) string { return strconv.FormatUint(nonce, 36) }

// record makes a sealed write that is kept durable, once. Without it the write ends with the process. The caller has the turn.
func (w *Writer) record() {
	c := w.head.cap
	if w.head.writes.Kept == nil || w.commit == nil || w.recorded {
		return
	}
	if err := w.saveRecord(); err != nil {
		w.head.node.Log.Warn("a write that is kept would not outlast its node's end", "path", c.Path, "trace", c.Trace, "error", err)
		return
	}
	w.recorded = true
}

// saveRecord writes the record of a sealed write, over an earlier one.
func (w *Writer) saveRecord() error {
	r := &w.commit.request
	token, err := r.Permit.Token()
	var raw []byte
	if err == nil {
		now := time.Now()
		raw, err = json.Marshal(keptRecord{keptVersion, false, token, r.Size, r.Checksums, r.Pieces, r.Mtime, r.Xattrs, r.XattrsGone,
			w.opened, now, now.Add(hemera.KeptLifetime), w.commit.kept})
	}
	if err == nil {
		err = w.head.writes.Kept.Save(recordName(w.head.cap.Nonce), raw)
	}
	return err
}

// unrecord forgets the record of a write that has ended.
func (w *Writer) unrecord() {
	if !w.recorded && w.promised == "" {
		return
	}
	w.promised = ""
	if err := w.head.writes.Kept.Remove(recordName(w.head.cap.Nonce)); err != nil {
		w.head.node.Log.Warn("the record of a kept write stays", "path", w.head.cap.Path, "error", err)
	}
}

// Restore brings back the writes that an earlier process of the node kept, before clients come. What cannot be read is left out, and
// named in the log. read returns what a token says, also of one that has expired. Restore returns how many there are.
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
		if err == nil && r.Version != keptVersion && r.Version != 1 {
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

// suspend ends a kept write here, with the process; its record stays.
func (w *Writer) suspend() {
	w.turn.acquire()
	defer w.turn.release()
	left := w.state.phase == writing && w.found != nil
	if !left && (w.state.phase != awaiting || !w.recorded) {
		return
	}
	w.head.node.Files.End(&w.usage)
	w.content.drop()
	if w.base != nil {
		w.base.Close()
	}
	if p, ok := w.content.(*pieces); ok {
		p.release()
		p.letGo()
	}
	w.result = piece.BadHandle("transfer.Write", piece.Subject(w.head.cap))
	w.setPhase(ended)
	w.cancel()
}

// stopLeft ends a write as its node stops. left: no client has it open.
func (w *Writer) stopLeft(ctx context.Context, left bool) {
	if (left || w.synced()) && w.head.writes.Kept != nil && w.worthKeeping() && !w.lasting() {
		w.keep(ctx, func() bool { return true })
	}
	if w.lasting() {
		w.expire(ctx)
	}
	w.suspend()
	if phase := w.snapshot().phase; phase == writing || phase == awaiting {
		w.expire(ctx)
	}
}
