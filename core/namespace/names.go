package namespace

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
	"hemera/platform/kv"
	"hemera/rules/access"
	"hemera/rules/policy"
)

// Stat implements hemera.Names.
func (n *Namespace) Stat(ctx context.Context, who hemera.Identity, path string) (out hemera.Entry, err error) {
	err = n.view(ctx, func(t *tx) error {
		f, err := t.existing("Stat", who, path)
		if err == nil {
			out, err = t.full(f.entry)
		}
		return err
	})
	out.Xattrs = access.Attributes(who, &out)
	return out, err
}

// attributesIn are those of an entry of a directory that who may see there: none, of entries that he cannot reach.
func attributesIn(who hemera.Identity, dir, e *hemera.Entry) map[string][]byte {
	if !access.Decide(who, access.Of(*dir), access.Traverse).Allowed {
		return nil
	}
	return access.Attributes(who, e)
}

// listPage is how many names List reads at a time, which bounds its memory.
const listPage = 512

// List implements hemera.Names. The names of each page were there at one time (the totals of a
// directory among them may be newer); it holds up nobody, and a page is given when it is durable.
func (n *Namespace) List(ctx context.Context, who hemera.Identity, path string, visit func(hemera.Entry) error) error {
	var dir hemera.Entry
	err := n.view(ctx, func(t *tx) error {
		f, err := t.existing("List", who, path)
		if err != nil {
			return err
		}
		if !f.entry.IsDir() {
			return refuse(errs.NotDirectory, "List", path, "it is a file")
		}
		dir = *f.entry
		return permit("List", path, who, f.entry, access.List)
	})
	if err != nil {
		return err
	}
	lo, hi := schema.EntryKey(dir.ID, ""), schema.PrefixEnd(schema.EntryKey(dir.ID, ""))
	for {
		page, err := n.page(ctx, path, lo, hi, listPage)
		if err != nil {
			return err
		}
		for _, e := range page.shown {
			e.Xattrs = attributesIn(who, &dir, &e)
			if err := visit(e); err != nil {
				return err
			}
		}
		if page.next == nil {
			return nil
		}
		lo = page.next
	}
}

// Page implements hemera.Directories: one read of the store, without a turn among the changes.
func (n *Namespace) Page(ctx context.Context, who hemera.Identity, r hemera.PageRequest) ([]hemera.Entry, string, error) {
	if !r.Dir.IsDir() {
		return nil, "", refuse(errs.NotDirectory, "List", r.Path, "it is a file")
	}
	if r.Above.ID != 0 {
		if err := permit("List", r.Path, who, &r.Above, access.Traverse); err != nil {
			return nil, "", err
		}
	}
	if err := permit("List", r.Path, who, &r.Dir, access.List); err != nil {
		return nil, "", err
	}
	lo, hi := schema.EntryKey(r.Dir.ID, r.After), schema.PrefixEnd(schema.EntryKey(r.Dir.ID, ""))
	if r.After != "" {
		lo = append(lo, 0)
	}
	page, err := n.page(ctx, r.Path, lo, hi, r.Limit)
	for i := range page.shown {
		page.shown[i].Xattrs = attributesIn(who, &r.Dir, &page.shown[i])
	}
	return page.shown, page.last, err
}

type entryPage struct {
	shown []hemera.Entry
	next  []byte // where the next page begins, nil after the last
	last  string // name of the last that was looked at, "" with no next
}

// page reads up to limit entries of a range of the entry table, as they were at one time. path is whose
// they are, for errors.
func (n *Namespace) page(ctx context.Context, path string, lo, hi []byte, limit int) (entryPage, error) {
	p, whole, err := readPage(ctx, n.store, lo, hi, limit)
	if err == nil && !whole {
		p, err = n.pageOfSnapshot(ctx, lo, hi, limit)
	}
	if err != nil {
		return entryPage{}, errs.Wrap(err, "namespace.List", path)
	}
	return p, n.outside(ctx)
}

// pageOfSnapshot is for the rare page of which a directory was removed while it was read: what was
// made since is not to be in it either.
func (n *Namespace) pageOfSnapshot(ctx context.Context, lo, hi []byte, limit int) (entryPage, error) {
	picture, err := n.store.Snapshot(ctx)
	if err != nil {
		return entryPage{}, err
	}
	p, whole, err := readPage(ctx, picture, lo, hi, limit)
	if err == nil && !whole {
		err = errs.New(errs.Corrupt, "namespace.List", "", "a directory has no totals").WithRemedy("run ns check")
	}
	return p, errors.Join(err, picture.Close())
}

// readPage reads entries, and then the states of the directories among them: whole says that no
// directory was removed in between.
func readPage(ctx context.Context, from kv.Reader, lo, hi []byte, limit int) (p entryPage, whole bool, err error) {
	var entries []*hemera.Entry
	var states [][]byte
	var bad error
	err = from.Scan(ctx, lo, hi, func(k, raw []byte) bool {
		if len(entries) == limit {
			p.next, p.last = append([]byte(nil), k...), entries[limit-1].Name
			return false
		}
		e, err := schema.DecodeEntry(k, raw)
		if err != nil {
			bad = schema.Damaged(k, err)
			return false
		}
		entries = append(entries, e)
		if e.IsDir() {
			states = append(states, schema.IDKey(schema.TableDirectory, e.ID))
		}
		return true
	})
	if err == nil {
		err = bad
	}
	if err == nil && len(states) > 0 {
		states, err = from.GetMany(ctx, states)
	}
	if err != nil {
		return p, false, err
	}
	p.shown, err = withStates(entries, states)
	return p, len(p.shown) == len(entries), err
}

