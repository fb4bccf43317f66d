package namespace

import (
	"strings"

	"hemera"
	"hemera/errs"
	"hemera/rules/access"
)

// found is the end of a walk along a path: the directories from the root to the last name's parent,
// and the entry of that name, nil if there is none. The root itself has no name and no directories.
type found struct {
	dirs  []*hemera.Entry
	name  string
	entry *hemera.Entry
}

// parent is the directory of the last name. Not for the root.
func (f found) parent() *hemera.Entry { return f.dirs[len(f.dirs)-1] }

// split cuts an absolute, clean path into names. Invalid or TooLarge.
func split(op, path string) ([]string, error) {
	if len(path) > hemera.PathMax {
		return nil, refuse(errs.TooLarge, op, path[:64]+"…", "a path has at most %d bytes, not %d", hemera.PathMax, len(path))
	}
	if path == "/" {
		return nil, nil
	}
	if !strings.HasPrefix(path, "/") {
		return nil, refuse(errs.Invalid, op, path, "a path begins with /")
	}
	names := strings.Split(path[1:], "/")
	for _, name := range names {
		if err := checkName(op, path, name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func checkName(op, subject, name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return refuse(errs.Invalid, op, subject, "%q is no name; paths are clean", name)
	case len(name) > hemera.NameMax:
		return refuse(errs.TooLarge, op, subject, "a name has at most %d bytes, not %d", hemera.NameMax, len(name))
	case strings.IndexByte(name, '/') >= 0 || strings.IndexByte(name, 0) >= 0: // much faster than ContainsAny
		return refuse(errs.Invalid, op, subject, "a name holds no slash and no zero byte")
	}
	return nil
}

// newName refuses an entry that is to be made, or moved to, where f found none: one with a name that no door takes, or
// with too many directories above one another, deep below it included.
func newName(op, path string, f found, deep int64) error {
	if err := hemera.CheckName(f.name); err != nil {
		return refuse(errs.Invalid, op, path, "%v", err)
	}
	return shallow(op, path, f.dirs, deep)
}

// walk follows the path as who. NotFound when a directory on the way is missing, NotDirectory when
// it is a file, Denied when it may not be traversed. A missing last name is no error.
func (t *tx) walk(op string, who hemera.Identity, path string) (found, error) {
	names, err := split(op, path)
	if err != nil {
		return found{}, err
	}
	f, left, err := t.follow(op, who, path, names)
	if err == nil && len(left) > 1 {
		err = refuse(errs.NotFound, op, path, "there is no directory %q on the way", left[0])
	}
	return f, err
}

// follow goes as far as entries are there; left are the names it did not find, the last included.
func (t *tx) follow(op string, who hemera.Identity, path string, names []string) (f found, left []string, err error) {
	if f.entry, err = t.root(); err != nil {
		return f, nil, err
	}
	f.dirs = make([]*hemera.Entry, 0, len(names))
	for i, name := range names {
		dir := f.entry
		if !dir.IsDir() {
			return f, nil, refuse(errs.NotDirectory, op, path, "%q on the way is a file", dir.Name)
		}
		if err := permit(op, path, who, dir, access.Traverse); err != nil {
			return f, nil, err
		}
		f.dirs, f.name = append(f.dirs, dir), name
		if f.entry, err = t.entry(dir.ID, name); err != nil {
			return f, nil, err
		}
		if f.entry == nil {
			return f, names[i:], nil
		}
	}
	return f, nil, nil
}

// existing is walk for a name that must be there.
func (t *tx) existing(op string, who hemera.Identity, path string) (found, error) {
	f, err := t.walk(op, who, path)
	if err == nil && f.entry == nil {
		err = refuse(errs.NotFound, op, path, "no such file or directory")
	}
	return f, err
}

// depthMax bounds a walk up the tree: more directories than anybody has above one another, and the end
// of a circle, which only damage can make.
const depthMax = 1 << 20

// above is the chain from the root to the directory, and its path. It follows ids, so it is right
// whatever was renamed. A rename does not look at what is below, so the path may be longer than
// paths may be: then nobody can ask for it, but what is there is kept, moved and made whole as
// everything else.
func (t *tx) above(dir *hemera.Entry) (dirs []*hemera.Entry, path string, err error) {
	length := 0
	dirs = make([]*hemera.Entry, 0, 8)
	for e := dir; ; {
		dirs = append(dirs, e)
		if e.ID == hemera.RootID {
			break
		}
		if length += 1 + len(e.Name); len(dirs) > depthMax {
			return nil, "", refuse(errs.Corrupt, "Resolve", "fid:"+dir.ID.String(), "more than %d directories are above it", depthMax)
		}
		up, err := t.byID(e.Parent)
		if err != nil {
			return nil, "", err
		}
		if up == nil || !up.IsDir() {
			return nil, "", refuse(errs.Corrupt, "Resolve", "fid:"+e.ID.String(), "its parent fid:%s is no directory", e.Parent)
		}
		e = up
	}
	var b strings.Builder
	b.Grow(length)
	for i := len(dirs) - 2; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(dirs[i].Name)
	}
	for i, j := 0, len(dirs)-1; i < j; i, j = i+1, j-1 {
		dirs[i], dirs[j] = dirs[j], dirs[i]
	}
	return dirs, b.String(), nil
}

// permit turns a refusal of the access rule into the error that says why.
func permit(op, path string, who hemera.Identity, e *hemera.Entry, a access.Action) error {
	return denied(op, path, access.Decide(who, access.Object{Mode: e.Mode, UID: e.UID, GID: e.GID}, a))
}

func permitRemove(op, path string, who hemera.Identity, dir, victim *hemera.Entry) error {
	return denied(op, path, access.DecideRemove(who, access.Of(*dir), access.Of(*victim)))
}

func denied(op, path string, d access.Decision) error {
	if d.Allowed {
		return nil
	}
	return refuse(errs.Denied, op, path, "permission denied: %s", d.Rule)
}
