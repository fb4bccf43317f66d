package namespace

import (
	"context"

	"hemera/namespace/schema"
	"hemera/rules/access"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// attributesIn returns the attributes of an entry of a directory that who may see there: none if who cannot reach
// the entry.
func attributesIn(who hemera.Identity, dir, e *hemera.Entry) map[string][]byte {
	if !access.Decide(who, access.Of(*dir), access.Traverse).Allowed {
		return nil
	}
	return access.Attributes(who, e)
}

// List implements hemera.Names: it visits the names in byte order. The names of each page existed at one time (the
// totals of a directory among them may be newer). It blocks no change, and a page is given when it is durable. An
// error of visit ends it.
func (n *Tree) List(ctx context.Context, who hemera.Identity, path string, visit func(hemera.Entry) error) error {
	var dir hemera.Entry
	err := n.engine.view(ctx, func(t tx) error {
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
		page, err := readEntries(ctx, n.engine.records, path, lo, hi, listPage)
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
func (n *Tree) Page(ctx context.Context, who hemera.Identity, r hemera.PageRequest) ([]hemera.Entry, string, error) {
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
	page, err := readEntries(ctx, n.engine.records, r.Path, lo, hi, r.Limit)
	for i := range page.shown {
		page.shown[i].Xattrs = attributesIn(who, &r.Dir, &page.shown[i])
	}
	return page.shown, page.last, err
}
