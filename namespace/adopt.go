package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A rebuild makes files of what their pieces say. It knows no order: pieces of many disks come as they come, it may be cut
// off, and it runs again when more disks are there. So each adoption is one change, which compares the content with what
// the tree has by then. The number of a write decides between two contents, as ids and generations are in the order of
// opens. What has no place in the tree gets one in [LostDir].
//
// Nothing is removed from a disk by an adoption: pieces that leave the index are not unlinked. They belong to changes
// that the namespace does not know, so audits keep them.

// LostDir is the directory of files that were adopted without a place of their own. Their names are their ids,
// hexadecimal. Only admins may enter it, as nobody knows who might see them.
const LostDir = "/lost+found"

// lostMode is the mode of LostDir.
const lostMode = 0o700

// Recovery adopts files that the namespace has lost. It looks at no clock: times are those of the pieces, and what came
// first is a matter of numbers. It asks for no rights, as an admin has asked for all of it.
type Recovery struct {
	engine *engine
	tree   *Tree
}

// Adoption is a content of a file, as its pieces describe it.
type Adoption struct {
	ID             hemera.FileID     // that the file had, and has again
	Gen            hemera.Generation // of the content
	Path           string            // wanted; "" if nobody knows it
	Mode, UID, GID uint32            // of a new file; one that is there keeps its own
	Size           int64             // in bytes
	Layout         hemera.Layout
	Space          hemera.SpaceName  // whose policy the file counts for
	Sums           []hemera.Checksum // one of each kind at most
	Pieces         []hemera.Piece    // at most one of each index, on different disks
	Mtime          time.Time         // zero: now
	DiskSet        uint64            // as in [Commit]
}

// Outcome is the result of an adoption.
type Outcome uint8

// The outcomes.
const (
	AdoptedHere    Outcome = 1 + iota // the file is new, at its path
	AdoptedLost                       // the file is new, in LostDir
	AdoptedPieces                     // the file was there with the content, and got pieces
	AdoptedContent                    // the file was there with another content, and got this one
	AdoptedMove                       // the file was in LostDir, and got its path
	AdoptedBefore                     // the file was there with all of it
	AdoptedNot                        // the file has a better content, or this one was removed since
)

// Adopted is the answer to an adoption.
type Adopted struct {
	Outcome Outcome
	Path    string // where the file is now
	Why     string // why it is in LostDir, or was not adopted; "" otherwise
	// Displaced is a file that had the path and an older content. It is at DisplacedTo now.
	Displaced   hemera.FileID
	DisplacedTo string
}

// Adopt makes a file of the content, or completes the file that has it. It is idempotent, and any number of adoptions may
// run side by side. The caller has checked that the content is one of [Past.Lost]. Invalid for what cannot be a file.
func (n *Recovery) Adopt(ctx context.Context, a Adoption) (out Adopted, err error) {
	c := a.commit()
	// What a footer says is not trusted more than what a node says in a commit.
	if err := checkCommit(&c); err != nil {
		return out, err
	}
	// Each turn makes one thing that is missing on the way; another adoption may have made it meanwhile.
	for range adoptTurns {
		var turn Adopted
		var need error
		err = n.engine.update(ctx, func(t tx) (err error) {
			if err := t.checkDiskSet(a.DiskSet); err != nil {
				return err
			}
			turn, need, err = adoptTx{t, &a}.adopt()
			return err
		})
		out = out.then(turn)
		switch {
		case err != nil || need == nil:
			return out, err
		case errors.Is(need, errNeedsLost):
			_, err = n.tree.Mkdir(ctx, hemera.SystemIdentity(), LostDir, lostMode, true)
		case errors.Is(need, errNeedsParents):
			err = n.tree.makeParents(ctx, hemera.SystemIdentity(), a.Path, parentsMode)
			// A file took the place of a directory meanwhile: the next turn decides which of both is older.
			if errors.Is(err, errs.NotDirectory) {
				err = nil
			}
		}
		if err != nil {
			return out, err
		}
	}
	return out, refuse(errs.Conflict, "Adopt", a.Path, "the directories above it change all the time")
}

// then returns the answer of several turns: what the earlier ones did counts, too.
func (o Adopted) then(next Adopted) Adopted {
	if next.Displaced == 0 {
		next.Displaced, next.DisplacedTo = o.Displaced, o.DisplacedTo
	}
	if o.Outcome != 0 && next.Outcome == AdoptedBefore {
		next.Outcome = o.Outcome
	}
	return next
}

// adoptTurns bounds the turns of one adoption: two for what is missing, and the rest for others that interfere.
const adoptTurns = 16

// What a turn found to be missing. The change has then either done nothing, or made room.
var (
	errNeedsLost    = errors.New("there is no directory for lost files")
	errNeedsParents = errors.New("directories above the file are missing")
)

