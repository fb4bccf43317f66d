package transfer

import (
	"encoding/json"
	"strconv"
	"time"

	"hemera/words/hemera"
)

// keptVersion is the version of the records; docs/formats/kept.md has the fields.
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