// withStates gives directories their states, which are in the order of directories; it leaves out
// those without.
func withStates(entries []*hemera.Entry, states [][]byte) ([]hemera.Entry, error) {
	out := make([]hemera.Entry, 0, len(entries))
	for _, e := range entries {
		if !e.IsDir() {
			out = append(out, *e)
			continue
		}
		raw := states[0]
		states = states[1:]
		if raw == nil {
			continue
		}
		s, err := schema.DecodeDirectory(nil, raw)
		if err != nil {
			return nil, schema.Damaged(schema.IDKey(schema.TableDirectory, e.ID), err)
		}
		out = append(out, withState(*e, s))
	}
	return out, nil
}

// Mkdir implements hemera.Names.
func (n *Namespace) Mkdir(ctx context.Context, who hemera.Identity, path string, mode uint32, parents bool) (out hemera.Entry, err error) {
	if err := checkMode("Mkdir", path, mode); err != nil {
		return out, err
	}
	// What is there already is said without a turn among the changes.
	done := false
	seq, err := n.look(ctx, func(t *tx) error {
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
		return out, cmp.Or(n.settled(ctx, seq), err)
	}
	id, err := n.takeID(ctx)
	if err != nil {
		return out, err
	}
	n.cache.begun(id)
	err = n.update(ctx, func(t *tx) error {
		f, err := t.walk("Mkdir", who, path)
		switch {
		case err != nil:
		case f.entry == nil:
			out, err = t.mkdir(who, path, f, id, mode)
		default:
			out, err = t.taken(path, f, parents)
		}
		return err
	})
	return out, err
}

// taken is the answer to a mkdir of what is there.
func (t *tx) taken(path string, f found, parents bool) (hemera.Entry, error) {
	if !f.entry.IsDir() || !parents {
		return hemera.Entry{}, refuse(errs.Exists, "Mkdir", path, "the name is taken")
	}
	return t.full(f.entry)
}

// makeParents makes what is missing above the path's last name, one batch each: a batch has room for
// one chain of directories, not for its square.
func (n *Namespace) makeParents(ctx context.Context, who hemera.Identity, path string, mode uint32) error {
	names, err := split("Mkdir", path)
	if err != nil {
		return err
	}
	for {
		missing := 0
		err := n.view(ctx, func(t *tx) error {
			_, left, err := t.follow("Mkdir", who, path, names)
			missing = len(left) - 1
			return err
		})
		if err != nil || missing <= 0 {
			return err
		}
		next := pathOf(names[:len(names)-missing])
		id, err := n.takeID(ctx)
		if err != nil {
			return err
		}
		n.cache.begun(id)
		err = n.update(ctx, func(t *tx) error {
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

func pathOf(names []string) string {
	path := ""
	for _, name := range names {
		path += "/" + name
	}
	return path
}

// mkdir makes the directory that f did not find.
func (t *tx) mkdir(who hemera.Identity, path string, f found, id uint64, mode uint32) (hemera.Entry, error) {
	if err := permit("Mkdir", path, who, f.parent(), access.CreateIn); err != nil {
		return hemera.Entry{}, err
	}
	if err := newName("Mkdir", path, f, 0); err != nil {
		return hemera.Entry{}, err
	}
	mode, err := modeOf(f.dirs, mode, true)
	if err != nil {
		return hemera.Entry{}, errs.Wrap(err, "namespace.Mkdir", path)
	}
	e := &hemera.Entry{ID: hemera.FileID(id), Parent: f.parent().ID, Name: f.name, Kind: hemera.KindDirectory,
		Mode: mode, UID: who.UID, GID: who.GID, Mtime: t.now, Ctime: t.now, Birth: t.now}
	t.putEntry(e)
	t.putPlace(e.ID, schema.LocationOf(e))
	t.putState(e.ID, schema.Directory{Mtime: t.now, Ctime: t.now})
	t.event(hemera.Event{Kind: hemera.EventMkdir, File: e.ID, Path: path, Who: who.Name})
	return *e, cmp.Or(t.relist(f.dirs, hemera.TreeTotals{Dirs: 1}), t.deepen(f.dirs, 0))
}

// modeOf is the mode of a new entry below the directories, by their policy. Modes with bits beyond permissions come
// from admins' tools, and are taken as they are.
func modeOf(dirs []*hemera.Entry, wished uint32, directory bool) (uint32, error) {
	if wished != hemera.ModeUnset && wished&^0o777 != 0 {
		return wished, nil
	}
	return policy.Mode(forcedMode(dirs), wished, wished != hemera.ModeUnset, dirs[len(dirs)-1].Mode, directory)
}

// forcedMode is what the nearest directory says that has the attribute: nothing is made for the many without.
func forcedMode(dirs []*hemera.Entry) map[string][]byte {
	for _, dir := range slices.Backward(dirs) {
		if value := dir.Xattrs[policy.AttrMode]; value != nil {
			return map[string][]byte{policy.AttrMode: value}
		}
	}
	return nil
}

func checkMode(op, path string, mode uint32) error {
	if mode != hemera.ModeUnset && mode&^0o7777 != 0 {
		return refuse(errs.Invalid, op, path, "mode %o has bits beyond 07777", mode)
	}
	return nil
}
