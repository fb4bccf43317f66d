package tables

import (
	"strings"

	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Weight returns what the entry adds to the totals of the directories above it.
func (t Txn) Weight(e *hemera.Entry) (hemera.TreeTotals, error) {
	if !e.IsDir() {
		return schema.Weight(e), nil
	}
	s, err := t.Directory(e.ID)
	if err != nil {
		return hemera.TreeTotals{}, err
	}
	return s.Tree.Add(hemera.TreeTotals{Dirs: 1}), nil
}

// Adjust adds to the totals of every directory.
func (t Txn) Adjust(dirs []*hemera.Entry, delta hemera.TreeTotals) error {
	if delta == (hemera.TreeTotals{}) {
		return nil // a rewrite of the same size changes no totals
	}
	for _, dir := range dirs {
		s, err := t.Directory(dir.ID)
		if err != nil {
			return err
		}
		t.PutDirectory(dir.ID, s.With(s.Mtime, s.Ctime, delta))
	}
	return nil
}

// Relist does what Adjust does, for a name that was added to the last of dirs, or removed: its list of names changed now.
func (t Txn) Relist(dirs []*hemera.Entry, delta hemera.TreeTotals) error {
	last := len(dirs) - 1
	if err := t.Adjust(dirs[:last], delta); err != nil {
		return err
	}
	s, err := t.Directory(dirs[last].ID)
	if err == nil {
		t.PutDirectory(dirs[last].ID, s.With(t.Now(), t.Now(), delta))
	}
	return err
}

// Touch says that the directory's list of names changed now.
func (t Txn) Touch(dir hemera.FileID) error {
	s, err := t.Directory(dir)
	if err == nil {
		t.PutDirectory(dir, s.With(t.Now(), t.Now(), hemera.TreeTotals{}))
	}
	return err
}

// Depth bounds the number of directories above one another below the entry.
func (t Txn) Depth(e *hemera.Entry) (int64, error) {
	if !e.IsDir() {
		return 0, nil
	}
	s, err := t.Directory(e.ID)
	if err != nil {
		return 0, err
	}
	return min(s.Depth, s.Tree.Dirs), nil
}

// Deepen says that the last of dirs has a directory in it now with depth directories above one another below that.
func (t Txn) Deepen(dirs []*hemera.Entry, depth int64) error {
	// Up to the top: a bound may be larger than those above it, as it stays when directories are removed, and a move counts no more
	// than the number of directories.
	for i := len(dirs) - 1; i >= 0; i-- {
		depth++
		s, err := t.Directory(dirs[i].ID)
		if err != nil {
			return err
		}
		if s.Depth >= depth {
			continue
		}
		deeper := *s
		deeper.Depth = depth
		t.PutDirectory(dirs[i].ID, deeper)
	}
	return nil
}

// LevelsMax bounds a walk up the tree: more directories than anybody has above one another, and the end
// of a circle, which only damage can make.
const LevelsMax = 1 << 20

// BinPath begins the path of what is in a recycle bin. No caller's path does, as theirs begin with a slash.
const BinPath = "recycle:"

// Above returns the chain from the root to the directory, and its path. It follows ids, so it is right
// whatever was renamed. A rename does not look at what is below, so the path may be longer than
// paths may be: then nobody can ask for it, but what is there is kept, moved and repaired as
// everything else. In a recycle bin the chain begins at the directory of all bins, and the path with [BinPath].
func (t Txn) Above(dir *hemera.Entry) (dirs []*hemera.Entry, path string, err error) {
	length := 0
	dirs = make([]*hemera.Entry, 0, 8)
	for e := dir; ; {
		dirs = append(dirs, e)
		if IsTop(e) {
			break
		}
		length += 1 + len(e.Name)
		if len(dirs) > LevelsMax {
			return nil, "", corrupt(dir.ID, "too many directories are above it")
		}
		up, err := t.Parent(e)
		if err != nil {
			return nil, "", err
		}
		e = up
	}
	// From the top down; the directory itself is the last name.
	var b strings.Builder
	if dirs[len(dirs)-1].ID != hemera.RootID {
		b.WriteString(BinPath)
	}
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

// IsTop reports whether nothing is above a directory: it is the root, or the directory of all recycle bins.
func IsTop(dir *hemera.Entry) bool { return dir.ID == hemera.RootID || dir.Parent == 0 }

// Parent returns the directory that an entry is in. Corrupt if there is none, which only damage can make.
func (t Txn) Parent(e *hemera.Entry) (*hemera.Entry, error) {
	up, err := t.ByID(e.Parent)
	if err == nil && (up == nil || !up.IsDir()) {
		err = corrupt(e.ID, "its parent fid:"+e.Parent.String()+" is not a directory")
	}
	return up, err
}

func corrupt(id hemera.FileID, why string) error {
	return errs.New(errs.Corrupt, "namespace.Resolve", "fid:"+id.String(), why)
}