// commit returns the adoption as what a commit stores. It has a name that every check takes: that of the file is checked where
// it is used, as one that is not good is no reason to leave the file out.
func (a *Adoption) commit() Commit {
	return Commit{
		ID: a.ID, Gen: a.Gen, Parent: hemera.RootID, Name: a.ID.Hex(), Mode: a.Mode, UID: a.UID, GID: a.GID, Size: a.Size,
		Layout: a.Layout, Space: a.Space, Sums: a.Sums, Pieces: a.Pieces, Mtime: a.Mtime, Who: "rebuild",
	}
}

// adoptTx is one turn of an adoption.
type adoptTx struct {
	tx tx
	a  *Adoption
}

// adopt decides by what the namespace has of the file. need is what has to be made before it can.
func (t adoptTx) adopt() (out Adopted, need, err error) {
	now, err := t.tx.ByID(t.a.ID)
	if err != nil {
		return out, nil, err
	}
	pieces, err := t.staying()
	switch {
	case err != nil:
		return out, nil, err
	// A user removed or replaced the content after it was adopted; its disks are about to remove it.
	case len(pieces) == 0 && len(t.a.Pieces) > 0:
		return Adopted{Outcome: AdoptedNot, Why: "it was removed since"}, nil, nil
	case now == nil:
		return t.create(pieces)
	case now.IsDir():
		return Adopted{Outcome: AdoptedNot, Why: "a directory has its id"}, nil, nil
	case now.Gen == t.a.Gen:
		return t.grow(now, pieces)
	}
	return t.renew(now, pieces)
}

// staying returns the pieces that no disk is to remove.
func (t adoptTx) staying() (left []hemera.Piece, err error) {
	// By disk: a user may have removed a file whose disk was away then.
	for _, p := range t.a.Pieces {
		gone, err := t.tx.pieces().isUnlinked(p.Disk, hemera.PieceID{File: t.a.ID, Gen: t.a.Gen, Index: p.Index})
		if err != nil {
			return nil, err
		}
		if !gone {
			left = append(left, p)
		}
	}
	return left, nil
}

// create makes the file, at its path if it may have that.
func (t adoptTx) create(pieces []hemera.Piece) (out Adopted, need, err error) {
	c := t.a.commit()
	c.Pieces = pieces
	// Nobody knows when the file was made. Its content is as old as its first piece.
	e := &hemera.Entry{ID: c.ID, Kind: hemera.KindFile, Mode: c.Mode, UID: c.UID, GID: c.GID, Birth: c.Mtime.UTC().Round(0), Ctime: t.tx.Now()}
	fill(e, &c)
	out.Outcome = AdoptedHere
	target, need, err := t.place(e, &out)
	if need != nil || err != nil {
		return out, need, err
	}
	if out.Why != "" {
		out.Outcome = AdoptedLost
		if target, need, err = t.lost(e); need != nil || err != nil {
			return out, need, err
		}
	}
	// From here on it is the commit of a new file: totals, accounts, lists of disks and the event follow.
	e.Parent, e.Name = target.parent().ID, target.name
	t.tx.PutLocation(e)
	made, err := commitTx(t.tx).commitTo(target.parent(), nil, e, &c)
	if err == nil {
		out.Path, err = t.pathOf(made)
	}
	return out, nil, err
}

// grow adds the pieces that the file does not have.
func (t adoptTx) grow(now *hemera.Entry, pieces []hemera.Piece) (out Adopted, need, err error) {
	// What a tape scan made is on tape only, in a form that nothing has yet: its pieces say which.
	if c := t.a.commit(); now.Evicted() && converts(now, &c) {
		return t.renew(now, pieces)
	}
	// Pieces of another content would be read as parts of this one.
	if now.Layout != t.a.Layout || now.Size != t.a.Size || !slices.Equal(now.Checksums, t.a.Sums) {
		return Adopted{Outcome: AdoptedNot, Why: "the file has this generation, and other pieces of it say otherwise"}, nil, nil
	}
	out.Outcome = AdoptedBefore
	// Two pieces of one file on a disk would be lost together, and a second one of an index says nothing new.
	add := slices.DeleteFunc(pieces, func(p hemera.Piece) bool {
		return !fits(now.Layout, now.Size, p.Index) ||
			slices.ContainsFunc(now.Pieces, func(o hemera.Piece) bool { return o.Index == p.Index || o.Disk == p.Disk })
	})
	if len(add) > 0 {
		out.Outcome = AdoptedPieces
		if now, err = t.addPieces(now, add); err != nil {
			return out, nil, err
		}
	}
	return t.settle(now, out)
}

