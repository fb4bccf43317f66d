package namespace

import (
	"bytes"
	"context"
	"fmt"

	"hemera"
)

// problemsMax bounds how many problems Check spells out.
const problemsMax = 1000

// Check reads every record, works out anew what is stored in more than one place (tree totals,
// indexes, disk usage, cached records) and names what does not agree. Changes wait while it runs.
// It takes memory in proportion to the directories, time to all records.
func (n *Namespace) Check(ctx context.Context) (problems []string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &checker{n: n, ctx: ctx, dirs: make(map[hemera.FileID]*checkedDir), disks: make(map[hemera.DiskID]usage)}
	for _, pass := range []func() error{c.entries, c.totals, c.places, c.states, c.pieces, c.shorts, c.unlinked, c.usages, c.eventLog, c.quotas, c.cached} {
		if err := pass(); err != nil {
			return c.problems, err
		}
	}
	return c.problems, nil
}

type checker struct {
	n        *Namespace
	ctx      context.Context
	problems []string
	dirs     map[hemera.FileID]*checkedDir
	disks    map[hemera.DiskID]usage
	entryN   int64
	pieceN   int64
	shortN   int64
	quotaN   int64
}

type checkedDir struct {
	parent hemera.FileID
	totals hemera.TreeTotals // counted; in the end with everything below
}

