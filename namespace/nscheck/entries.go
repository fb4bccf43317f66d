package nscheck

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"hemera/namespace/schema"
	"hemera/words/hemera"
)

// The entry pass reads two thirds of the store. Its tables are cut into chunks, which a few goroutines take from a
// queue; each goroutine has counts and sums of its own, and memory that it uses again for every entry. Entries of
// one directory are in one chunk, so the totals of a directory belong to one goroutine at a time.

// counts has the counts of one goroutine. They are added up when all have ended.
type counts struct {
	files, dirs, pieces int64
	quotaNodes          int64 // directories that say they are
	copies              int64 // on tape
	disks               map[hemera.DiskID]schema.Usage
	sums                *sums              // entries minus indexes
	buffer              []byte             // for hashes, used again
	record              schema.EntryHeader // of the entry that is being read, used again
	// parent and at are the directory whose entries are being read, and its index.
	parent hemera.FileID
	at     int

	// names, in a second pass, takes the facts instead, and nothing is counted.
	names *naming
}

// naming is the collector of a second pass, which all goroutines share. Few facts come to it, so one lock is
// enough.
type naming struct {
	mu sync.Mutex
	collector
}

// newCounts makes empty counts, for the first pass or, with names, for the second.
func newCounts(names *naming) *counts {
	return &counts{disks: make(map[hemera.DiskID]schema.Usage), sums: new(sums), names: names, at: -1}
}

// fact notes that an entry implies a record of an index, or that the index has it.
func (t *counts) fact(i fact, from side, content []byte) {
	var h sum
	h, t.buffer = i.hash(t.buffer, content)
	if t.names == nil {
		t.sums.add(i, from, h)
		return
	}
	t.names.mu.Lock()
	defer t.names.mu.Unlock()
	t.names.add(i, from, h, content)
}

// merge adds what another goroutine found.
func (t *counts) merge(o *counts) {
	t.files, t.dirs, t.pieces = t.files+o.files, t.dirs+o.dirs, t.pieces+o.pieces
	t.quotaNodes += o.quotaNodes
	t.copies += o.copies
	t.sums.merge(o.sums)
	for disk, u := range o.disks {
		was := t.disks[disk]
		t.disks[disk] = schema.Usage{Pieces: was.Pieces + u.Pieces, Bytes: was.Bytes + u.Bytes}
	}
}

// chunk is a range of a table, and what to do with its records.
type chunk struct {
	lo, hi []byte
	visit  func(t *counts, k, raw []byte)
}

// entries reads all entries and all indexes of them, and compares the two. Only if they differ, a
// second pass reads them again and names the records.
func (c *checker) entries() error {
	chunks := c.chunks()
	all, err := c.each(chunks, nil)
	if err != nil {
		return err
	}
	c.found, c.disks = *all, all.disks
	buckets, more := all.sums.differing(bucketsNamed)
	if len(buckets) == 0 {
		return nil // as it should be: every table was read once
	}
	names := &naming{collector: collector{buckets: buckets, seen: make(map[fact]sighting)}}
	if _, err := c.each(chunks, names); err != nil {
		return err
	}
	for i, s := range names.seen {
		c.differs(i, s)
	}
	if more > 0 {
		c.problem("%d more groups of files do not agree with their indexes", more)
	}
	return nil
}

