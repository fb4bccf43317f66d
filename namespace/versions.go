package namespace

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"hemera/namespace/accounts"
	"hemera/rules/access"
	"hemera/rules/policy"
	"hemera/rules/recycle"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Where versioning is on, a file whose content is replaced moves, with its id and pieces, to a directory beside it:
//
//	/exp/data.root                                  the content now
//	/exp/.sys.v#.data.root/1700000000.0000fe21      one before: when it was modified, and its id
//
// Names are EOS's. Versions are ordinary entries of the tree: they are listed, read, counted and charged as such. The file
// says in an attribute, by id, that it has such a directory; so no other file's change looks for one. The directory follows
// its file: renamed with it, to the bin with it and back, and away with it.

// attrVersions is the attribute of a file with the id of the directory of its versions, in hexadecimal.
const attrVersions = "sys.versions"

// versionTx is the versions of files within one transaction.
//
// Whether a content is kept is decided twice: at the open, which gives the new content an id of its own, and at the commit, by
// what holds then. A write that was opened before versioning was switched on changes the file in place.
type versionTx tx

// versionsKept returns the number of versions to keep of a file in the last of dirs: the nearest sys.versioning that holds
// for files of its owner decides, then user.versioning of the directory. It is 0 for what is a version itself, or whose directory of versions could not
// be named or reached.
func versionsKept(dirs []*hemera.Entry, e *hemera.Entry) int {
	parent := dirs[len(dirs)-1]
	if e.IsDir() || len(dirs) >= hemera.DepthMax {
		return 0
	}
	// Versions have no versions, or a restore of one would bury it among its own.
	if _, ok := recycle.FileOfVersions(parent.Name); ok {
		return 0
	}
	if _, ok := recycle.VersionDir(e.Name); !ok {
		return 0
	}
	// A value of 0 counts: it switches versions off below a directory that keeps them.
	s, ok := policy.Nearest(dirs, e.UID, recycle.AttrVersions)
	if !ok {
		s, _ = policy.Nearest(dirs[len(dirs)-1:], e.UID, recycle.UserVersions)
	}
	n, err := recycle.ParseVersions(string(s.Value))
	if err != nil { // also where there is no attribute
		return 0
	}
	return n
}

// replaced takes the found file away because another takes its name: it becomes a version, or goes to a bin, or for good.
// It returns the attributes that the name keeps: that there are versions. who is the user that replaces it.
func (t versionTx) replaced(op, path, who string, f found) (map[string][]byte, error) {
	n := versionsKept(f.dirs, f.entry)
	if n == 0 || f.dirs[0].ID != hemera.RootID {
		return t.replacedOnly(op, path, who, f)
	}
	name, _ := recycle.VersionDir(f.name)
	dir, err := t.Entry(f.parent().ID, name)
	switch {
	case err != nil:
		return nil, err
	// It belongs to the file's owner, and is as open as the directory that it is in.
	case dir == nil:
		return nil, &missingDir{parent: f.parent().ID, name: name, mode: f.parent().Mode, uid: f.entry.UID, gid: f.entry.GID}
	case !dir.IsDir(): // a user's file has the name
		return t.replacedOnly(op, path, who, f)
	}
	to, err := t.become(f, dir)
	if err != nil {
		return nil, err
	}
	t.Event(hemera.Event{Kind: hemera.EventRename, File: f.entry.ID, Path: path, To: pathBelow(f.dirs) + "/" + dir.Name + "/" + to, Who: who})
	// Names cannot be listed here, so what is too many goes after the change.
	t.work.trims = append(t.work.trims, trim{dir.ID, n})
	return map[string][]byte{attrVersions: []byte(dir.ID.Hex())}, nil
}

// replacedOnly takes away the content alone: versions that there are stay with the name.
func (t versionTx) replacedOnly(op, path, who string, f found) (map[string][]byte, error) {
	var kept map[string][]byte
	if id := f.entry.Xattrs[attrVersions]; id != nil {
		kept = map[string][]byte{attrVersions: id}
		f.entry = withoutVersions(f.entry)
	}
	return kept, tx(t).retire(op, path, who, f)
}

// become moves a file into a directory of versions, and returns its name there. A user may have given that name to
// something else, which then gives way like any other entry.
func (t versionTx) become(f found, dir *hemera.Entry) (string, error) {
	name, dirs := recycle.VersionName(f.entry.Mtime, f.entry.ID), append(slices.Clip(f.dirs), dir)
	other, err := t.Entry(dir.ID, name)
	if err == nil && other != nil {
		err = tx(t).retire("Version", pathBelow(dirs)+"/"+name, "", found{dirs: dirs, name: name, entry: other})
	}
	if err != nil {
		return "", err
	}
	f.entry = withoutVersions(f.entry)
	return name, tx(t).move(f, found{dirs: dirs, name: name}, 0)
}

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

// ledger is the quota accounts in the same transaction.
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

// missingNames is the error of a change that needs the names in a directory as they are now.
type missingNames struct{ dir hemera.FileID }

// Error implements error. No caller sees it.
func (m *missingNames) Error() string { return "the names in fid:" + m.dir.String() + " are needed" }

