package namespace

import (
	"context"
	"errors"
	gopath "path"
	"strconv"

	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/rules/access"
	"hemera/rules/recycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Bins lists, restores and purges what is in recycle bins. It implements adminapi.RecycleBin.
type Bins struct {
	engine  *engine
	changes *changes
	tree    *Tree
	past    *Past       // says when nothing may be purged
	spaces  *spaceRules // of removals
}

// All of it is on entries that Resolve finds by id as any others: only the directories above say that an entry is in a bin.
// Lists read the store page by page; restores and purges are changes like those of the tree.

// FollowSpaces has removals follow the rules of spaces in the newest of the views. A change reads it without waiting. It is called before
// the first change.
func (n *Bins) FollowSpaces(views *hemera.Views) { n.spaces.views.Store(views) }

// mayUse reports whether who may see an entry in a bin, restore it and purge it: its owner, and admins.
func mayUse(who hemera.Identity, e *hemera.Entry) bool { return who.Admin || who.UID == e.UID }

// notRecycled returns the error about an id that is in no bin, or in none that its user sees.
func notRecycled(op string, id hemera.FileID) error {
	return refuse(errs.NotFound, op, "fxid:"+id.Hex(), "nothing with this id is in a recycle bin").
		WithRemedy("`hemera recycle ls` lists what there is; it may have been restored or purged")
}

// binned returns the entry with the id and the directories above it, if it is in a bin and who may use it. NotFound.
func (t binTx) binned(op string, who hemera.Identity, id hemera.FileID) (found, adminapi.Recycled, error) {
	e, err := t.ByID(id)
	if err != nil {
		return found{}, adminapi.Recycled{}, err
	}
	// The same answer for what is not there and for what others own.
	if e == nil || e.ID == hemera.RootID || e.Parent == 0 || !mayUse(who, e) {
		return found{}, adminapi.Recycled{}, notRecycled(op, id)
	}
	parent, err := t.Parent(e)
	if err != nil {
		return found{}, adminapi.Recycled{}, err
	}
	dirs, _, err := t.Above(parent)
	if err != nil {
		return found{}, adminapi.Recycled{}, err
	}
	// Only what stands right below an owner's directory was removed: the directories above it are the system's.
	r, ok := recycled(dirs, e)
	if !ok || dirs[1].Name == trashName && op != expireOp {
		return found{}, r, notRecycled(op, id)
	}
	return found{dirs: dirs, name: e.Name, entry: e}, r, nil
}

// Restore implements adminapi.RecycleBin. NotFound, Exists, OverQuota, Denied.
func (n *Bins) Restore(ctx context.Context, who hemera.Identity, r adminapi.RestoreRequest) (path string, err error) {
	view := func(t tx) error {
		_, was, err := t.bins().binned("Restore", who, r.ID)
		if path = r.To; path == "" {
			path = was.Path
		}
		return err
	}
	if err := n.engine.view(ctx, view); err != nil {
		return "", err
	}
	// Directories are made by changes of their own, before anything moves: a restore that then fails leaves them.
	if r.Parents {
		if err := n.tree.makeParents(ctx, who, path, parentsMode); err != nil {
			return "", err
		}
	}
	return path, n.changes.run(ctx, func(t tx) error { return t.bins().restore(who, r.ID, path) })
}

// restore moves an entry from its bin to the path.
func (t binTx) restore(who hemera.Identity, id hemera.FileID, path string) error {
	f, was, err := t.binned("Restore", who, id)
	if err != nil {
		return err
	}
	// The walk asks for the rights to get there; a path into a bin is none.
	target, err := tx(t).walk("Restore", who, path)
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Kind == errs.NotFound {
		return e.WithRemedy("restore with -p, which makes the missing directories, or to another path with --to")
	}
	if err != nil {
		return err
	}
	if target.entry != nil {
		return refuse(errs.Exists, "Restore", path, "the name is taken").
			WithRemedy("rename what is there, or restore to another path with --to")
	}
	if err := permit("Restore", path, who, target.parent(), access.CreateIn); err != nil {
		return err
	}
	depth, err := t.Depth(f.entry)
	if err == nil {
		err = newName("Restore", path, target, f.entry.Kind, depth)
	}
	if err != nil {
		return err
	}
	t.Event(hemera.Event{Kind: hemera.EventRename, File: id, Path: tables.BinPath + pathBelow(f.dirs) + "/" + f.name, To: path, Who: who.Name})
	// A directory of versions comes with its files, any other is empty.
	// It goes without the attributes that said where it was.
	back := was.Entry
	f.entry = &back
	if back.IsDir() {
		moved, err := versionTx(t).moveTree("Restore", f, target)
		if err == nil && !moved {
			err = refuse(errs.Unsupported, "Restore", path, "what is in the directory would count in a quota node, and is too much to be counted here").
				WithRemedy("restore it outside of quota nodes with --to")
		}
		return err
	}
	versions, err := t.versionsOf(was)
	if err == nil {
		err = tx(t).moveBy("Restore", f, target, 0)
	}
	if err != nil || versions.entry == nil {
		return err
	}
	return versionTx(t).follow(versions.entry, versions.dirs, target)
}

// versionsOf returns the directory of a file's versions that went to a bin with it; no entry if there is none.
func (t binTx) versionsOf(file adminapi.Recycled) (found, error) {
	// It must have been beside the file: a link that a user set finds nothing here.
	id, err := strconv.ParseUint(string(file.Entry.Xattrs[attrVersions]), 16, 64)
	if err != nil {
		return found{}, nil // it has no versions
	}
	f, was, err := t.binned("Restore", hemera.SystemIdentity(), hemera.FileID(id))
	name, _ := recycle.VersionDir(gopath.Base(file.Path))
	switch {
	case errors.Is(err, errs.NotFound):
		return found{}, nil
	case err != nil:
		return found{}, err
	case !was.Entry.IsDir() || was.Path != gopath.Join(gopath.Dir(file.Path), name):
		return found{}, nil
	}
	f.entry = &was.Entry
	return f, nil
}

// Purge implements adminapi.RecycleBin. A directory with versions goes with all that is in it, file by file. NotFound.
func (n *Bins) Purge(ctx context.Context, who hemera.Identity, id hemera.FileID) error {
	var e *hemera.Entry
	err := n.engine.view(ctx, func(t tx) error {
		f, _, err := t.bins().binned("Purge", who, id)
		e = f.entry
		return err
	})
	if err != nil {
		return err
	}
	// First what is in it, in as many changes as that takes. An interrupted purge is repeated, or its time comes.
	if e.IsDir() {
		if _, err := n.purgeBelow(ctx, id, who.Name); err != nil {
			return err
		}
	}
	return n.engine.update(ctx, func(t tx) error {
		f, _, err := t.bins().binned("Purge", who, id)
		if err != nil {
			return err
		}
		return t.bins().purge(f, who.Name)
	})
}

// purge removes an entry of a bin for good.
func (t binTx) purge(f found, who string) error {
	path := tables.BinPath + pathBelow(f.dirs) + "/" + f.name
	t.Event(hemera.Event{Kind: hemera.EventRemove, File: f.entry.ID, Path: path, Who: who, Bytes: f.entry.Size})
	return tx(t).unlink("Purge", path, f)
}

// ListRecycled implements adminapi.RecycleBin: bin after bin, of each bin owner after owner, oldest first. It reads page by
// page, and blocks no change.
func (n *Bins) ListRecycled(ctx context.Context, who hemera.Identity, q adminapi.RecycleQuery, visit func(adminapi.Recycled) error) error {
	// Whatever a user asks for, it is about what the user owns.
	if !who.Admin {
		q.User, q.All = who.UID, false
	}
	return n.eachBin(ctx, func(top, bin *hemera.Entry) error {
		if bin.Name == trashName {
			return nil
		}
		return n.eachOwner(ctx, bin, q, func(owner *hemera.Entry) error {
			return eachEntry(ctx, n.engine.records, owner.ID, func(e *hemera.Entry) error {
				r, ok := recycled([]*hemera.Entry{top, bin, owner}, e)
				if !ok || !q.Matches(r) {
					return nil
				}
				return visit(r)
			})
		})
	})
}

// eachBin visits the bins that exist, with the directory of all bins. A bin's rule and the path of its directory are as
// they are now.
func (n *Bins) eachBin(ctx context.Context, visit func(top, bin *hemera.Entry) error) error {
	var top *hemera.Entry
	err := n.engine.view(ctx, func(t tx) (err error) {
		top, err = t.Entry(0, schema.BinName)
		return err
	})
	if err != nil || top == nil { // nothing was ever recycled
		return err
	}
	return eachEntry(ctx, n.engine.records, top.ID, func(bin *hemera.Entry) error {
		err := n.engine.view(ctx, func(t tx) (err error) {
			bin, err = t.bins().current(bin)
			return err
		})
		if err != nil {
			return err
		}
		return visit(top, bin)
	})
}

// current returns a bin with the rule in force and the path of its directory. If the rule is gone, or the directory, the
// last one stays.
func (t binTx) current(bin *hemera.Entry) (*hemera.Entry, error) {
	set := map[string][]byte{}
	if space := bin.Xattrs[attrBinSpace]; space != nil {
		set[recycle.Attr] = []byte(t.memory.spaces.rule(hemera.SpaceName(space)))
	} else if id, ok := directoryOf(bin.Name); ok {
		dir, err := t.ByID(id)
		if err != nil {
			return nil, err
		}
		if dir != nil && dir.IsDir() {
			dirs, path, err := t.Above(dir)
			if err != nil {
				return nil, err
			}
			// A directory that is in a bin itself has no rule any more.
			if dirs[0].ID == hemera.RootID {
				set[recycle.Attr], set[attrRecycledPath] = dir.Xattrs[recycle.Attr], []byte(max(path, "/"))
			}
		}
	}
	// A rule that was switched off or removed: what is kept goes on under the last one, instead of for ever.
	if rule, err := recycle.Parse(string(set[recycle.Attr])); err != nil || !rule.On() {
		delete(set, recycle.Attr)
	}
	now := *bin
	now.Xattrs = mergeXattrs(bin.Xattrs, set)
	return &now, nil
}

// eachOwner visits the directories of a bin's owners, or of the one that is asked for.
func (n *Bins) eachOwner(ctx context.Context, bin *hemera.Entry, q adminapi.RecycleQuery, visit func(owner *hemera.Entry) error) error {
	if q.All {
		return eachEntry(ctx, n.engine.records, bin.ID, visit)
	}
	var owner *hemera.Entry
	err := n.engine.view(ctx, func(t tx) (err error) {
		owner, err = t.Entry(bin.ID, ownerName(q.User))
		return err
	})
	if err != nil || owner == nil {
		return err
	}
	return visit(owner)
}

// ListBins implements adminapi.RecycleBin: what is in each bin. Denied unless who is an admin.
func (n *Bins) ListBins(ctx context.Context, who hemera.Identity) (list []adminapi.Bin, err error) {
	if !who.Admin {
		return nil, refuse(errs.Denied, "ListBins", "", "only admins see all bins").WithRemedy("`hemera recycle ls` lists your own files")
	}
	err = n.eachBin(ctx, func(_, bin *hemera.Entry) error {
		if bin.Name == trashName {
			return nil
		}
		b := adminapi.Bin{Of: binLabel(bin), Tree: bin.Tree, Rule: string(bin.Xattrs[recycle.Attr])}
		err := n.eachOwner(ctx, bin, adminapi.RecycleQuery{All: true}, func(owner *hemera.Entry) error {
			b.Tree.Dirs-- // the owner's directory is not one that was removed
			first, err := n.oldest(ctx, owner.ID, "", 1)
			if err == nil && len(first) > 0 { // it outlives what was in it
				b.Owners++
				if at := binnedAt(first[0].Name); b.Oldest.IsZero() || at.Before(b.Oldest) {
					b.Oldest = at
				}
			}
			return err
		})
		list = append(list, b)
		return err
	})
	return list, err
}

// oldest returns up to limit entries of an owner in a bin, oldest first, behind the name.
func (n *Bins) oldest(ctx context.Context, owner hemera.FileID, after string, limit int) ([]hemera.Entry, error) {
	lo := schema.EntryKey(owner, after)
	if after != "" {
		lo = append(lo, 0)
	}
	page, err := readEntries(ctx, n.engine.records, tables.BinPath, lo, schema.PrefixEnd(schema.EntryKey(owner, "")), limit)
	return page.shown, err
}

// purgeBelow removes all that is in a directory of a bin for good, and returns the number of entries. Nobody can add to
// it meanwhile. It can be cut off anywhere, and called again.
func (n *Bins) purgeBelow(ctx context.Context, dir hemera.FileID, who string) (purged int, err error) {
	for {
		// Always from the beginning: what was read before is gone.
		page, err := n.oldest(ctx, dir, "", expireAtOnce)
		if err != nil || len(page) == 0 {
			return purged, err
		}
		for i := range page {
			if page[i].IsDir() {
				below, err := n.purgeBelow(ctx, page[i].ID, who)
				if purged += below; err != nil {
					return purged, err
				}
			}
		}
		if err := n.engine.update(ctx, func(t tx) error { return t.bins().purgeAll(dir, page, who) }); err != nil {
			return purged, err
		}
		purged += len(page)
	}
}

// purgeAll removes entries of a directory of a bin. None of it is done if the directory was restored meanwhile: Conflict.
func (t binTx) purgeAll(id hemera.FileID, page []hemera.Entry, who string) error {
	dir, err := t.ByID(id)
	if err != nil {
		return err
	}
	gone := dir == nil
	var dirs []*hemera.Entry
	if !gone {
		if dirs, _, err = t.Above(dir); err != nil {
			return err
		}
		gone = dirs[0].ID == hemera.RootID
	}
	if gone {
		return refuse(errs.Conflict, "Purge", "fxid:"+id.Hex(), "the directory was restored or purged meanwhile")
	}
	// As the entries are now: a drain may have moved pieces since the page was read.
	for i := range page {
		e, err := t.Entry(id, page[i].Name)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if err := t.purge(found{dirs: dirs, name: e.Name, entry: e}, who); err != nil {
			return err
		}
	}
	return nil
}

// RestoreVersion implements adminapi.RecycleBin: the content now becomes a version, and the version takes its place. The name
// keeps its mode and attributes, but for those of tapes, which are of the content.
func (n *Bins) RestoreVersion(ctx context.Context, who hemera.Identity, path, version string) error {
	return n.changes.run(ctx, func(t tx) error {
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

// Erase implements adminapi.RecycleBin: it is Remove for good. Denied unless who is an admin.
func (n *Bins) Erase(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind) error {
	if !who.Admin {
		return refuse(errs.Denied, "Erase", path, "only admins remove past the recycle bin").
			WithRemedy("remove it, and then purge it: `hemera recycle purge`")
	}
	return n.tree.remove(ctx, who, path, kind, tx.erase)
}
