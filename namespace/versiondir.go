package namespace

import (
	"slices"
	"strconv"

	"hemera/namespace/accounts"
	"hemera/rules/recycle"
	"hemera/words/hemera"
)

// A file that has versions has a directory of them beside it; versions.go says when a content becomes one. The directory
// goes where its file goes: with a rename, with a removal to a bin, and back.

// attrVersions is the attribute of a file with the id of the directory of its versions, in hexadecimal.
const attrVersions = "sys.versions"

// versionTx is the versions of files within one transaction.
//
// Whether a content is kept is decided twice: at the open, which gives the new content an id of its own, and at the commit, by
// what holds then. A write that was opened before versioning was switched on changes the file in place.
type versionTx tx

// withoutVersions returns the file without the attribute that links it to versions.
func withoutVersions(e *hemera.Entry) *hemera.Entry {
	if e.Xattrs[attrVersions] == nil {
		return e
	}
	plain := *e
	plain.Xattrs = withoutXattrs(e.Xattrs, []string{attrVersions})
	return &plain
}

// of returns the directory of a file's versions, nil if it has none: the attribute must name it, and it must be where it
// belongs. A user may have moved it, or set the attribute.
func (t versionTx) of(f found) (*hemera.Entry, error) {
	text := f.entry.Xattrs[attrVersions]
	if text == nil || f.entry.IsDir() {
		return nil, nil
	}
	id, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil {
		return nil, nil
	}
	dir, err := t.ByID(hemera.FileID(id))
	if err != nil || dir == nil {
		return nil, err
	}
	name, _ := recycle.VersionDir(f.name)
	// A quota node is somebody's own, whatever its name.
	if !dir.IsDir() || dir.Parent != f.parent().ID || dir.Name != name || dir.Quota {
		return nil, nil
	}
	return dir, nil
}

// follow moves the directory of a file's versions to where the file was moved. If the name is taken there, or a file may
// not have it, or its files cannot be charged, the directory stays.
func (t versionTx) follow(dir *hemera.Entry, from []*hemera.Entry, target found) error {
	name, ok := recycle.VersionDir(target.name)
	if !ok || len(target.dirs) >= hemera.DepthMax {
		return nil
	}
	// Versions of two files are never mixed: those that have the name already stay there.
	other, err := t.Entry(target.parent().ID, name)
	if err != nil || other != nil {
		return err
	}
	_, err = t.moveTree("Rename", found{dirs: from, name: dir.Name, entry: dir}, found{dirs: target.dirs, name: name})
	return err
}

// retire moves the directory of versions of a file that is removed, to the bin that the file goes to, or to the one
// that keeps nothing.
func (t versionTx) retire(b bin, who string, f found) error {
	dir, err := t.of(f)
	if err != nil || dir == nil {
		return err
	}
	// The owner of the file finds them, also if others own the contents.
	dirs, err := b.directories(binTx(t), f.entry.UID)
	if err != nil {
		return err
	}
	kept := *dir
	kept.Xattrs = mergeXattrs(dir.Xattrs, recycledAs(pathBelow(f.dirs)+"/"+dir.Name, who))
	_, err = t.moveTree("Rename", found{dirs: f.dirs, name: dir.Name, entry: &kept}, found{dirs: dirs, name: binnedName(t.Now(), dir.ID)})
	return err
}

// treeMax is the number of files that a tree may have at most to be charged file by file.
const treeMax = 1000

// moveTree moves a directory with its files. Below quota nodes each file is charged by itself, as whose they are is not
// known otherwise; false if there are too many, or directories among them: then nothing was moved.
func (t versionTx) moveTree(op string, f, target found) (moved bool, err error) {
	s, err := t.Directory(f.entry.ID)
	if err != nil {
		return false, err
	}
	depth := min(s.Depth, s.Tree.Dirs)
	if int64(len(target.dirs))+depth > hemera.DepthMax {
		return false, nil
	}
	if !accounts.Limited(f.dirs) && !accounts.Limited(target.dirs) {
		return true, tx(t).moveBy(op, f, target, depth)
	}
	if s.Tree.Dirs > 0 || s.Tree.Files > treeMax {
		return false, nil
	}
	files, err := t.entriesIn(f.entry.ID, s.Tree.Files)
	if err != nil {
		return false, err
	}
	from, to := append(slices.Clip(f.dirs), f.entry), append(slices.Clip(target.dirs), f.entry)
	for _, e := range files {
		if err := t.ledger().ChargeMove(accounts.Move{Entry: e, From: from, To: to, Op: op}); err != nil {
			return false, err
		}
	}
	return true, tx(t).relocate(f, target, depth)
}

// ledger returns the quota accounts in the same transaction.
func (t versionTx) ledger() accounts.Ledger { return tx(t).ledger() }

// entriesIn returns the files of a directory that has count of them. Names cannot be listed within a change: they were
// listed before, or the change fails with missingNames and runs again.
func (t versionTx) entriesIn(dir hemera.FileID, count int64) ([]*hemera.Entry, error) {
	names := t.work.listed[dir]
	if int64(len(names)) != count {
		return nil, &missingNames{dir}
	}
	out := make([]*hemera.Entry, 0, len(names))
	for _, name := range names {
		e, err := t.Entry(dir, name)
		if err != nil {
			return nil, err
		}
		if e == nil {
			return nil, &missingNames{dir}
		}
		out = append(out, e)
	}
	return out, nil
}

// retire takes the found entry out of the tree: to the recycle bin that is for it, else for good. A directory must be
// empty, and have no limits. who is the user that removes or replaces it.
func (t tx) retire(op, path, who string, f found) error {
	b, ok := t.bins().binOf(f.dirs, f.entry)
	if !ok {
		return t.erase(op, path, who, f)
	}
	if err := t.checkEmpty(op, path, f.entry); err != nil {
		return err
	}
	if err := versionTx(t).retire(b, who, f); err != nil {
		return err
	}
	return t.bins().recycle(b, who, path, f)
}

// erase takes the found entry out of the tree for good, and a file's versions with it.
func (t tx) erase(op, path, who string, f found) error {
	if err := versionTx(t).retire(trash(), who, f); err != nil {
		return err
	}
	return t.unlink(op, path, f)
}