// addPieces records more pieces of the content that the file has.
func (t adoptTx) addPieces(now *hemera.Entry, add []hemera.Piece) (*hemera.Entry, error) {
	// Views have the entry as it was, so a copy is changed.
	e := *now
	var err error
	if e.Pieces, err = moved("fid:"+now.ID.String(), now, nil, add); err != nil {
		return nil, err
	}
	parent, err := t.tx.Parent(&e)
	if err != nil {
		return nil, err
	}
	dirs, path, err := t.tx.Above(parent)
	if err != nil {
		return nil, err
	}
	// The content is the same, so only physical bytes change above.
	if err := errors.Join(
		t.tx.Adjust(dirs, hemera.TreeTotals{Physical: schema.Physical(&e) - schema.Physical(now)}),
		t.tx.ledger().Charge(dirs, now, &e), t.tx.pieces().add(&e, add)); err != nil {
		return nil, err
	}
	t.tx.PutEntry(&e)
	t.tx.pieces().indexIncomplete(now, &e)
	t.tx.Event(hemera.Event{Kind: hemera.EventPieces, File: e.ID, Path: path + "/" + e.Name, Bytes: e.Size})
	return &e, nil
}

// A content that was adopted is not the last word: a disk that comes later may have a better one. Which is better does not
// depend on the order in which they come, so that any number of runs end with the same.

// renew gives the file this content in place of another, whose pieces leave the index and stay where they are. A content
// that can be read is better than one that cannot; between two that can, or two that cannot, the newer one counts.
func (t adoptTx) renew(now *hemera.Entry, pieces []hemera.Piece) (out Adopted, need, err error) {
	c := t.a.commit()
	c.Pieces = pieces
	e := *now
	fill(&e, &c)
	// What the entry lists counts, and not which disks are there now: a disk that is away comes back.
	is, was := readable(&e, pieces), readable(now, now.Pieces) || now.Evicted()
	// The same content: what a scan of tapes found of it stays.
	c.Convert = is && len(now.Tape) > 0 && converts(now, &c)
	switch {
	case c.Convert:
		e.Mtime = now.Mtime
	case was && !is:
		return Adopted{Outcome: AdoptedNot, Why: "too few of its pieces were found, and another content can be read"}, nil, nil
	case is == was && now.Gen > t.a.Gen:
		return Adopted{Outcome: AdoptedNot, Why: "the file has a newer content"}, nil, nil
	}
	e.Ctime = t.tx.Now()
	out.Outcome = AdoptedContent
	parent, err := t.tx.Parent(now)
	if err != nil {
		return out, nil, err
	}
	// Not unlinked: an adoption is no reason to remove anything.
	if err := t.tx.pieces().forget(now); err != nil {
		return out, nil, err
	}
	made, err := commitTx(t.tx).commitTo(parent, now, &e, &c)
	if err != nil {
		return out, nil, err
	}
	return t.settle(made, out)
}

// settle moves a file to its path, if it may have it by now: one in LostDir, or one whose new content was written under
// another name. What a turn did before need stays, and the next one finds the file and tries this again.
func (t adoptTx) settle(e *hemera.Entry, out Adopted) (_ Adopted, need, err error) {
	parent, err := t.tx.Parent(e)
	if err != nil {
		return out, nil, err
	}
	// A file that a user removed since may be in a recycle bin: it stays there.
	dirs, at, err := t.tx.Above(parent)
	if err != nil {
		return out, nil, err
	}
	out.Path = at + "/" + e.Name
	if out.Path == t.a.Path || at != LostDir && out.Outcome != AdoptedContent {
		return out, nil, nil
	}
	// A place that it may not have says nothing about what was done so far.
	try := out
	target, need, err := t.place(e, &try)
	if need != nil || err != nil {
		return out, need, err
	}
	if try.Why != "" {
		// A file that has a name keeps it, whatever its new content was written as.
		if at == LostDir {
			out.Why = try.Why
		}
		return out, nil, nil
	}
	if err := t.tx.move(found{dirs: dirs, name: e.Name, entry: e}, target, 0); err != nil {
		return out, nil, err
	}
	// Followers of the log see a rename, as if an admin had moved it.
	t.tx.Event(hemera.Event{Kind: hemera.EventRename, File: e.ID, Path: out.Path, To: t.a.Path, Who: "rebuild"})
	if out.Outcome != AdoptedContent {
		out.Outcome = AdoptedMove
	}
	out.Path, out.Displaced, out.DisplacedTo = t.a.Path, try.Displaced, try.DisplacedTo
	return out, nil, nil
}

