package namespace

import (
	"context"
	"slices"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
)

// Commit implements Contents. With Force a later opened write replaces an earlier one whatever
// became of it in between; an earlier opened write that commits after a later one is a Conflict
// even then, so that generations only grow and an old request that comes again can never bring
// back pieces that are being removed. What is refused stays refused, whatever happens to its name, for
// as long as the request may come again.
func (n *Namespace) Commit(ctx context.Context, c Commit) (out hemera.Entry, err error) {
	if err := checkCommit(&c); err != nil {
		return out, err
	}
	if next := n.nextID.Load(); uint64(c.ID) >= next || uint64(c.Gen) >= next {
		return out, refuse(errs.Invalid, "Commit", c.Name, "id %d or generation %d was never given out", c.ID, c.Gen)
	}
	var e *hemera.Entry
	err = n.update(ctx, func(t *tx) (err error) {
		e, err = t.commit(&c)
		return err
	})
	if err != nil && !errs.Undecided(err) {
		e, err = n.refuse(ctx, &c, err)
	}
	if err != nil {
		return out, err
	}
	return *e, nil
}

// commit returns the record of the file with the content.
func (t *tx) commit(c *Commit) (*hemera.Entry, error) {
	now, err := t.byID(c.ID)
	switch {
	case err != nil:
		return nil, err
	case now != nil && now.Gen == c.Gen:
		return now, c.made(now)
	case now == nil && t.isUnused(c.ID):
		return t.commitFile(c)
	}
	if err := t.notUnlinked(c); err != nil {
		return nil, err
	}
	if err := t.notEnded(c); err != nil {
		return nil, err
	}
	if now != nil {
		return t.commitContent(now, c)
	}
	return t.commitRenamed(c)
}

// made fails unless the content that has the commit's number is what it is for: the request came again. Another content
// has it where a manager over an older copy of the store gave the number out once more, and the right store came back.
func (c *Commit) made(now *hemera.Entry) error {
	same := now.Size == c.Size
	for _, sum := range c.Sums {
		is, ok := hemera.FindChecksum(now.Checksums, sum.Kind)
		same = same && (!ok || is == sum)
	}
	if !same {
		return conflict(c, "another content has this number")
	}
	return nil
}

func checkCommit(c *Commit) error {
	if c.ID == 0 || c.Gen == 0 || c.Parent == 0 || c.Size < 0 || c.Size > hemera.FileSizeMax {
		return refuse(errs.Invalid, "Commit", c.Name, "id %d, generation %d, parent %d, size %d do not make a file", c.ID, c.Gen, c.Parent, c.Size)
	}
	if err := c.Layout.Validate(); err != nil {
		return errs.As(err, errs.Invalid, "namespace.Commit", c.Name)
	}
	if len(c.Pieces) > int(c.Layout.Pieces) {
		return refuse(errs.Invalid, "Commit", c.Name, "%d pieces for layout %s", len(c.Pieces), c.Layout)
	}
	seen := make(map[uint8]bool)
	for _, p := range c.Pieces {
		if p.Disk == 0 || p.Index >= c.Layout.Pieces || seen[p.Index] {
			return refuse(errs.Invalid, "Commit", c.Name, "piece %d on disk %d does not fit layout %s", p.Index, p.Disk, c.Layout)
		}
		seen[p.Index] = true
	}
	if err := checkSums(c); err != nil {
		return err
	}
	if err := checkMode("Commit", c.Name, c.Mode); err != nil {
		return err
	}
	if !c.Mtime.IsZero() {
		if err := checkTime("Commit", c.Name, c.Mtime); err != nil {
			return err
		}
	}
	if err := checkName("Commit", c.Name, c.Name); err != nil {
		return err
	}
	return errs.As(hemera.CheckName(c.Name), errs.Invalid, "namespace.Commit", c.Name)
}

// checkSums refuses what could be stored and not be read again.
func checkSums(c *Commit) error {
	seen := make(map[hemera.ChecksumKind]bool)
	for _, sum := range c.Sums {
		if !sum.Kind.Valid() || seen[sum.Kind] {
			return refuse(errs.Invalid, "Commit", c.Name, "checksum kind %d is not known, or there twice", sum.Kind)
		}
		seen[sum.Kind] = true
	}
	return nil
}

// notUnlinked refuses a content of which a piece is waiting to be removed: its file was removed or
// replaced after it was committed, and the request came again.
func (t *tx) notUnlinked(c *Commit) error {
	for _, p := range c.Pieces {
		gone, err := t.isUnlinked(p.Disk, hemera.PieceID{File: c.ID, Gen: c.Gen, Index: p.Index})
		if err != nil {
			return err
		}
		if gone {
			return conflict(c, "this content was replaced or removed since it was committed")
		}
	}
	return nil
}

// notEnded refuses what was refused before, and a file that was there.
func (t *tx) notEnded(c *Commit) error {
	if c.BaseGen != 0 && uint64(c.Gen) >= t.n.firstID && t.n.refused.Load() == 0 {
		return nil // as nearly always: no such record was made in this life, and none before could be
	}
	over, err := t.wasEnded(c.number())
	if err != nil {
		return err
	}
	if over {
		return conflict(c, "it was refused before, or its file was removed since")
	}
	barred, err := t.isBarred(c.number())
	if err == nil && barred {
		err = conflict(c, "its node was silent for too long after the file was closed, and its pieces were given up").
			WithRemedy("write the file again")
	}
	return err
}

func conflict(c *Commit, why string) *errs.Error {
	return refuse(errs.Conflict, "Commit", "fid:"+c.ID.String()+" "+c.Name, "%s", why)
}

