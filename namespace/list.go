package namespace

import (
	"context"
	"errors"

	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/platform/kv"
	"hemera/rules/access"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Directories can have millions of names, so they are listed page by page. A page is one reading of the store and
// not of the cache: listing a large directory must not push everything else out of it. Entries and totals of
// directories are two tables, which are read one after the other; a directory that is removed in between shows as
// an entry without totals.

// attributesIn returns the attributes of an entry of a directory that who may see there: none if who cannot reach
// the entry.
func attributesIn(who hemera.Identity, dir, e *hemera.Entry) map[string][]byte {
	if !access.Decide(who, access.Of(*dir), access.Traverse).Allowed {
		return nil
	}
	return access.Attributes(who, e)
}

// listPage is the number of names that List reads at a time, which bounds its memory.
const listPage = 512

// List implements hemera.Names: it visits the names in byte order. The names of each page existed at one time (the
// totals of a directory among them may be newer). It blocks no change, and a page is given when it is durable. An
// error of visit ends it.
func (n Tree) List(ctx context.Context, who hemera.Identity, path string, visit func(hemera.Entry) error) error {
	var dir hemera.Entry
	err := n.view(ctx, func(t tx) error {
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

// Page implements hemera.Directories: one read of the store, without a turn among the changes. It returns the name
// to go on after, "" at the end. The caller vouches for the directory, which it got from an earlier page.
func (n Tree) Page(ctx context.Context, who hemera.Identity, r hemera.PageRequest) ([]hemera.Entry, string, error) {
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
	if r.After != "" { // begin behind this name: the smallest key after it
		lo = append(lo, 0)
	}
	page, err := n.page(ctx, r.Path, lo, hi, r.Limit)
	for i := range page.shown {
		page.shown[i].Xattrs = attributesIn(who, &r.Dir, &page.shown[i])
	}
	return page.shown, page.last, err
}

// entryPage is a part of a directory's entries.
type entryPage struct {
	shown []hemera.Entry // in the order of names
	next  []byte         // where the next page begins, nil after the last
	last  string         // name of the last that was looked at, "" with no next
}

// page reads up to limit entries of a range of the entry table, as they were at one time, and waits until they are
// durable. path is the directory's, for errors.
func (n Tree) page(ctx context.Context, path string, lo, hi []byte, limit int) (entryPage, error) {
	p, whole, err := readPage(ctx, n.records.Engine(), lo, hi, limit)
	if err == nil && !whole {
		p, err = n.pageOfSnapshot(ctx, lo, hi, limit)
	}
	if err != nil {
		return entryPage{}, errs.Wrap(err, "namespace.List", path)
	}
	return p, n.records.Settle(ctx)
}

// pageOfSnapshot reads a page again, of a snapshot: the first time one of its directories was removed between the
// two reads of the page. It is rare, and snapshots are not free.
func (n Tree) pageOfSnapshot(ctx context.Context, lo, hi []byte, limit int) (entryPage, error) {
	picture, err := n.records.Engine().Snapshot(ctx)
	if err != nil {
		return entryPage{}, err
	}
	p, whole, err := readPage(ctx, picture, lo, hi, limit)
	if err == nil && !whole {
		err = errs.New(errs.Corrupt, "namespace.List", "", "a directory has no totals").WithRemedy("run ns check")
	}
	return p, errors.Join(err, picture.Close())
}

// readPage reads entries, and then the totals of the directories among them. whole is false if one of those
// directories was removed in between.
func readPage(ctx context.Context, from kv.Reader, lo, hi []byte, limit int) (p entryPage, whole bool, err error) {
	var entries []*hemera.Entry
	var states [][]byte // keys of the totals of the directories among them, then the totals
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

// withStates gives directories their times and totals, which are in the order of the directories; it leaves out
// directories that have none.
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
		out = append(out, tables.WithDirectory(*e, s))
	}
	return out, nil
}
