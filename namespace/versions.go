package namespace

import (
	"cmp"
	"context"
	"slices"

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

// trimVersions removes the oldest versions beyond what is kept, for good. A crash before it leaves one too many, until
// the next content is replaced.
func trimVersions(ctx context.Context, n *engine, w trim) error {
	var all []hemera.Entry
	err := eachEntry(ctx, n.records, w.dir, func(e *hemera.Entry) error {
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
