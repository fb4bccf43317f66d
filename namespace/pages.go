package namespace

import (
	"context"
	"errors"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Directories can have millions of names, so they are listed page by page. A page is one reading of the store and
// not of the cache: listing a large directory must not push everything else out of it. Entries and totals of
// directories are two tables, which are read one after the other; a directory that is removed in between shows as
// an entry without totals.

// listPage is the number of names that List reads at a time, which bounds its memory.
const listPage = 512

// entryPage is a part of a directory's entries.
type entryPage struct {
	shown []hemera.Entry // in the order of names
	next  []byte         // where the next page begins, nil after the last
	last  string         // name of the last that was looked at, "" with no next
}

// readEntries reads up to limit entries of a range of the entry table, as they were at one time, and waits until they are
// durable. path is the directory's, for errors.
func readEntries(ctx context.Context, records *record.Store, path string, lo, hi []byte, limit int) (entryPage, error) {
	p, whole, err := readPage(ctx, records.Engine(), lo, hi, limit)
	if err == nil && !whole {
		p, err = pageOfSnapshot(ctx, records, lo, hi, limit)
	}
	if err != nil {
		return entryPage{}, errs.Wrap(err, "namespace.List", path)
	}
	return p, records.Settle(ctx)
}

// pageOfSnapshot reads a page again, of a snapshot: the first time one of its directories was removed between the
// two reads of the page. It is rare, and snapshots are not free.
func pageOfSnapshot(ctx context.Context, records *record.Store, lo, hi []byte, limit int) (entryPage, error) {
	picture, err := records.Engine().Snapshot(ctx)
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

// eachEntry visits what is in a directory of bins, in the order of names.
func eachEntry(ctx context.Context, records *record.Store, dir hemera.FileID, visit func(e *hemera.Entry) error) error {
	// Each page is one reading of the store: what comes and goes meanwhile may be seen or not.
	lo, hi := schema.EntryKey(dir, ""), schema.PrefixEnd(schema.EntryKey(dir, ""))
	for lo != nil {
		page, err := readEntries(ctx, records, tables.BinPath, lo, hi, listPage)
		if err != nil {
			return err
		}
		for i := range page.shown {
			if err := visit(&page.shown[i]); err != nil {
				return err
			}
		}
		lo = page.next
	}
	return nil
}
