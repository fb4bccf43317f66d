package catalogue

import (
	"maps"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Txn is a transaction with the tables of tapes. It is a small value; copies are the same
// transaction.
type Txn struct{ tables.Txn }

// txnOf returns the transaction with the tables of tapes.
func txnOf(t *record.Txn) Txn { return Txn{tables.Txn{Txn: t}} }

// Tape returns a tape, nil when there is none. It is shared: nobody may change it.
func (t Txn) Tape(vid hemera.VID) (*tapeapi.Tape, error) {
	if len(vid) > schema.VIDMax {
		return nil, nil
	}
	return record.Get(t.Txn.Txn, schema.TapeKey(schema.TableTape, vid), schema.DecodeTape)
}

// putTape stores a tape.
func (t Txn) putTape(tape *tapeapi.Tape) error {
	if tape.Unscanned != "" {
		stored := *tape
		stored.Unscanned = "" // it follows from the rest
		tape = &stored
	}
	raw, err := schema.EncodeTape(tape)
	if err != nil {
		return err
	}
	t.Set(schema.TapeKey(schema.TableTape, tape.VID), tape, raw)
	return nil
}

// count adds to the live files of a tape. One that was removed from the catalogue counts nothing.
func (t Txn) count(vid hemera.VID, files, bytes int64) error {
	// Files of a tape that left the catalogue are still files: they go on without its counts.
	tape, err := t.Tape(vid)
	if err != nil || tape == nil {
		return err
	}
	changed := *tape
	changed.Files, changed.Bytes = changed.Files+files, changed.Bytes+bytes
	return t.putTape(&changed)
}

// countInferred adds to the files of a tape that only scans call removed.
func (t Txn) countInferred(vid hemera.VID, files int64) error {
	tape, err := t.Tape(vid)
	if err != nil || tape == nil {
		return err
	}
	changed := *tape
	changed.Inferred = max(0, changed.Inferred+files)
	return t.putTape(&changed)
}

// file returns a row of a tape's list, nil when there is none.
func (t Txn) file(c hemera.TapeCopy) (*tapeapi.File, error) {
	return record.GetUncached(t.Txn.Txn, schema.TapeFileKey(c.VID, c.FSeq, c.Member), schema.DecodeTapeFile)
}

// putFile stores a row of a tape's list.
func (t Txn) putFile(f *tapeapi.File) error {
	raw, err := schema.EncodeTapeFile(f)
	if err != nil {
		return err
	}
	t.Set(schema.TapeFileKey(f.VID, f.FSeq, f.Member), f, raw)
	return nil
}

// fileOf returns the entry of a file with the archive id, nil when the file is gone or has another
// content.
func (t Txn) fileOf(id hemera.FileID, archiveID uint64) (*hemera.Entry, error) {
	e, err := t.ByID(id)
	if err != nil || e == nil || e.IsDir() || archiveID == 0 || e.ArchiveID() != archiveID {
		return nil, err
	}
	return e, nil
}

// attributed returns a copy of the entry with attributes set, and those with an empty value
// removed. Entries are shared with readers.
func attributed(e *hemera.Entry, set map[string]string) *hemera.Entry {
	out := *e
	out.Xattrs = maps.Clone(e.Xattrs)
	for name, value := range set {
		if value == "" {
			delete(out.Xattrs, name)
			continue
		}
		if out.Xattrs == nil {
			out.Xattrs = map[string][]byte{}
		}
		out.Xattrs[name] = []byte(value)
	}
	return &out
}

// errorMax bounds what attributes say of an error.
const errorMax = 512

// short cuts a text that goes into an attribute.
func short(text string) string { return text[:min(len(text), errorMax)] }

// refuse makes the error of a call that is not possible.
func refuse(kind errs.Kind, op, subject, why string) *errs.Error {
	return errs.New(kind, "tapes."+op, subject, why)
}
