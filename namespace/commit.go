package namespace

import (
	"context"
	"math"
	"slices"

	"hemera/namespace/accounts"
	"hemera/rules/quota"
	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A commit is the second and last call of the manager for a write. It arrives from the head, perhaps minutes after
// the open, perhaps twice, perhaps after the manager was restarted. What happened to the file, its name and its
// directory in between is decided here, in one transaction:
//
//	 the id has the generation already         the request came again: the same answer
//	 a piece of it waits to be removed         it was committed, and replaced or removed since: Conflict
//	 its number has a tombstone or is barred   it was refused, or is over: Conflict
//	 the file exists                           new content, if the base is current or Force says so
//	 the file is gone, and was the base        Conflict
//	 the file is new                           made in its directory, under its name or the one it was given since
//	 the file takes another's place            see replacing.go
//	 the file, or its directory, is in a bin   Conflict: it was removed
//
// A refusal is made final before it is answered (see refuseForGood), because the head removes the pieces when it
// gets the answer. Where nobody closed the file the head keeps them (Commit.Again), and a person may ask again.

// Commit makes content visible, in one batch with everything that follows from it; the pieces of the
// replaced generation become unlinked. It is idempotent. Conflict when the name is now another file's,
// the file is gone, or its generation is not c.BaseGen.
//
// With Force a write that was opened later replaces an earlier one whatever happened in between. A write that was
// opened earlier and commits after a later one is a Conflict even then, so that generations only grow, and an old
// request that comes again can never bring back pieces that are being removed. What is refused stays refused, whatever
// happens to its name, for as long as the request may come again, unless c.Again says that it may.
func (n Writes) Commit(ctx context.Context, c Commit) (out hemera.Entry, err error) {
	if err := checkCommit(&c); err != nil {
		return out, err
	}
	// The numbers come from capabilities, which this manager signed, perhaps over another copy of the store.
	if next := n.numbers.Next(); uint64(c.ID) >= next || uint64(c.Gen) >= next {
		return out, refuse(errs.Invalid, "Commit", c.Name, "id %d or generation %d was never given out", c.ID, c.Gen)
	}
	var e *hemera.Entry
	err = updateMaking(ctx, n.base, func(t tx) (err error) {
		e, err = commitTx(t).commit(&c)
		return err
	})
	// An error of the store says nothing about the commit: the head asks again, and finds out.
	if err != nil && !errs.Undecided(err) && !c.Again {
		e, err = n.refuseForGood(ctx, &c, err)
	}
	if err != nil {
		return out, err
	}
	return *e, nil
}

// commitTx is a commit within one transaction.
type commitTx tx

// commit returns the entry of the file with the content. The usual case comes first: the id is new, and nothing
// has to be looked up. All others are repeated requests, rewrites, renamed writes, and requests after a restart.
func (t commitTx) commit(c *Commit) (*hemera.Entry, error) {
	now, err := t.ByID(c.ID)
	switch {
	case err != nil:
		return nil, err
	case now != nil && now.Gen == c.Gen:
		return now, c.made(now)
	case now == nil && writeTx(t).isNew(c.ID):
		if c.Replaces != 0 {
			return t.commitReplacing(c)
		}
		return t.commitFile(c)
	}
	if err := t.notUnlinked(c); err != nil {
		return nil, err
	}
	if err := writeTx(t).checkNotEnded(c); err != nil {
		return nil, err
	}
	switch {
	case now != nil:
		return t.commitContent(now, c)
	case c.Replaces != 0:
		return t.commitReplacing(c)
	}
	return t.commitRenamed(c)
}

// made fails unless the content that has the commit's number is what it would make: then the request only came
// again. Another content has the number where a manager over an older copy of the store handed it out once more,
// and the right store came back.
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

// checkCommit refuses what no open and no node can mean, before anything is looked up: Invalid.
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
	seen := make(map[uint8]bool) // indexes of pieces
	for _, p := range c.Pieces {
		if p.Disk == 0 || !fits(c.Layout, c.Size, p.Index) || seen[p.Index] {
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

// checkSums refuses checksums that could be stored and not be read again.
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

// notUnlinked refuses a content with a piece that waits to be removed: its file was removed or replaced after the
// commit, and the request came again. To commit it would list a piece that a disk is about to remove.
func (t commitTx) notUnlinked(c *Commit) error {
	for _, p := range c.Pieces {
		gone, err := pieceTx(t).isUnlinked(p.Disk, hemera.PieceID{File: c.ID, Gen: c.Gen, Index: p.Index})
		if err != nil {
			return err
		}
		if gone {
			return conflict(c, "this content was replaced or removed since it was committed")
		}
	}
	return nil
}

// conflict makes the error of a commit that is refused for good.
func conflict(c *Commit, why string) *errs.Error {
	return refuse(errs.Conflict, "Commit", "fid:"+c.ID.String()+" "+c.Name, "%s", why)
}

// commitContent gives an existing file a new content, wherever the file was moved since the open. Conflict if the
// file has a generation that is neither the base of this write nor, with Force, an older one.
func (t commitTx) commitContent(now *hemera.Entry, c *Commit) (*hemera.Entry, error) {
	switch {
	case now.IsDir():
		return nil, refuse(errs.Invalid, "Commit", "fid:"+c.ID.String(), "it is a directory")
	case c.Gen < now.Gen:
		return nil, conflict(c, "a write that was opened later has been committed")
	case now.Gen != c.BaseGen && !c.Force:
		return nil, conflict(c, "the file was rewritten meanwhile")
	case c.Convert && !converts(now, c):
		return nil, refuse(errs.Corrupt, "Commit", "fid:"+c.ID.String()+" "+now.Name, "a conversion has another content than the file")
	}
	parent, err := t.ByID(now.Parent)
	if err != nil {
		return nil, err
	}
	// Another write took its name since the open: to change what is kept of it would lose this write for everybody who reads by name.
	if _, version := recycle.FileOfVersions(parent.Name); version && now.Parent != c.Parent && !c.Convert {
		return nil, conflict(c, "the file was replaced meanwhile, and is kept as a version")
	}
	e := *now // readers may have the old entry; its name and owner stay
	fill(&e, c)
	e.Ctime = t.Now()
	// A conversion carries no attributes and no time: users did not change anything.
	if c.Convert {
		e.Mtime = now.Mtime
	} else {
		e.Xattrs = withoutXattrs(mergeXattrs(now.Xattrs, c.Xattrs), c.XattrsGone)
	}
	if err := pieceTx(t).replace(now); err != nil {
		return nil, err
	}
	return t.commitTo(parent, now, &e, c)
}

// commitFile makes a new file at its parent and name. The parent may have been moved since the open: it is found
// by its id. Conflict if the parent is gone, or another file has the name and does not give way.
func (t commitTx) commitFile(c *Commit) (*hemera.Entry, error) {
	if c.BaseGen != 0 {
		return nil, conflict(c, "the file was removed meanwhile")
	}
	parent, err := t.ByID(c.Parent)
	if err != nil {
		return nil, err
	}
	if parent == nil || !parent.IsDir() { // it is not made again: somebody wanted it gone
		return nil, conflict(c, "its directory was removed meanwhile")
	}
	other, err := t.Entry(parent.ID, c.Name)
	if err != nil {
		return nil, err
	}
	var kept map[string][]byte // attributes that the name keeps
	if other != nil {
		if kept, err = t.giveWay(parent, other, c); err != nil {
			return nil, err
		}
	}
	e := &hemera.Entry{ID: c.ID, Parent: parent.ID, Name: c.Name, Kind: hemera.KindFile,
		Mode: c.Mode, UID: c.UID, GID: c.GID, Birth: t.Now(), Ctime: t.Now(), Xattrs: mergeXattrs(kept, c.Xattrs)}
	fill(e, c)
	t.PutLocation(e)
	return t.commitTo(parent, nil, e, c)
}

// commitRenamed is commitFile, under the name that the file was given last. Only commits of files that the cache does not know to be new come here.
func (t commitTx) commitRenamed(c *Commit) (*hemera.Entry, error) {
	name, err := writeTx(t).renamedTo(c.ID)
	switch {
	case err != nil:
		return nil, err
	case name == "":
		return t.commitFile(c)
	}
	renamed := *c // the caller's commit keeps the name of the open, for its errors
	renamed.Name = name
	e, err := t.commitFile(&renamed)
	if err == nil {
		err = writeTx(t).forgetName(c.ID)
	}
	return e, err
}

// giveWay removes another file from the name that the commit is for, if the open asked for that (Force) and the
// other file was opened earlier: ids are in the order of opens. It returns the attributes that the name keeps.
func (t commitTx) giveWay(parent, other *hemera.Entry, c *Commit) (map[string][]byte, error) {
	if !c.Force || other.IsDir() || other.ID > c.ID {
		return nil, conflict(c, "the name was taken meanwhile")
	}
	dirs, path, err := t.Above(parent)
	if err != nil {
		return nil, err
	}
	t.Event(hemera.Event{Kind: hemera.EventRemove, File: other.ID, Path: path + "/" + other.Name, Who: c.Who, Bytes: other.Size})
	return versionTx(t).replaced("Commit", path+"/"+other.Name, c.Who, found{dirs: dirs, name: other.Name, entry: other})
}

// fill copies the content of a commit into the entry. Its slices are copied, because the entry is shared with
// readers from now on; pieces are stored in the order of their indexes.
func fill(e *hemera.Entry, c *Commit) {
	e.Mtime, e.Size, e.Gen, e.Layout, e.Space = c.Mtime.UTC().Round(0), c.Size, c.Gen, c.Layout, c.Space
	e.Checksums, e.Pieces = slices.Clone(c.Sums), slices.Clone(c.Pieces)
	slices.SortFunc(e.Pieces, func(a, b hemera.Piece) int { return int(a.Index) - int(b.Index) })
}

// commitTo stores the entry and everything that follows from it. old is what the entry replaces, nil for a new
// file.
func (t commitTx) commitTo(parent, old, e *hemera.Entry, c *Commit) (*hemera.Entry, error) {
	if e.Mtime.IsZero() {
		e.Mtime = t.Now()
	}
	// The directories above now, not at the open: the file counts where it is.
	dirs, path, err := t.Above(parent)
	if err != nil {
		return nil, err
	}
	if dirs[0].ID != hemera.RootID {
		return nil, conflict(c, "the file or its directory was removed meanwhile, and is in a recycle bin")
	}
	if c.ReleaseClaim != nil && accounts.Limited(dirs) {
		t.work.unclaimed = c.Convert
		t.work.settle = func(limits []quota.Standing) ([]quota.Standing, *accounts.Promise) { return c.release(e.Size, limits) }
	}
	if err := t.onTape(old, e, c, dirs, path); err != nil {
		return nil, err
	}
	if err := checkXattrs("Commit", e.Name, e.Xattrs); err != nil {
		return nil, err
	}
	delta, _ := t.Weight(e) // of a file: no error
	// A new file changes the list of names of its directory, a new content only the sums.
	adjust := t.Relist
	if old != nil {
		before, _ := t.Weight(old)
		delta, adjust = delta.Add(before.Negate()), t.Adjust
	}
	if err := adjust(dirs, delta); err != nil {
		return nil, err
	}
	ledger := c.ledger(t)
	ledger.Judge.Named("Commit", e.Name)
	if err := ledger.Charge(dirs, old, e); err != nil {
		return nil, err
	}
	if err := pieceTx(t).add(e, e.Pieces); err != nil {
		return nil, err
	}
	t.PutEntry(e)
	pieceTx(t).indexIncomplete(old, e)
	t.Event(hemera.Event{Kind: hemera.EventCommit, File: e.ID, Path: path + "/" + e.Name, Who: c.Who, Bytes: e.Size})
	return e, nil
}

// ledger is the quota accounts for the content of the commit. One without claims is not a user's: it is charged, and not
// refused.
func (c *Commit) ledger(t commitTx) accounts.Ledger {
	l := tx(t).ledger()
	if c.ReleaseClaim == nil {
		l.Judge = nil
	}
	return l
}

// release ends the claim of the write, as its content of the size is in the usage from now on, and returns the standings with
// the claims of others, and the promise of its open. The claims of an earlier life of the manager are forgotten: then
// the capability's size is the promise.
func (c *Commit) release(size int64, limits []quota.Standing) ([]quota.Standing, *accounts.Promise) {
	limits, promise := c.ReleaseClaim(limits)
	if promise == nil && size <= c.Promised {
		promise = &accounts.Promise{Amount: hemera.QuotaAmount{Files: math.MaxInt64, Bytes: math.MaxInt64, Physical: math.MaxInt64}}
		for _, s := range limits {
			promise.Accounts = append(promise.Accounts, s.Account)
		}
	}
	return limits, promise
}

// onTape keeps what follows from a commit for tapes: a new content is queued where its directories ask for that, what was replaced is dead on
// its tapes, and a conversion of a file that is on tape only has brought it back.
func (t commitTx) onTape(old, e *hemera.Entry, c *Commit, dirs []*hemera.Entry, path string) error {
	if c.Convert {
		if old != nil && old.Evicted() {
			return tx(t).tapes().Arrived(e)
		}
		return nil
	}
	if old != nil {
		if err := tx(t).tapes().Bury(old, path+"/"+old.Name, "replaced"); err != nil {
			return err
		}
	}
	return tx(t).tapes().Enlist(e, dirs, t.base.tapes.Settings())
}

// converts reports whether the commit has the content of the entry, in whatever form: the same size, and the same
// checksum of each kind that is known of the entry. Without such a proof a fault of one node would replace a good file.
func converts(now *hemera.Entry, c *Commit) bool {
	// CRC32C is among them for every file, so there is always one to compare.
	for _, sum := range now.Checksums {
		if is, ok := hemera.FindChecksum(c.Sums, sum.Kind); !ok || is != sum {
			return false
		}
	}
	return c.Size == now.Size
}