func (c *checker) problem(format string, args ...any) {
	if len(c.problems) < problemsMax {
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

// scan visits a table; a damaged record is a problem, not an end.
func (c *checker) scan(prefix []byte, visit func(k, raw []byte) error) error {
	var failed error
	err := c.n.store.Scan(c.ctx, prefix, after(prefix), func(k, raw []byte) bool {
		failed = visit(k, raw)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return err
}

func (c *checker) has(k []byte) (bool, error) {
	raw, err := c.n.store.GetMany(c.ctx, [][]byte{k})
	return err == nil && raw[0] != nil, err
}

func (c *checker) dir(id hemera.FileID) *checkedDir {
	d := c.dirs[id]
	if d == nil {
		d = &checkedDir{}
		c.dirs[id] = d
	}
	return d
}

func (c *checker) entries() error {
	return c.scan(key(tabEntry), func(k, raw []byte) error {
		e, err := decodeEntry(k, raw)
		if err != nil {
			c.problem("entry %x: %v", k, err)
			return nil
		}
		c.entryN++
		if uint64(e.ID) >= c.n.reserved.Load() {
			c.problem("fid %s is beyond the reserved ids (%d)", e.ID, c.n.reserved.Load())
		}
		if e.Quota {
			c.quotaN++
		}
		if e.IsDir() {
			c.dir(e.ID).parent = e.Parent
			if e.ID != hemera.RootID {
				c.dir(e.Parent).totals.Dirs++
			}
		} else {
			d := c.dir(e.Parent)
			d.totals = d.totals.Add(hemera.TreeTotals{Files: 1, Bytes: e.Size, Physical: physical(e)})
			if err := c.filePieces(e); err != nil {
				return err
			}
		}
		if e.ID == hemera.RootID {
			return nil
		}
		at, err := c.n.store.GetMany(c.ctx, [][]byte{idKey(tabPlace, e.ID)})
		if err == nil && !bytes.Equal(at[0], encodePlace(&place{e.Parent, e.Name})) {
			c.problem("fid %s: its place does not say parent %s, name %q", e.ID, e.Parent, e.Name)
		}
		return err
	})
}

func (c *checker) filePieces(e *hemera.Entry) error {
	for _, p := range e.Pieces {
		c.pieceN++
		u := c.disks[p.Disk]
		c.disks[p.Disk] = usage{u.Pieces + 1, u.Bytes + pieceBytes(e), u.Unlinked}
		ok, err := c.has(pieceKey(p.Disk, e.ID, p.Index))
		if err != nil {
			return err
		}
		if !ok {
			c.problem("fid %s: piece %d is not in the list of disk %d", e.ID, p.Index, p.Disk)
		}
		gone, err := c.has(unlinkedKey(p.Disk, hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}))
		if err != nil {
			return err
		}
		if gone {
			c.problem("fid %s: piece %d is current, and disk %d is to remove it", e.ID, p.Index, p.Disk)
		}
	}
	listed, err := c.has(idKey(tabShort, e.ID))
	if listed != short(e) && err == nil {
		c.problem("fid %s: incomplete is %t, the index says %t", e.ID, short(e), listed)
	}
	if short(e) {
		c.shortN++
	}
	return err
}

// totals adds every directory's own sums to all directories above it.
func (c *checker) totals() error {
	own := make(map[hemera.FileID]hemera.TreeTotals, len(c.dirs))
	for id, d := range c.dirs {
		own[id] = d.totals
	}
	for id, sum := range own {
		steps := 0
		for at := id; at != hemera.RootID; steps++ {
			up := c.dirs[at].parent
			if c.dirs[up] == nil || steps > len(c.dirs) {
				c.problem("directory %s is not below the root", id)
				break
			}
			d := c.dirs[up]
			d.totals = d.totals.Add(sum)
			at = up
		}
	}
	return nil
}

func (c *checker) places() error {
	count := int64(1) // the root has none
	err := c.scan(key(tabPlace), func(k, _ []byte) error { count++; return nil })
	if count != c.entryN && err == nil {
		c.problem("%d entries, %d places", c.entryN, count)
	}
	return err
}

func (c *checker) states() error {
	count := 0
	err := c.scan(key(tabState), func(k, raw []byte) error {
		count++
		id := hemera.FileID(number(k, 2))
		s, err := decodeState(k, raw)
		d := c.dirs[id]
		switch {
		case err != nil:
			c.problem("totals of directory %s: %v", id, err)
		case d == nil:
			c.problem("totals of %s, which is no directory", id)
		case d.totals != s.Tree:
			c.problem("directory %s: stored totals %+v, counted %+v", id, s.Tree, d.totals)
		}
		return nil
	})
	if count != len(c.dirs) && err == nil {
		c.problem("%d directories, %d totals", len(c.dirs), count)
	}
	return err
}

func (c *checker) pieces() error {
	var count int64
	err := c.scan(key(tabDisk), func(_, _ []byte) error { count++; return nil })
	if count != c.pieceN && err == nil {
		c.problem("%d pieces, %d in the lists of disks", c.pieceN, count)
	}
	return err
}

func (c *checker) shorts() error {
	var count int64
	err := c.scan(key(tabShort), func(_, _ []byte) error { count++; return nil })
	if count != c.shortN && err == nil {
		c.problem("%d incomplete files, %d in the index", c.shortN, count)
	}
	return err
}

func (c *checker) unlinked() error {
	var count int64
	err := c.scan(key(tabUnlinked), func(k, _ []byte) error {
		disk := diskOf(k)
		u := c.disks[disk]
		u.Unlinked++
		c.disks[disk] = u
		count++
		return nil
	})
	if count != c.n.unlinked.Load() && err == nil {
		c.problem("%d unlinked pieces, the counter says %d", count, c.n.unlinked.Load())
	}
	return err
}

func diskOf(k []byte) hemera.DiskID {
	if len(k) < 6 {
		return 0
	}
	return hemera.DiskID(uint32(k[2])<<24 | uint32(k[3])<<16 | uint32(k[4])<<8 | uint32(k[5]))
}

func (c *checker) usages() error {
	err := c.scan(key(tabUsage), func(k, raw []byte) error {
		disk := diskOf(k)
		u, err := decodeUsage(k, raw)
		if err != nil || *u != c.disks[disk] {
			c.problem("disk %d: stored usage %+v, counted %+v (%v)", disk, u, c.disks[disk], err)
		}
		delete(c.disks, disk)
		return nil
	})
	for disk, u := range c.disks {
		c.problem("disk %d: no stored usage, counted %+v", disk, u)
	}
	return err
}

func (c *checker) eventLog() error {
	want := c.n.first
	err := c.scan(key(tabEvent), func(k, raw []byte) error {
		if e, err := decodeEvent(k, raw); err != nil || e.Seq != want {
			c.problem("event %d where %d should be (%v)", number(k, 2), want, err)
		}
		want++
		return nil
	})
	if want != c.n.next && err == nil {
		c.problem("events end before %d, not before %d", want, c.n.next)
	}
	return err
}

// cached holds every cached record against the store.
func (c *checker) cached() error {
	for i := range c.n.cache.shards {
		s := &c.n.cache.shards[i]
		s.mu.RLock()
		items := make(map[string]any, len(s.items))
		for k, it := range s.items {
			items[k] = it.value
		}
		s.mu.RUnlock()
		for k, value := range items {
			raw, err := c.n.store.GetMany(c.ctx, [][]byte{[]byte(k)})
			if err != nil {
				return err
			}
			if !bytes.Equal(raw[0], encodeAny(value)) {
				c.problem("cached record %x differs from the stored one", k)
			}
		}
	}
	return nil
}

func encodeAny(value any) []byte {
	switch v := value.(type) {
	case *hemera.Entry:
		return encodeEntry(v)
	case *place:
		return encodePlace(v)
	case *state:
		return encodeState(v)
	case *usage:
		return encodeUsage(v)
	case *quotaNode:
		return encodeQuotaNode(v)
	case *hemera.QuotaAmount:
		return encodeAmount(v)
	}
	return nil
}
