package namespace

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"hemera/namespace/schema"
	"hemera/rules/access"
	"hemera/rules/policy"
	"hemera/rules/quota"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// An open is a view: it writes nothing. All that a write needs later is in the capability that the manager makes
// of the answer, so opens that come to nothing leave nothing behind but a number that is never used.

// parentsMode is the mode of directories that an open makes on its way.
const parentsMode = 0o755

// Writes begins and ends writes: from the open, which reserves an id or a generation, to the commit or the refusal.
type Writes struct {
	engine  *engine
	changes *changes
	tree    *Tree        // makes directories on the way of an open
	ended   *endedWrites // writes that are over, or barred
}

// Prepare checks that who may open as asked, makes missing parents if asked, and for writes reserves the file's id (a
// new one, or the existing file's) and next generation. It writes nothing else. Exists (Exclusive), NotFound,
// IsDirectory, Denied.
//
// Where the old content is kept, in a recycle bin or as a version, the new one gets an id too: the old file keeps its own,
// with its pieces, and the new one takes its place.
//
// A generation is a number from the same durable sequence as ids (the first of a file is 1): it is larger than every
// generation the file had, and two writes never get the same one, whatever was restarted in between.
func (n *Writes) Prepare(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (Prepared, error) {
	var p Prepared
	if r.Access == hemera.AccessRead {
		err := n.engine.view(ctx, func(t tx) (err error) {
			p, err = openTx(t).read(who, r)
			return err
		})
		return p, err
	}
	if err := checkMode("Open", r.Path, r.Mode); err != nil {
		return p, err
	}
	look := func() error {
		return n.engine.view(ctx, func(t tx) (err error) {
			p, err = openTx(t).write(who, r)
			return err
		})
	}
	err := look()
	// The directories are made by changes of their own; the open itself writes nothing.
	if r.Parents && errors.Is(err, errs.NotFound) {
		err = n.makeAbove(ctx, who, r.Path)
		if err == nil {
			err = look()
		}
	}
	if err != nil {
		return Prepared{}, err
	}
	number, err := n.engine.numbers.Take(ctx)
	if err != nil {
		return Prepared{}, err
	}
	if p.Existing && !p.Keeps {
		p.Gen = hemera.Generation(number)
		return p, nil
	}
	// From now on the cache knows that nothing has this id, so its commit needs no reading.
	p.ID, p.Gen = hemera.FileID(number), 1
	n.engine.records.MarkUnused(schema.IDKey(schema.TableLocation, p.ID))
	return p, nil
}

// makeAbove makes the directories above a file that is to be made. A path that ends in a slash names one of them: clients
// that copy into a directory that is not there yet open it like that, and open the file in it when they are refused.
func (n *Writes) makeAbove(ctx context.Context, who hemera.Identity, path string) error {
	if hemera.OfDirectory(path) {
		_, err := n.tree.Mkdir(ctx, who, path, parentsMode, true)
		return err
	}
	return n.tree.makeParents(ctx, who, path, parentsMode)
}

// openTx is an open within one transaction, which changes nothing.
type openTx tx

// read decides whether a file may be opened for reading.
func (t openTx) read(who hemera.Identity, r hemera.OpenRequest) (Prepared, error) {
	path := r.Path
	f, err := tx(t).existing("Open", who, path)
	if err != nil {
		return Prepared{}, err
	}
	if f.entry.IsDir() {
		return Prepared{}, refuse(errs.IsDirectory, "Open", path, "it is a directory")
	}
	if err := permit("Open", path, who, f.entry, access.Read); err != nil {
		return Prepared{}, err
	}
	// A reader that lost its session, and no longer knows which generation it was reading, may go on only if nothing on
	// the way has changed since.
	if !r.Unchanged.IsZero() {
		for _, e := range append(slices.Clone(f.dirs), f.entry) {
			if !e.Ctime.Before(r.Unchanged) {
				return Prepared{}, refuse(errs.Conflict, "Open", path, "fid %s has changed, and nobody knows which content was being read", e.ID)
			}
		}
	}
	return Prepared{Entry: *f.entry, Existing: true, ID: f.entry.ID, Gen: f.entry.Gen}, nil
}

// write decides whether a file may be opened for writing, and finds what its write begins with.
func (t openTx) write(who hemera.Identity, r hemera.OpenRequest) (Prepared, error) {
	f, err := tx(t).walk("Open", who, r.Path)
	if err != nil {
		return Prepared{}, err
	}
	switch {
	case f.entry == nil && r.Access == hemera.AccessUpdate:
		return Prepared{}, refuse(errs.NotFound, "Open", r.Path, "no such file")
	case f.entry == nil && f.directory && r.Parents: // Prepare makes it, and comes again
		err = refuse(errs.NotFound, "Open", r.Path, "there is no directory %q", f.name)
	case f.entry == nil && f.directory: // as open(2) says
		err = refuse(errs.IsDirectory, "Open", r.Path, "the path ends in a slash")
	case f.entry == nil:
		err = cmp.Or(permit("Open", r.Path, who, f.parent(), access.CreateIn), newName("Open", r.Path, f, hemera.KindFile, 0))
	case f.entry.IsDir():
		err = refuse(errs.IsDirectory, "Open", r.Path, "it is a directory")
	case r.Exclusive:
		err = refuse(errs.Exists, "Open", r.Path, "the file exists")
	case r.Access == hemera.AccessUpdate:
		// It begins with the content that is there, and its writer may read all of it.
		err = cmp.Or(permit("Open", r.Path, who, f.entry, access.Write), permit("Open", r.Path, who, f.entry, access.Read))
	default:
		err = permit("Open", r.Path, who, f.entry, access.Write)
	}
	if err != nil {
		return Prepared{}, err
	}
	p := t.prepared(f, who.UID)
	if !p.Existing {
		if p.Mode, err = modeOf(f.dirs, who.UID, r.Mode, false); err != nil {
			return Prepared{}, errs.Wrap(err, "namespace.Open", r.Path)
		}
	}
	if p.Existing && r.Access == hemera.AccessCreate {
		p.Keeps, p.Versioned = t.keeps(f)
	}
	p.Quota, err = t.standing(f, who)
	return p, err
}

// prepared returns what a walk found, as the manager needs it for a write. The parent comes without its tree
// totals: every commit below changes them, so each open would wait for the writes of all others. A new file is to belong to
// the user with the uid.
func (t openTx) prepared(f found, uid uint32) Prepared {
	p := Prepared{Parent: *f.parent()}
	if f.entry != nil {
		uid = f.entry.UID
		p.Entry, p.Existing, p.ID, p.Gen = *f.entry, true, f.entry.ID, f.entry.Gen
	}
	p.Attrs = policy.InForce(f.dirs, uid)
	return p
}

// PrepareBelow returns what Prepare would find for a new file of who's below the path: the directory, or the
// nearest one above that exists, with its attributes and limits. It reserves nothing, and asks for no
// more rights than to get there. NotDirectory, Denied.
func (n *Writes) PrepareBelow(ctx context.Context, who hemera.Identity, path string) (p Prepared, err error) {
	names, err := split("PrepareBelow", path)
	if err != nil {
		return p, err
	}
	err = n.engine.view(ctx, func(t tx) error {
		f, _, err := t.follow("PrepareBelow", who, path, names)
		if err != nil {
			return err
		}
		if f.entry != nil && f.entry.IsDir() {
			f.dirs = append(f.dirs, f.entry)
		}
		f.entry = nil // the file would be new
		p = openTx(t).prepared(f, who.UID)
		p.Quota, err = openTx(t).standing(f, who)
		return err
	})
	return p, err
}

// PrepareConversion returns what a new content of the file with the id begins with, and the file's path: the file with
// the generation that a commit has to replace, the limits that hold for it, and a new generation. No identity is asked,
// as the content stays the same. Conflict if the file is gone, or has another generation than gen.
func (n *Writes) PrepareConversion(ctx context.Context, id hemera.FileID, gen hemera.Generation) (p Prepared, path string, err error) {
	err = n.engine.view(ctx, func(t tx) error {
		e, err := t.ByID(id)
		if err != nil {
			return err
		}
		// The caller found the file in a list, which may be minutes old.
		if e == nil || e.IsDir() || e.Gen != gen {
			return refuse(errs.Conflict, "PrepareConversion", "fid:"+id.String(), "the file was changed or removed meanwhile")
		}
		parent, err := t.Parent(e)
		if err != nil {
			return err
		}
		dirs, above, err := t.Above(parent)
		if err != nil {
			return err
		}
		if dirs[0].ID != hemera.RootID {
			return refuse(errs.Conflict, "PrepareConversion", "fid:"+id.String(), "the file was removed meanwhile, and is in a recycle bin")
		}
		// As a walk along the path would have found it, but by ids: the path may be longer than paths may be.
		f := found{dirs: dirs, name: e.Name, entry: e}
		p, path = openTx(t).prepared(f, e.UID), above+"/"+e.Name
		p.Quota, err = openTx(t).standing(f, hemera.SystemIdentity())
		return err
	})
	if err != nil {
		return Prepared{}, "", err
	}
	// Larger than the generation of any write of the file that was opened before: such a write then loses to this one, or
	// this one to it, but never both to each other.
	number, err := n.engine.numbers.Take(ctx)
	p.Gen = hemera.Generation(number)
	return p, path, err
}

// standing returns the limits that an open for writing has to comply with; see accounts.Ledger.Standing.
func (t openTx) standing(f found, who hemera.Identity) ([]quota.Standing, error) {
	uid, gid := who.UID, who.GID
	if f.entry != nil { // content counts for the file's owner, not for its writer
		uid, gid = f.entry.UID, f.entry.GID
	}
	return tx(t).ledger().Standing(f.dirs, uid, gid)
}

// Prepared is the result of Prepare. For a read, Entry is the file, and Parent is left out. For a write, Existing says
// whether Entry is the file now; Parent is its directory with Attrs, the attributes in force there for the file's owner:
// its own and those inherited from directories above (the nearest wins).
type Prepared struct {
	Entry    hemera.Entry      // the file now, if it exists
	Existing bool              // a write replaces or changes Entry
	Parent   hemera.Entry      // the directory of the file, without its tree totals
	Mode     uint32            // of a new file, by the directory's policy
	Attrs    policy.Attributes // in force for the file, or for a new one of the caller's
	ID       hemera.FileID     // of the file: a new id, or that of Entry
	Keeps    bool              // Entry is kept as it is, and a file with the new id takes its place
	// Versioned says that it is kept as a version, so that both count in quotas.
	Versioned bool
	Gen       hemera.Generation // that the write will have; of a read that of Entry
	// Quota is the limits that hold for the file and what is used of them; nil when there are none. What it says may
	// not be durable yet.
	Quota []quota.Standing
}