// trim is a directory of versions that may have too many after a change.
type trim struct {
	dir  hemera.FileID
	kept int // how many may stay
}

// changeWork is what a change needs beside its transaction, and what it leaves to be done.
type changeWork struct {
	listed map[hemera.FileID][]string // names in directories
	trims  []trim
	judge  accounts.Judge
	settle accounts.Claims // of a commit; nil for other changes
	// unclaimed: the commit is of a conversion, which claimed nothing before.
	unclaimed bool
	release   func() // ends what the change holds; nil if it holds nothing
}

// claimsOf is what the change has to leave to writes under way, and what has opens count the change meanwhile.
func (w *changeWork) claimsOf(n *base) (claims accounts.Claims, hold accounts.Hold) {
	if of := n.claims.Load(); of != nil {
		claims, hold = of.claims, of.hold
	}
	if w.settle != nil {
		claims = w.settle
		// The claim of a write counts already.
		if !w.unclaimed {
			hold = nil
		}
	}
	return claims, hold
}

// unhold ends what the change holds, if it holds anything.
func (w *changeWork) unhold() {
	if w.release != nil {
		w.release()
		w.release = nil
	}
}

// trimVersions removes the oldest versions beyond what is kept, for good. A crash before it leaves one too many, until
// the next content is replaced.
func trimVersions(ctx context.Context, n *base, w trim) error {
	var all []hemera.Entry
	err := (Bins{n}).eachEntry(ctx, w.dir, func(e *hemera.Entry) error {
		// What a user put there is not counted, and not removed.
		if _, id, ok := recycle.VersionOf(e.Name); ok && !e.IsDir() && id == e.ID {
			all = append(all, *e)
		}
		return nil
	})
	if err != nil || len(all) <= w.kept {
		return err
	}
	// By the age of the content, as its name says, and not by when it was replaced: a restored version is as old as it was.
	slices.SortFunc(all, func(a, b hemera.Entry) int { return cmp.Or(a.Mtime.Compare(b.Mtime), cmp.Compare(a.ID, b.ID)) })
	for _, e := range all[:len(all)-w.kept] {
		err := n.update(ctx, func(t tx) error {
			now, err := t.ByID(e.ID)
			if err != nil || now == nil || now.Parent != w.dir {
				return err // it was removed or restored meanwhile
			}
			dir, err := t.ByID(w.dir)
			if err != nil {
				return err
			}
			dirs, path, err := t.Above(dir)
			if err != nil {
				return err
			}
			t.Event(hemera.Event{Kind: hemera.EventRemove, File: e.ID, Path: path + "/" + now.Name, Bytes: now.Size})
			return t.unlink("Trim", path+"/"+now.Name, found{dirs: dirs, name: now.Name, entry: now})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RestoreVersion implements hemera.RecycleBin: the content now becomes a version, and the version takes its place. The name
// keeps its mode and attributes, but for those of tapes, which are of the content.
func (n Bins) RestoreVersion(ctx context.Context, who hemera.Identity, path, version string) error {
	return updateMaking(ctx, n.base, func(t tx) error {
		f, err := t.existing("RestoreVersion", who, path)
		if err != nil {
			return err
		}
		if f.entry.IsDir() {
			return refuse(errs.IsDirectory, "RestoreVersion", path, "it is a directory")
		}
		if err := permit("RestoreVersion", path, who, f.entry, access.Write); err != nil {
			return err
		}
		return versionTx(t).restore(who, path, f, version)
	})
}

// restore puts a version in the place of the found file.
func (t versionTx) restore(who hemera.Identity, path string, f found, version string) error {
	unknown := refuse(errs.NotFound, "RestoreVersion", path, "it has no version %s", version).
		WithRemedy("`hemera file versions " + path + "` lists them")
	name, ok := recycle.VersionDir(f.name)
	if !ok || checkName("RestoreVersion", path, version) != nil {
		return unknown
	}
	dir, err := t.Entry(f.parent().ID, name)
	if err != nil {
		return err
	}
	if dir == nil || !dir.IsDir() {
		return unknown
	}
	old, err := t.Entry(dir.ID, version)
	if err != nil {
		return err
	}
	if old == nil || old.IsDir() {
		return unknown
	}
	if err := permit("RestoreVersion", path, who, old, access.Read); err != nil {
		return err
	}
	// Two moves within one directory's tree: no totals above change, and no account.
	now := *f.entry
	if _, err := t.become(f, dir); err != nil {
		return err
	}
	// The mode of now counts: what was closed since must not be opened by an old content.
	back := *old
	back.Mode, back.Xattrs = now.Mode, mergeXattrs(catalogue.Attributes(now.Xattrs, old), map[string][]byte{attrVersions: []byte(dir.ID.Hex())})
	from := append(slices.Clip(f.dirs), dir)
	t.Event(hemera.Event{Kind: hemera.EventRename, File: old.ID, Path: pathBelow(from) + "/" + version, To: path, Who: who.Name})
	return tx(t).move(found{dirs: from, name: version, entry: &back}, found{dirs: f.dirs, name: f.name}, 0)
}
