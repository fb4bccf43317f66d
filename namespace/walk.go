package namespace

import (
	"context"
	"strings"

	"hemera/rules/access"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Every operation on a path begins with a walk from the root. A walk reads one cached record for each name, checks
// the right to traverse each directory, and returns all directories on the way: changes need them, because totals
// and quotas count in each of them.

// found is the end of a walk along a path: the directories from the root to the last name's parent, and the entry
// of that name, nil if there is none. The root itself has no name and no directories.
type found struct {
	dirs      []*hemera.Entry // from the root on; shared with the cache
	name      string          // the last one
	entry     *hemera.Entry   // nil: nothing has the name
	directory bool            // the path ends in a slash: only a directory may have the name
}

// parent returns the directory of the last name. Not for the root.
func (f found) parent() *hemera.Entry { return f.dirs[len(f.dirs)-1] }

// split cuts an absolute, clean path into names; the root has none. A path may end in a slash, which says that its last
// name is a directory's. Invalid or TooLarge.
func split(op, path string) ([]string, error) {
	if len(path) > hemera.PathMax {
		return nil, refuse(errs.TooLarge, op, path[:64]+"…", "a path has at most %d bytes, not %d: file name too long", hemera.PathMax, len(path))
	}
	if path == "/" {
		return nil, nil
	}
	if !strings.HasPrefix(path, "/") {
		return nil, refuse(errs.Invalid, op, path, "a path begins with /")
	}
	names := strings.Split(hemera.PlainPath(path)[1:], "/")
	for _, name := range names {
		if err := checkName(op, path, name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// newName refuses an entry that is to be made, or moved to, where f found none: one with a name that no door takes, one
// that is no directory under a path that ends in a slash, or one with too many directories above one another, itself and
// the depth below it included.
func newName(op, path string, f found, kind hemera.EntryKind, depth int64) error {
	if f.directory && kind != hemera.KindDirectory {
		return refuse(errs.NotDirectory, op, path, "the path ends in a slash, and what gets it is a file")
	}
	if err := hemera.CheckName(f.name); err != nil {
		return refuse(errs.Invalid, op, path, "%v", err)
	}
	if int64(len(f.dirs))+depth > hemera.DepthMax {
		return refuse(errs.TooLarge, op, path, "at most %d names may be in a path: file name too long", hemera.DepthMax)
	}
	return nil
}

// walk follows the path as who. NotFound when a directory on the way is missing, NotDirectory when it is a file, or when
// the path ends in a slash and its last name is a file's; Denied when a directory may not be traversed. A missing last
// name is no error: entry is nil then.
func (t tx) walk(op string, who hemera.Identity, path string) (found, error) {
	names, err := split(op, path)
	if err != nil {
		return found{}, err
	}
	f, left, err := t.follow(op, who, path, names)
	if err == nil && len(left) > 1 {
		err = refuse(errs.NotFound, op, path, "there is no directory %q on the way", left[0])
	}
	f.directory = hemera.OfDirectory(path)
	if err == nil && f.directory && f.entry != nil && !f.entry.IsDir() {
		err = refuse(errs.NotDirectory, op, path, "the path ends in a slash, and %q is a file", f.name)
	}
	return f, err
}

// follow goes as far as entries exist; left are the names that it did not find, the last included.
func (t tx) follow(op string, who hemera.Identity, path string, names []string) (f found, left []string, err error) {
	if f.entry, err = t.Root(); err != nil {
		return f, nil, err
	}
	f.dirs = make([]*hemera.Entry, 0, len(names)) // one allocation for any depth
	for i, name := range names {
		dir := f.entry
		if !dir.IsDir() {
			return f, nil, refuse(errs.NotDirectory, op, path, "%q on the way is a file", dir.Name)
		}
		if err := permit(op, path, who, dir, access.Traverse); err != nil {
			return f, nil, err
		}
		f.dirs, f.name = append(f.dirs, dir), name
		if f.entry, err = t.Entry(dir.ID, name); err != nil {
			return f, nil, err
		}
		if f.entry == nil {
			return f, names[i:], nil
		}
	}
	return f, nil, nil
}

// existing does what walk does, for a name that must exist.
func (t tx) existing(op string, who hemera.Identity, path string) (found, error) {
	f, err := t.walk(op, who, path)
	if err == nil && f.entry == nil {
		err = refuse(errs.NotFound, op, path, "no such file or directory")
	}
	return f, err
}

// permit turns a refusal of the access rule into the error that says why.
func permit(op, path string, who hemera.Identity, e *hemera.Entry, a access.Action) error {
	return denied(op, path, access.Decide(who, access.Object{Mode: e.Mode, UID: e.UID, GID: e.GID}, a))
}

// permitRemove does what permit does, for the removal of an entry from a directory: it depends on both, and on the sticky
// bit.
func permitRemove(op, path string, who hemera.Identity, dir, victim *hemera.Entry) error {
	return denied(op, path, access.DecideRemove(who, access.Of(*dir), access.Of(*victim)))
}

// denied returns nil if the decision allows the action.
func denied(op, path string, d access.Decision) error {
	if d.Allowed {
		return nil
	}
	return refuse(errs.Denied, op, path, "permission denied: %s", d.Rule)
}

// warm brings what a change will look at into the cache, so that the leader does not read the disk
// while all other changes wait for it. Errors are left to the change, which meets them again.
func (n *engine) warm(ctx context.Context, who hemera.Identity, paths ...string) error {
	for _, path := range paths {
		_, _ = n.look(ctx, func(t tx) error {
			_, err := t.walk("warm", who, path)
			return err
		})
		if err := ctx.Err(); err != nil {
			return errs.Wrap(err, "namespace.Lookup", path)
		}
	}
	return nil
}