// commitContent gives a file that is there a new content, wherever it has been moved meanwhile.
func (t *tx) commitContent(now *hemera.Entry, c *Commit) (*hemera.Entry, error) {
	switch {
	case now.IsDir():
		return nil, refuse(errs.Invalid, "Commit", "fid:"+c.ID.String(), "it is a directory")
	case c.Gen < now.Gen:
		return nil, conflict(c, "a write that was opened later has been committed")
	case now.Gen != c.BaseGen && !c.Force:
		return nil, conflict(c, "the file was rewritten meanwhile")
	}
	parent, err := t.byID(now.Parent)
	if err != nil {
		return nil, err
	}
	e := *now
	fill(&e, c)
	e.Ctime = t.now
	e.Xattrs = withoutXattrs(mergeXattrs(now.Xattrs, c.Xattrs), c.XattrsGone)
	if err := t.replacePieces(now); err != nil {
		return nil, err
	}
	return t.commitTo(parent, now, &e, c)
}

// commitFile makes a new file at its parent and name.
func (t *tx) commitFile(c *Commit) (*hemera.Entry, error) {
	if c.BaseGen != 0 {
		return nil, conflict(c, "the file was removed meanwhile")
	}
	parent, err := t.byID(c.Parent)
	if err != nil {
		return nil, err
	}
	if parent == nil || !parent.IsDir() {
		return nil, conflict(c, "its directory was removed meanwhile")
	}
	other, err := t.entry(parent.ID, c.Name)
	if err != nil {
		return nil, err
	}
	if other != nil {
		if err := t.giveWay(parent, other, c); err != nil {
			return nil, err
		}
	}
	e := &hemera.Entry{ID: c.ID, Parent: parent.ID, Name: c.Name, Kind: hemera.KindFile,
		Mode: c.Mode, UID: c.UID, GID: c.GID, Birth: t.now, Ctime: t.now, Xattrs: mergeXattrs(nil, c.Xattrs)}
	fill(e, c)
	t.putPlace(e.ID, schema.LocationOf(e))
	return t.commitTo(parent, nil, e, c)
}

// giveWay removes another file from the name the commit is for, if that is what was asked.
func (t *tx) giveWay(parent, other *hemera.Entry, c *Commit) error {
	if !c.Force || other.IsDir() || other.ID > c.ID {
		return conflict(c, "the name was taken meanwhile")
	}
	dirs, path, err := t.above(parent)
	if err != nil {
		return err
	}
	t.event(hemera.Event{Kind: hemera.EventRemove, File: other.ID, Path: path + "/" + other.Name, Who: c.Who, Bytes: other.Size})
	return t.unlink("Commit", path+"/"+other.Name, found{dirs, other.Name, other})
}

func fill(e *hemera.Entry, c *Commit) {
	e.Mtime, e.Size, e.Gen, e.Layout, e.Space = c.Mtime.UTC().Round(0), c.Size, c.Gen, c.Layout, c.Space
	e.Checksums, e.Pieces = slices.Clone(c.Sums), slices.Clone(c.Pieces)
	slices.SortFunc(e.Pieces, func(a, b hemera.Piece) int { return int(a.Index) - int(b.Index) })
}

// commitTo stores the entry and all that follows from it. old is what it replaces, if anything.
func (t *tx) commitTo(parent, old, e *hemera.Entry, c *Commit) (*hemera.Entry, error) {
	if err := checkXattrs("Commit", e.Name, e.Xattrs); err != nil {
		return nil, err
	}
	if e.Mtime.IsZero() {
		e.Mtime = t.now
	}
	dirs, path, err := t.above(parent)
	if err != nil {
		return nil, err
	}
	if err := t.settle(dirs, old, e, c); err != nil {
		return nil, err
	}
	delta, _ := t.weight(e) // of a file: no error
	adjust := t.relist
	if old != nil {
		before, _ := t.weight(old)
		delta, adjust = delta.Add(before.Negate()), t.adjust
	}
	if err := adjust(dirs, delta); err != nil {
		return nil, err
	}
	if err := t.charge(dirs, old, e); err != nil {
		return nil, err
	}
	if err := t.addPieces(e, e.Pieces); err != nil {
		return nil, err
	}
	t.putEntry(e)
	t.indexShort(old, e)
	t.event(hemera.Event{Kind: hemera.EventCommit, File: e.ID, Path: path + "/" + e.Name, Who: c.Who, Bytes: e.Size})
	return e, nil
}

// Resolve implements Contents.
func (n *Namespace) Resolve(ctx context.Context, id hemera.FileID) (out hemera.Entry, path string, err error) {
	err = n.view(ctx, func(t *tx) error {
		e, err := t.byID(id)
		if err != nil {
			return err
		}
		if e == nil {
			return absent("Resolve", id)
		}
		if out, err = t.full(e); err != nil {
			return err
		}
		if e.ID == hemera.RootID {
			path = "/"
			return nil
		}
		parent, err := t.byID(e.Parent)
		if err != nil {
			return err
		}
		_, path, err = t.above(parent)
		path += "/" + e.Name
		return err
	})
	return out, path, err
}

// Events implements Contents.
func (n *Namespace) Events(ctx context.Context, from uint64, limit int) ([]hemera.Event, error) {
	var out []hemera.Event
	var bad error
	err := n.store.Scan(ctx, schema.EventKey(from+1), schema.PrefixEnd(schema.TableKey(schema.TableEvent)), func(k, raw []byte) bool {
		if len(out) >= limit {
			return false
		}
		e, err := schema.DecodeEvent(k, raw)
		if err != nil {
			bad = schema.Damaged(k, err)
			return false
		}
		out = append(out, *e)
		return true
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Events", "")
	}
	return out, n.outside(ctx)
}
