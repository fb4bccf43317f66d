package namespace

import (
	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Where replaced content is kept, a write that replaces a file is one of a new file. Its commit moves the old file, with
// its id and pieces, to the bin or to the file's versions, and puts the new one in its place, with the owner, the mode and
// the attributes of the old. An update, which changes a part of a content, is not such a write: it keeps nothing.

// keeps reports whether the content of the found file is kept when another replaces it, and whether as a version: then it
// goes on to count where it is.
func (t openTx) keeps(f found) (kept, version bool) {
	if _, ok := recycle.FileOfVersions(f.parent().Name); ok {
		return false, false // it is a version itself
	}
	// The same questions as the commit asks; what changes in between is decided there.
	version = versionsKept(f.dirs, f.entry) > 0
	_, kept = tx(t).bins().binOf(f.dirs, f.entry)
	return kept || version, version
}

// commitReplacing puts a new file in the place of the one that the open found, wherever that was moved since. Conflict if
// that was removed or got another content, unless the open was forced and an older file has its name: then it takes
// that one's place.
func (t commitTx) commitReplacing(c *Commit) (*hemera.Entry, error) {
	old, err := t.replaced(c)
	if err != nil {
		return nil, err
	}
	parent, err := t.Parent(old)
	if err != nil {
		return nil, err
	}
	dirs, path, err := t.Above(parent)
	if err != nil {
		return nil, err
	}
	// Readers of the old file go on with it: it keeps its id and its pieces, wherever it goes.
	e := *old // its owner, mode and attributes stay with the name
	e.ID, e.Birth, e.Ctime = c.ID, t.Now(), t.Now()
	fill(&e, c)
	kept, err := versionTx(t).replaced("Commit", path+"/"+old.Name, c.Who, found{dirs: dirs, name: old.Name, entry: old})
	if err != nil {
		return nil, err
	}
	e.Xattrs = mergeXattrs(withoutXattrs(mergeXattrs(old.Xattrs, c.Xattrs), c.XattrsGone), kept)
	t.PutLocation(&e)
	return t.commitTo(parent, nil, &e, c)
}

// replaced returns the file that a write takes the place of.
func (t commitTx) replaced(c *Commit) (*hemera.Entry, error) {
	old, err := t.ByID(c.Replaces)
	if err != nil {
		return nil, err
	}
	// What became a version, or is in a bin, was replaced or removed since the open: it is not to be replaced again.
	there := old != nil
	if there {
		if there, err = t.inPlace(old); err != nil {
			return nil, err
		}
	}
	switch {
	case there && old.IsDir():
		return nil, refuse(errs.Invalid, "Commit", "fid:"+c.Replaces.String(), "it is a directory")
	case there && old.Gen != c.BaseGen && (!c.Force || uint64(old.Gen) > uint64(c.ID)):
		return nil, conflict(c, "the file was rewritten meanwhile")
	case there:
		return old, nil
	case !c.Force:
		return nil, conflict(c, "the file was removed or replaced meanwhile")
	}
	// Forced: the later open wins over whatever has the name, as long as that was opened earlier.
	other, err := t.Entry(c.Parent, c.Name)
	if err == nil && (other == nil || other.IsDir() || other.ID > c.ID) {
		err = conflict(c, "the file was removed meanwhile, or a write that was opened later has been committed")
	}
	return other, err
}

// inPlace reports whether a file is where users put it: neither in a bin nor a version.
func (t commitTx) inPlace(e *hemera.Entry) (bool, error) {
	parent, err := t.Parent(e)
	if err != nil {
		return false, err
	}
	if _, ok := recycle.FileOfVersions(parent.Name); ok {
		return false, nil
	}
	gone, err := tx(t).bins().inBin(parent)
	return !gone, err
}
