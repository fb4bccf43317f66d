package tables

import (
	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The counters of the store: sums of what all batches did, without reading a table.
const (
	Unlinked   = iota // pieces that disks are to remove, held ones included
	HeldPieces        // pieces of replaced and removed content that are removed later
	HeldBytes         // bytes of those
	Tombstones        // records of ended writes, counted within a group only
)

// Schema returns the description of the namespace's tables for the record engine. Of the event log it keeps eventsMax
// events.
func Schema(eventsMax uint64) record.Schema {
	return record.Schema{
		Cached: schema.Cached, Append: schema.AppendValue, Damaged: schema.Damaged,
		SetTable: schema.TableEntry, SetPrefix: schema.IDKeyBytes,
		Log: record.LogSchema{
			Key: func(k []byte, seq uint64) []byte {
				return schema.AppendIDKey(k, schema.TableEvent, hemera.FileID(seq))
			},
			Bounds: schema.MetaKey(schema.MetaEvents), Encode: schema.AppendPair, Max: eventsMax,
		},
	}
}

// Txn is a transaction of the record engine with the namespace's tables. It is a small value; copies are the same transaction.
type Txn struct{ *record.Txn }

// idKey returns a key that is good until the next lookup.
func (t Txn) idKey(table byte, id hemera.FileID) []byte {
	t.Key = schema.AppendIDKey(t.Key[:0], table, id)
	return t.Key
}

// Entry returns the entry with the name in the directory, nil when there is none. It is shared: nobody may change
// it.
func (t Txn) Entry(parent hemera.FileID, name string) (*hemera.Entry, error) {
	t.Key = schema.AppendEntryKey(t.Key[:0], parent, name)
	return record.Get(t.Txn, t.Key, schema.DecodeEntry)
}

// Root returns the root directory.
func (t Txn) Root() (*hemera.Entry, error) {
	e, err := t.Entry(0, "")
	if err == nil && e == nil {
		err = errs.New(errs.Corrupt, "namespace.Read", "/", "the root directory is missing from the store")
	}
	return e, err
}

// ByID returns the entry with the id, nil when there is none. It takes two lookups: where the id is, and what is
// there. Corrupt if the two do not agree.
func (t Txn) ByID(id hemera.FileID) (*hemera.Entry, error) {
	if id == hemera.RootID {
		return t.Root()
	}
	l, err := record.Get(t.Txn, t.idKey(schema.TableLocation, id), schema.DecodeLocation)
	if err != nil || l == nil {
		return nil, err
	}
	e, err := t.Entry(l.Parent, l.Name)
	if err == nil && (e == nil || e.ID != id) {
		err = errs.New(errs.Corrupt, "namespace.Read", "fid:"+id.String(), "the id's location holds another entry")
	}
	return e, err
}

// Directory returns the times and totals of a directory. They change with every commit below, so an answer that
// shows them waits for the newest one: read them only where an answer needs them.
func (t Txn) Directory(dir hemera.FileID) (*schema.Directory, error) {
	s, err := record.Get(t.Txn, t.idKey(schema.TableDirectory, dir), schema.DecodeDirectory)
	if err == nil && s == nil {
		err = errs.New(errs.Corrupt, "namespace.Read", "fid:"+dir.String(), "the directory has no totals")
	}
	return s, err
}

// Full returns the entry as callers of the namespace see it: a directory with its times and totals.
func (t Txn) Full(e *hemera.Entry) (hemera.Entry, error) {
	if !e.IsDir() {
		return *e, nil
	}
	s, err := t.Directory(e.ID)
	if err != nil {
		return hemera.Entry{}, err
	}
	return WithDirectory(*e, s), nil
}

// WithDirectory returns a directory's entry with its times and totals.
func WithDirectory(e hemera.Entry, s *schema.Directory) hemera.Entry {
	e.Mtime, e.Tree = s.Mtime, s.Tree
	if s.Ctime.After(e.Ctime) {
		e.Ctime = s.Ctime
	}
	return e
}

// PutEntry stores the entry under its parent and name.
func (t Txn) PutEntry(e *hemera.Entry) {
	if e.ID == hemera.RootID {
		t.Key = schema.AppendEntryKey(t.Key[:0], 0, "")
	} else {
		t.Key = schema.AppendEntryKey(t.Key[:0], e.Parent, e.Name)
	}
	t.Set(t.Key, e, t.Record(schema.AppendEntry(t.Room(schema.EntryRoom), e)))
}

// PutLocation stores where the entry's id is.
func (t Txn) PutLocation(e *hemera.Entry) {
	l := schema.LocationOf(e)
	t.Set(t.idKey(schema.TableLocation, e.ID), &l, t.Record(schema.AppendLocation(t.Room(8+len(l.Name)), &l)))
}

// PutDirectory stores the times and totals of a directory.
func (t Txn) PutDirectory(dir hemera.FileID, s schema.Directory) {
	t.SetTotal(t.idKey(schema.TableDirectory, dir), &s, schema.TotalMax)
}

// whoMax bounds a name in the event log.
const whoMax = 256

// Event records what was done. The event gets its sequence number when the change succeeds. Its paths lose the slash that a
// caller may have written behind a directory.
func (t Txn) Event(e hemera.Event) {
	e.Path, e.To = hemera.PlainPath(e.Path), hemera.PlainPath(e.To)
	e.Who, e.Time = e.Who[:min(len(e.Who), whoMax)], t.Now()
	t.Log(t.Record(schema.AppendEvent(t.Room(schema.EventRoom(&e)), &e)))
}