// each visits all chunks with a few goroutines, which take them from a queue, and returns what all found together.
func (c *checker) each(chunks []chunk, names *naming) (*counts, error) {
	all := newCounts(nil)
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(c.ctx)
	queue := make(chan chunk, len(chunks))
	for _, ch := range chunks {
		queue <- ch
	}
	close(queue)
	for range c.options.Workers {
		group.Go(func() error {
			t := newCounts(names)
			for ch := range queue {
				if err := c.scanChunk(ctx, t, ch); err != nil {
					return err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.merge(t)
			return nil
		})
	}
	return all, group.Wait()
}

// scanChunk visits the records of a chunk.
func (c *checker) scanChunk(ctx context.Context, t *counts, ch chunk) error {
	t.parent, t.at = 0, -1
	return c.scanRange(ctx, ch.lo, ch.hi, func(k, raw []byte) error {
		ch.visit(t, k, raw)
		return nil
	})
}

// splits is into how many ranges a table is cut: enough to keep goroutines busy to the end.
const splits = 64

// chunks cuts the tables at keys that share the work about evenly. Together the chunks cover each table from end
// to end, whatever its keys look like: a wrong estimate costs time, not truth.
func (c *checker) chunks() (out []chunk) {
	var dirs, ids, disks [][]byte
	for i := 1; i < splits; i++ {
		if at := len(c.dirs.ids) * i / splits; at > 0 {
			dirs = append(dirs, schema.EntryKey(c.dirs.ids[at], ""))
		}
		ids = append(ids, schema.IDKey(schema.TableLocation, hemera.FileID(c.ids/splits*uint64(i))))
	}
	_ = c.scan(schema.TableKey(schema.TableUsage), func(k, _ []byte) error { // a failure shows when usages are compared
		for i := range uint64(splits / 8) {
			disks = append(disks, schema.PieceKey(schema.DiskOf(k), hemera.FileID(c.ids/(splits/8)*i), 0))
		}
		return nil
	})
	for _, table := range []struct {
		name  byte
		cuts  [][]byte
		visit func(t *counts, k, raw []byte)
	}{
		{schema.TableEntry, dirs, c.entry}, {schema.TableLocation, ids, c.location}, {schema.TablePiece, disks, c.piece}, {schema.TableIncomplete, nil, c.incomplete},
	} {
		lo, end := schema.TableKey(table.name), schema.PrefixEnd(schema.TableKey(table.name))
		for _, cut := range append(table.cuts, end) {
			if bytes.Compare(lo, cut) < 0 {
				out = append(out, chunk{lo, cut, table.visit})
				lo = cut
			}
		}
	}
	return out
}

// entry reads an entry: which records of indexes it implies, and, in the first pass, what it adds to totals.
func (c *checker) entry(t *counts, k, raw []byte) {
	e := &t.record
	if err := e.Decode(k, raw); err != nil {
		if t.names == nil {
			c.problem("entry %x: %v", k, err)
		}
		return
	}
	root := len(k) <= schema.IDKeyBytes // the one entry without a name
	// The directory of recycle bins has no parent either, and a name and a location like any other.
	bins := e.Parent == 0 && string(e.Name) == schema.BinName && e.Kind == hemera.KindDirectory
	if t.names == nil && (root != (e.ID == hemera.RootID) || root && schema.Uint64At(k, 2) != 0) {
		c.problem("entry %x has id %s: only the root has no name", k, e.ID)
	}
	if !root {
		t.fact(fact{kind: indexLocation, file: e.ID}, inEntry, k[2:])
	}
	// A file implies a record in the list of each disk that has a piece of it.
	for _, p := range e.Pieces {
		t.fact(fact{indexPiece, p.Index, p.Disk, e.ID}, inEntry, nil)
	}
	if schema.Incomplete(e.Entry()) {
		t.fact(fact{kind: indexIncomplete, file: e.ID}, inEntry, nil)
	}
	if t.names == nil {
		c.count(t, e, root || bins)
	}
}

// count adds an entry to its directory and its disks. Several goroutines add to different directories at once: the
// entries of one directory are in one chunk, because chunks are cut between directories.
func (c *checker) count(t *counts, e *schema.EntryHeader, top bool) {
	if uint64(e.ID) >= c.ids {
		c.problem("fid %s is beyond the reserved ids (%d)", e.ID, c.ids)
	}
	parent := isRoot
	if !top {
		parent = c.parentOf(t, e)
	}
	weight := hemera.TreeTotals{Dirs: 1}
	if e.Kind == hemera.KindDirectory {
		t.dirs++
		if e.Quota {
			t.quotaNodes++
		}
		if at := c.dirs.at(e.ID); at < 0 {
			c.problem("directory %s has no totals", e.ID)
		} else {
			c.dirs.parents[at].Store(int32(parent))
		}
	} else {
		file := e.Entry()
		t.files++
		t.copies += int64(len(e.Tape))
		weight = hemera.TreeTotals{Files: 1, Bytes: e.Size, Physical: schema.Physical(file)}
		for _, p := range e.Pieces {
			u := t.disks[p.Disk]
			t.disks[p.Disk] = schema.Usage{Pieces: u.Pieces + 1, Bytes: u.Bytes + schema.PieceBytes(file, p.Index)}
			t.pieces++
		}
	}
	if parent >= 0 { // else the problem has been noted
		c.dirs.totals[parent] = c.dirs.totals[parent].Add(weight)
	}
}

// parentOf returns the index of an entry's directory. Neighbours have the same, so it is nearly always that of the
// entry before.
func (c *checker) parentOf(t *counts, e *schema.EntryHeader) int {
	if t.parent != e.Parent || t.parent == 0 {
		t.parent, t.at = e.Parent, c.dirs.at(e.Parent)
	}
	if t.at < 0 {
		c.problem("fid %s, %q: its parent fid:%s is no directory", e.ID, e.Name, e.Parent)
		return noParent
	}
	return t.at
}

// location reads a record of the locations.
func (c *checker) location(t *counts, k, raw []byte) {
	if c.badLength(t, k, 10) {
		return
	}
	t.fact(fact{kind: indexLocation, file: schema.IDOf(k)}, inIndex, raw)
}

// piece reads a record of a disk's list.
func (c *checker) piece(t *counts, k, raw []byte) {
	if c.badLength(t, k, 15) {
		return
	}
	t.fact(fact{indexPiece, k[14], schema.DiskOf(k), hemera.FileID(schema.Uint64At(k, 6))}, inIndex, raw)
}

// incomplete reads a record of the index of incomplete files.
func (c *checker) incomplete(t *counts, k, raw []byte) {
	if c.badLength(t, k, 10) {
		return
	}
	t.fact(fact{kind: indexIncomplete, file: schema.IDOf(k)}, inIndex, raw)
}

// badLength reports whether the key has a wrong length, and in the first pass says so.
func (c *checker) badLength(t *counts, k []byte, length int) bool {
	if len(k) != length && t.names == nil {
		c.problem("key %x does not have %d bytes", k, length)
	}
	return len(k) != length
}

// differs says in words what does not agree about one fact of an index.
func (c *checker) differs(i fact, s sighting) {
	var p schema.Location
	if at, err := schema.DecodeLocation(nil, []byte(s.at)); err == nil {
		p = *at
	}
	switch {
	case i.kind == indexLocation && s.sides == inEntry:
		c.problem("fid %s, below %s as %q: it has no location", i.file, p.Parent, p.Name)
	case i.kind == indexLocation && s.sides == inIndex:
		c.problem("fid %s: it has a location, below %s as %q, and no entry", i.file, p.Parent, p.Name)
	case i.kind == indexLocation:
		c.problem("fid %s: its location does not say parent %s, name %q", i.file, p.Parent, p.Name)
	case i.kind == indexPiece && s.sides == inEntry:
		c.problem("fid %s: piece %d is not in the list of disk %d", i.file, i.index, i.disk)
	case i.kind == indexPiece && s.sides == inIndex:
		c.problem("disk %d lists piece %d of fid %s, which has none there", i.disk, i.index, i.file)
	case i.kind == indexPiece:
		c.problem("fid %s: piece %d on disk %d is not listed as it should be", i.file, i.index, i.disk)
	default:
		c.problem("fid %s: incomplete is %t, the index says %t", i.file, s.sides&inEntry != 0, s.sides&inIndex != 0)
	}
}

// has says whether a file's pieces include one.
func has(h *schema.EntryHeader, p hemera.Piece) bool { return slices.Contains(h.Pieces, p) }
