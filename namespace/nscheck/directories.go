package nscheck

import (
	"slices"
	"sync/atomic"

	"hemera/namespace/schema"
	"hemera/words/hemera"
)

// Totals of directories are added up in columns, one element for each directory, in the order of ids: about 52
// bytes a directory, where a map would take several times as much.

// dirTable is every directory that has a state, in columns, by id: 52 bytes each.
type dirTable struct {
	ids     []hemera.FileID     // in order
	parents []atomic.Int32      // index of the parent, or one of the following; set by any goroutine of the entry pass
	totals  []hemera.TreeTotals // of the entries in the directory, then of everything below it
	missing []int32             // children whose sums have not come yet
}

const (
	noEntry  = -1 // no entry is this directory
	noParent = -2 // its parent is no directory
	isRoot   = -3
)

// at returns the index of a directory, or -1. Ids are in order, because the table was read in the order of keys.
func (d *dirTable) at(id hemera.FileID) int {
	if i, ok := slices.BinarySearch(d.ids, id); ok {
		return i
	}
	return -1
}

// directories lists every id that has a directory record, so that the counts of all have their place before
// entries are read in parallel.
func (c *checker) directories() error {
	d := &c.dirs
	err := c.keyed(schema.TableKey(schema.TableDirectory), 10, func(k, _ []byte) error {
		d.ids = append(d.ids, schema.IDOf(k))
		return nil
	})
	d.ids = slices.Clip(d.ids)
	d.parents, d.totals = make([]atomic.Int32, len(d.ids)), make([]hemera.TreeTotals, len(d.ids))
	for i := range d.parents {
		d.parents[i].Store(noEntry)
	}
	return err
}

// tree adds every directory's own sums to all directories above it, children before parents. What is never reached
// is not below the root: a circle, or a chain that ends at no directory.
func (c *checker) tree() error {
	d := &c.dirs
	d.missing = make([]int32, len(d.ids))
	for i := range d.parents {
		if p := d.parents[i].Load(); p >= 0 {
			d.missing[p]++
		}
	}
	// A directory is finished when all its children are. Each is visited once, however deep the tree is.
	summed := 0
	for i := range d.ids {
		// A chain of directories ends where another child is still to come.
		for at := int32(i); at >= 0 && d.missing[at] == 0; {
			d.missing[at] = -1
			summed++
			p := d.parents[at].Load()
			if p >= 0 {
				d.totals[p] = d.totals[p].Add(d.totals[at])
				d.missing[p]--
			}
			at = p
		}
	}
	if summed == len(d.ids) {
		return nil
	}
	for i, id := range d.ids {
		if d.missing[i] >= 0 {
			c.problem("directory %s is not below the root", id)
		}
	}
	return nil
}

// states compares every directory's stored totals with those counted.
func (c *checker) states() error {
	i := 0
	return c.keyed(schema.TableKey(schema.TableDirectory), 10, func(k, raw []byte) error {
		id, counted, parent := c.dirs.ids[i], c.dirs.totals[i], c.dirs.parents[i].Load()
		i++ // the table is read in the same order as for the columns, of the same picture
		s, err := schema.DecodeDirectory(k, raw)
		switch {
		case err != nil:
			c.problem("totals of directory %s: %v", id, err)
		case parent == noEntry:
			c.problem("totals of %s, which is no directory", id)
		case counted != s.Tree:
			c.problem("directory %s: stored totals %+v, counted %+v", id, s.Tree, counted)
		}
		return nil
	})
}