// place finds where the path of the file is free, or makes it free of an older file. out.Why says why the file may not
// have its path.
func (t adoptTx) place(e *hemera.Entry, out *Adopted) (target found, need, err error) {
	path := t.a.Path
	// Cheap reasons first: none of them needs the tree.
	names, good := adoptable(path)
	switch {
	case path == "":
		out.Why = "its pieces name no path"
	case !good:
		out.Why = "its pieces name no good path"
	case !readable(e, e.Pieces):
		out.Why = "too few of its pieces were found"
	}
	if out.Why != "" {
		return target, nil, nil
	}
	target, left, err := t.tx.follow("Adopt", hemera.SystemIdentity(), path, names)
	switch {
	// A file is where a directory must be: one of both was removed before the other was made, and the older one gives way.
	case errors.Is(err, errs.NotDirectory): // target is the file in the way
		if need, err = t.displace(e, target, out); need == nil && err == nil && out.Why == "" {
			need = errNeedsParents // it is gone: the next turn finds no directory there
		}
		return target, need, err
	case err != nil:
		return target, nil, err
	case len(left) > 1:
		return target, errNeedsParents, nil
	case target.entry == nil:
		return target, nil, nil
	// A directory has files below it, which would all have to go.
	case target.entry.IsDir():
		out.Why = "a directory has its path"
		return target, nil, nil
	}
	need, err = t.displace(e, target, out)
	target.entry = nil
	return target, need, err
}

// Adoptable reports whether a file can be adopted at a path, whatever is there.
func Adoptable(path string) bool {
	_, ok := adoptable(path)
	return ok
}

// adoptable returns the names of a path, and whether an entry can be made there. Below LostDir nothing has a place of its
// own: such a file was lost before.
func adoptable(path string) (names []string, ok bool) {
	names, err := split("Adopt", path)
	if err != nil || len(names) == 0 || hemera.OfDirectory(path) || len(names) > hemera.DepthMax || names[0] == LostDir[1:] {
		return nil, false
	}
	for _, name := range names {
		if hemera.CheckName(name) != nil {
			return nil, false
		}
	}
	return names, true
}

// displace moves the file that is in the way of e to LostDir if its content is older; otherwise out.Why says so.
func (t adoptTx) displace(e *hemera.Entry, other found, out *Adopted) (need, err error) {
	o := other.entry
	// Two files never have one number, so one of both is older, whichever comes first.
	if numberOf(o) > numberOf(e) {
		out.Why = fmt.Sprintf("file fxid:%s has its path, and is newer", o.ID.Hex())
		return nil, nil
	}
	// It keeps its id, its pieces and its owner; a later run may give it the path back.
	to, need, err := t.lost(o)
	if need != nil || err != nil {
		return need, err
	}
	// Its path is for the event only; what was asked for may be a longer one.
	_, at, err := t.tx.Above(other.parent())
	if err != nil {
		return nil, err
	}
	if err := t.tx.move(other, to, 0); err != nil {
		return nil, err
	}
	out.Displaced, out.DisplacedTo = o.ID, LostDir+"/"+to.name
	t.tx.Event(hemera.Event{Kind: hemera.EventRename, File: o.ID, Path: at + "/" + o.Name, To: out.DisplacedTo, Who: "rebuild"})
	return nil, nil
}

// lost finds the place of the file in LostDir.
func (t adoptTx) lost(e *hemera.Entry) (target found, need, err error) {
	// An admin may have put another file there, under a name like that.
	for _, name := range []string{e.ID.Hex(), fmt.Sprintf("%s.%x", e.ID.Hex(), uint64(e.Gen))} {
		target, err = t.tx.walk("Adopt", hemera.SystemIdentity(), LostDir+"/"+name)
		switch {
		case errors.Is(err, errs.NotFound):
			return target, errNeedsLost, nil
		case err != nil || target.entry == nil:
			return target, nil, err
		}
	}
	return target, nil, refuse(errs.Exists, "Adopt", LostDir+"/"+e.ID.Hex(), "another file has the name")
}

// pathOf returns the path of an entry.
func (t adoptTx) pathOf(e *hemera.Entry) (string, error) {
	parent, err := t.tx.Parent(e)
	if err != nil {
		return "", err
	}
	_, path, err := t.tx.Above(parent)
	return path + "/" + e.Name, err
}

// Two contents of one path, or of one file, are compared by these numbers and nothing else. Clocks of nodes may be wrong, and
// a repair seals a piece of an old content again.

// numberOf returns the number of the write that made the file's content. Numbers are in the order of opens.
func numberOf(e *hemera.Entry) hemera.FileID {
	return schema.WriteNumber(hemera.PieceID{File: e.ID, Gen: e.Gen})
}

// A piece that leaves the index without being unlinked is one that the namespace does not know: audits call it newer, and
// keep it, until ForgetLost.

// forget takes the pieces of a content out of the index. Their disks keep them.
func (t pieceTx) forget(e *hemera.Entry) error {
	for _, p := range e.Pieces {
		t.Remove(schema.PieceKey(p.Disk, e.ID, p.Index))
		if err := t.count(p.Disk, schema.Usage{Pieces: -1, Bytes: -schema.PieceBytes(e, p.Index)}); err != nil {
			return err
		}
	}
	return nil
}
