package namespace

import (
	"cmp"
	"context"
	"errors"

	"hemera/namespace/schema"
	"hemera/rules/access"
	"hemera/rules/policy"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Names are made and looked up here; list.go lists them, remove.go removes and renames them. Modes of new entries
// follow the policy of the directory (package policy), rights the rules of package access.

// Tree is the tree of entries: names, directories and attributes. It implements hemera.Names, hemera.Directories and
// hemera.Attributes.
type Tree struct {
	engine  *engine
	changes *changes
}

// Stat implements hemera.Names: the entry at the path, with those attributes that who may see. It needs the right
// to traverse, not to read. NotFound, NotDirectory, Denied.
func (n *Tree) Stat(ctx context.Context, who hemera.Identity, path string) (out hemera.Entry, err error) {
	err = n.engine.view(ctx, func(t tx) error {
		f, err := t.existing("Stat", who, path)
		if err == nil {
			out, err = t.Full(f.entry)
		}
		return err
	})
	out.Xattrs = access.Attributes(who, &out) // what who may not read is left out for every door
	return out, err
}

// Mkdir implements hemera.Names. With parents, missing directories above are made as well, and an existing
// directory is no error. If the path exists, the answer needs no turn among the changes: clients that make the
// same tree again get it from the cache.
func (n *Tree) Mkdir(ctx context.Context, who hemera.Identity, path string, mode uint32, parents bool) (out hemera.Entry, err error) {
	if err := checkMode("Mkdir", path, mode); err != nil {
		return out, err
	}
	// What exists already is answered without a turn among the changes.
	done := false
	seq, err := n.engine.look(ctx, func(t tx) error {
		f, err := t.walk("Mkdir", who, path)
		if done = err == nil && f.entry != nil; done {
			out, err = t.taken(path, f, parents)
		}
		return err
	})
	if parents && errors.Is(err, errs.NotFound) {
		err = n.makeParents(ctx, who, path, mode)
	}
	if err != nil || done {
		return out, cmp.Or(n.engine.records.SettleSeq(ctx, seq), err)
	}
	id, err := n.engine.numbers.Take(ctx)
	if err != nil {
		return out, err
	}
	// Nothing can be below an id that nobody has. It does no harm if the mkdir fails.
	n.engine.records.MarkComplete(schema.EntryKey(hemera.FileID(id), ""))
	err = n.engine.update(ctx, func(t tx) error {
		f, err := t.walk("Mkdir", who, path)
		switch {
		case err != nil:
		case f.entry == nil:
			out, err = t.mkdir(who, path, f, id, mode)
		default: // made by another client since the look
			out, err = t.taken(path, f, parents)
		}
		return err
	})
	return out, err
}

// taken returns the answer to a mkdir of what is there.
func (t tx) taken(path string, f found, parents bool) (hemera.Entry, error) {
	if !f.entry.IsDir() || !parents {
		return hemera.Entry{}, refuse(errs.Exists, "Mkdir", path, "the name is taken")
	}
	return t.Full(f.entry)
}

// makeParents makes what is missing above the path's last name, one batch for each directory: a batch has room for
// one chain of directories, not for its square. Other clients may make the same ones meanwhile.
func (n *Tree) makeParents(ctx context.Context, who hemera.Identity, path string, mode uint32) error {
	names, err := split("Mkdir", path)
	if err != nil {
		return err
	}
	// Each turn makes the highest directory that is missing. Another client may be faster, which is as good.
	for {
		missing := 0
		err := n.engine.view(ctx, func(t tx) error {
			_, left, err := t.follow("Mkdir", who, path, names)
			missing = len(left) - 1
			return err
		})
		if err != nil || missing <= 0 {
			return err
		}
		next := pathOf(names[:len(names)-missing])
		id, err := n.engine.numbers.Take(ctx)
		if err != nil {
			return err
		}
		n.engine.records.MarkComplete(schema.EntryKey(hemera.FileID(id), ""))
		err = n.engine.update(ctx, func(t tx) error {
			f, err := t.walk("Mkdir", who, next)
			if err == nil && f.entry == nil {
				_, err = t.mkdir(who, next, f, id, mode)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
}

// pathOf joins names to an absolute path.
func pathOf(names []string) string {
	path := ""
	for _, name := range names {
		path += "/" + name
	}
	return path
}

// mkdir makes the directory that f did not find: its entry, its location, its empty totals, and what changes
// above.
func (t tx) mkdir(who hemera.Identity, path string, f found, id uint64, mode uint32) (hemera.Entry, error) {
	if err := permit("Mkdir", path, who, f.parent(), access.CreateIn); err != nil {
		return hemera.Entry{}, err
	}
	if err := newName("Mkdir", path, f, hemera.KindDirectory, 0); err != nil {
		return hemera.Entry{}, err
	}
	mode, err := modeOf(f.dirs, who.UID, mode, true)
	if err != nil {
		return hemera.Entry{}, errs.Wrap(err, "namespace.Mkdir", path)
	}
	e := &hemera.Entry{ID: hemera.FileID(id), Parent: f.parent().ID, Name: f.name, Kind: hemera.KindDirectory,
		Mode: mode, UID: who.UID, GID: who.GID, Mtime: t.Now(), Ctime: t.Now(), Birth: t.Now()}
	t.PutEntry(e)
	t.PutLocation(e)
	t.PutDirectory(e.ID, schema.Directory{Mtime: t.Now(), Ctime: t.Now()})
	t.Event(hemera.Event{Kind: hemera.EventMkdir, File: e.ID, Path: path, Who: who.Name})
	return *e, cmp.Or(t.Relist(f.dirs, hemera.TreeTotals{Dirs: 1}), t.Deepen(f.dirs, 0))
}

// modeOf returns the mode of a new entry of an owner below the directories, by their policy. Modes with bits beyond
// permissions come from the tools of admins, and are taken as they are.
func modeOf(dirs []*hemera.Entry, owner, wished uint32, directory bool) (uint32, error) {
	if wished != hemera.ModeUnset && wished&^0o777 != 0 {
		return wished, nil
	}
	return policy.Mode(forcedMode(dirs, owner), wished, wished != hemera.ModeUnset, dirs[len(dirs)-1].Mode, directory)
}

// forcedMode returns the nearest mode attribute that holds for entries of the owner. Most trees have none, and no map is
// made for them.
func forcedMode(dirs []*hemera.Entry, owner uint32) map[string][]byte {
	for s := range policy.Holding(dirs, owner, policy.AttrMode) {
		return map[string][]byte{policy.AttrMode: s.Value}
	}
	return nil
}
