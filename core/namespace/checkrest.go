package namespace

import (
	"bytes"
	"slices"

	"hemera"
)

// unlinked counts the pieces that disks are to remove and looks up whether one is in use.
func (c *checker) unlinked() error {
	return c.keyed(key(tabUnlinked), 23, func(k, raw []byte) error {
		if len(raw) > 0 {
			c.problem("piece to remove %x: %v", k, errRecord)
		}
		return c.leaves(k, usage{Unlinked: 1})
	})
}

// leaves counts a piece that its disk is to remove, whose record has the key.
func (c *checker) leaves(k []byte, add usage) error {
	disk, p := diskOf(k), pieceOf(k[6:])
	u := c.disks[disk]
	u.Unlinked, u.Held, u.HeldBytes = u.Unlinked+add.Unlinked, u.Held+add.Held, u.HeldBytes+add.HeldBytes
	c.disks[disk] = u
	c.unlinkedSeen++
	var record glance
	found, err := c.current(&record, p.File)
	if err == nil && found && record.gen == p.Gen && record.has(hemera.Piece{Index: p.Index, Disk: disk}) {
		c.problem("fid %s: piece %d is current, and disk %d is to remove it", record.id, p.Index, disk)
	}
	return err
}

// held counts the pieces that are removed later, each of which is in the order of time once.
func (c *checker) held() error {
	var sum heldSum
	err := c.keyed(key(tabHeld), 23, func(k, raw []byte) error {
		h, err := decodeHeld(raw)
		if err != nil {
			c.problem("held piece %x: %v", k, err)
			return nil
		}
		there, err := c.view.GetMany(c.ctx, [][]byte{dueKey(diskOf(k), h.until, pieceOf(k[6:]))})
		if err != nil {
			return err
		}
		if there[0] == nil {
			c.problem("held piece %x is not in the order of time", k)
		}
		sum.pieces++
		sum.bytes += h.bytes
		return c.leaves(k, usage{Unlinked: 1, Held: 1, HeldBytes: h.bytes})
	})
	if err != nil {
		return err
	}
	var ordered int64
	err = c.keyed(key(tabDue), dueKeyBytes, func(_, _ []byte) error { ordered++; return nil })
	switch {
	case err != nil:
		return err
	case ordered != sum.pieces || sum != c.heldHere:
		c.problem("%d held pieces of %d bytes, %d in the order of time, the counters say %d of %d bytes",
			sum.pieces, sum.bytes, ordered, c.heldHere.pieces, c.heldHere.bytes)
	case c.unlinkedSeen != c.unlinkedHere:
		c.problem("%d unlinked pieces, the counter says %d", c.unlinkedSeen, c.unlinkedHere)
	}
	return nil
}

// current reads the entry with an id, if there is a readable one.
func (c *checker) current(g *glance, id hemera.FileID) (bool, error) {
	at, err := c.view.GetMany(c.ctx, [][]byte{idKey(tabPlace, id)})
	if err != nil || len(at[0]) < 8 {
		return false, err
	}
	k := append(key(tabEntry), at[0]...)
	raw, err := c.view.GetMany(c.ctx, [][]byte{k})
	if err != nil || raw[0] == nil {
		return false, err
	}
	return g.read(k, raw[0]) == nil && g.id == id, nil
}

func diskOf(k []byte) hemera.DiskID {
	if len(k) < 6 {
		return 0
	}
	return hemera.DiskID(uint32(k[2])<<24 | uint32(k[3])<<16 | uint32(k[4])<<8 | uint32(k[5]))
}

func (c *checker) usages() error {
	err := c.keyed(key(tabUsage), 6, func(k, raw []byte) error {
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
	want := c.first
	err := c.keyed(key(tabEvent), 10, func(k, raw []byte) error {
		if e, err := decodeEvent(k, raw); err != nil || e.Seq != want {
			c.problem("event %d where %d should be (%v)", number(k, 2), want, err)
			want = number(k, 2)
		}
		want++
		return nil
	})
	if want != c.next && err == nil {
		c.problem("events end before %d, not before %d", want, c.next)
	}
	return err
}

// cached holds every cached record against the store as it is now. What differs at first is looked at
// again while nothing changes.
func (c *checker) cached() error {
	for i := range c.n.cache.shards {
		s := &c.n.cache.shards[i]
		s.mu.RLock()
		keys := make([]string, 0, len(s.items))
		for k := range s.items {
			keys = append(keys, k)
		}
		s.mu.RUnlock()
		slices.Sort(keys)
		for _, k := range keys {
			if ok, err := c.cachedRight(s, k); err != nil || ok {
				if err != nil {
					return err
				}
				continue
			}
			c.n.mu.Lock()
			ok, err := c.cachedRight(s, k)
			c.n.mu.Unlock()
			if err != nil {
				return err
			}
			if !ok {
				c.problem("cached record %x differs from the stored one", k)
			}
		}
	}
	return nil
}

func (c *checker) cachedRight(s *shard, k string) (bool, error) {
	s.mu.RLock()
	it := s.items[k]
	var value any
	if it != nil {
		value = it.value
	}
	s.mu.RUnlock()
	if it == nil {
		return true, nil
	}
	raw, err := c.n.store.GetMany(c.ctx, [][]byte{[]byte(k)})
	return err == nil && bytes.Equal(raw[0], appendAny(nil, value)), err
}

// appendAny writes a record; nothing for a key that only exists.
func appendAny(b []byte, value any) []byte {
	switch v := value.(type) {
	case *hemera.Entry:
		return appendEntry(b, v)
	case *place:
		return appendPlace(b, v)
	case *state:
		return appendState(b, v)
	case *usage:
		return appendUsage(b, v)
	case *quotaNode:
		return appendQuotaNode(b, v)
	case *hemera.QuotaAmount:
		return appendAmount(append(b, recordVersion), *v)
	}
	return b
}
