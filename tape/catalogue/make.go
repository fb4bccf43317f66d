package catalogue

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"hemera/namespace/accounts"
	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// content is a file as a tape tells it: a file on tape only is made from that.
type content struct {
	ArchiveID      uint64
	Size           int64
	Sums           []hemera.Checksum
	Class          string
	UID, GID, Mode uint32
	Mtime          time.Time
	Copies         []hemera.TapeCopy // by number
	// Layout and Space are what its disk copies will have.
	Layout hemera.Layout
	Space  hemera.SpaceName
}

// check refuses what could be stored and not be read again. What a tape tells is not trusted more
// than what a node says.
func (c *content) check() error {
	invalid := func(text string) error { return refuse(errs.Invalid, "Check", "", text) }
	if c.ArchiveID == 0 || c.Size <= 0 || c.Size > hemera.FileSizeMax {
		return invalid("the archive id or the size is that of no file")
	}
	// As a commit checks them.
	for i, sum := range c.Sums {
		again := slices.ContainsFunc(c.Sums[:i], func(o hemera.Checksum) bool { return o.Kind == sum.Kind })
		if sum.Kind == hemera.ChecksumNone || !sum.Kind.Valid() || again {
			return invalid("a kind of checksum is not known, or there twice")
		}
	}
	if c.Mode&^0o7777 != 0 || len(c.Class) > hemera.NameMax {
		return invalid("the mode or the storage class cannot be stored")
	}
	return c.Layout.Validate()
}

// create makes a file on tape only at a free place. Nothing asks for limits: the content was the
// owner's before, and only an admin brings it back.
func (t returning) create(at spot, id hemera.FileID, gen hemera.Generation, c *content, who string) (*hemera.Entry, error) {
	e := &hemera.Entry{ID: id, Parent: at.parent().ID, Name: at.name, Kind: hemera.KindFile, Mode: c.Mode, UID: c.UID, GID: c.GID,
		Mtime: c.Mtime.UTC().Round(0), Birth: c.Mtime.UTC().Round(0), Ctime: t.txn.Now(), Size: c.Size, Gen: gen, Layout: c.Layout, Space: c.Space,
		Checksums: slices.Clone(c.Sums), Tape: slices.Clone(c.Copies), Xattrs: map[string][]byte{
			hemera.AttrArchiveID: []byte(strconv.FormatUint(c.ArchiveID, 10)), hemera.AttrStorageClass: []byte(c.Class)}}
	// Labels tell a day at most.
	if c.Mtime.IsZero() {
		e.Mtime, e.Birth = t.txn.Now(), t.txn.Now()
	}
	_, path, err := t.txn.Above(at.parent())
	if err != nil {
		return nil, err
	}
	// No pieces, so no disk has to hear of it; totals and accounts count its size.
	if err := errors.Join(t.txn.Relist(at.dirs, schema.Weight(e)), accounts.Ledger{Txn: t.txn.Txn}.Charge(at.dirs, nil, e)); err != nil {
		return nil, err
	}
	t.txn.PutEntry(e)
	t.txn.PutLocation(e)
	t.txn.Event(hemera.Event{Kind: hemera.EventCommit, File: id, Path: path + "/" + e.Name, Who: who, Bytes: e.Size})
	return e, nil
}

// displace removes a file that is on tape only, for a newer content of its path. It can be undeleted
// as any file that was removed.
func (t returning) displace(at spot, who string) error {
	e := at.entry
	_, path, err := t.txn.Above(at.parent())
	if err != nil {
		return err
	}
	path += "/" + e.Name
	if err := errors.Join(t.txn.RetireContent(e, path, "a newer content of its path was found on tape"), accounts.Ledger{Txn: t.txn.Txn}.Charge(at.dirs, e, nil),
		t.txn.Relist(at.dirs, schema.Weight(e).Negate())); err != nil {
		return err
	}
	// It has no pieces, and no write of it is under way: a recall of it finds it gone.
	t.txn.Remove(schema.EntryKey(e.Parent, e.Name))
	t.txn.Remove(schema.IDKey(schema.TableLocation, e.ID))
	t.txn.Event(hemera.Event{Kind: hemera.EventRemove, File: e.ID, Path: path, Who: who, Bytes: e.Size})
	return nil
}

// live stores a row of a content that a file has.
func (t returning) live(row tapeapi.File, file hemera.FileID) error {
	// Row and count change together: a check compares them.
	inferred := row.Dead != nil && row.Dead.Inferred
	row.File, row.Dead = file, nil
	if err := t.txn.putFile(&row); err != nil {
		return err
	}
	if inferred {
		if err := t.txn.countInferred(row.VID, -1); err != nil {
			return err
		}
	}
	return t.txn.count(row.VID, 1, row.Size)
}

// agrees reports whether an entry may have a content of this size and these checksums, and whether
// a checksum proves it.
func agrees(e *hemera.Entry, size int64, sums []hemera.Checksum) (may, proven bool) {
	if e.Size != size {
		return false, false
	}
	// A kind that only one of both has says nothing.
	for _, sum := range sums {
		is, ok := hemera.FindChecksum(e.Checksums, sum.Kind)
		if ok && is != sum {
			return false, false
		}
		proven = proven || ok
	}
	return true, proven
}
