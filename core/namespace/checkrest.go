package namespace

import (
	"bytes"
	"slices"

	"hemera"
	"hemera/core/namespace/schema"
)

// unlinked counts the pieces that disks are to remove and looks up whether one is in use.
func (c *checker) unlinked() error {
	return c.keyed(schema.TableKey(schema.TableUnlinked), 23, func(k, raw []byte) error {
		if len(raw) > 0 {
			c.problem("piece to remove %x: %v", k, schema.ErrRecord)
		}
		return c.leaves(k, schema.Usage{Unlinked: 1})
	})
}

// leaves counts a piece that its disk is to remove, whose record has the key.
func (c *checker) leaves(k []byte, add schema.Usage) error {
	disk, p := schema.DiskOf(k), schema.PieceIDOf(k)
	u := c.disks[disk]
	u.Unlinked, u.Held, u.HeldBytes = u.Unlinked+add.Unlinked, u.Held+add.Held, u.HeldBytes+add.HeldBytes
	c.disks[disk] = u
	c.unlinkedSeen++
	var record schema.EntryHeader
	found, err := c.current(&record, p.File)
	if err == nil && found && record.Gen == p.Gen && has(&record, hemera.Piece{Index: p.Index, Disk: disk}) {
		c.problem("fid %s: piece %d is current, and disk %d is to remove it", record.ID, p.Index, disk)
	}
	return err
}

// held counts the pieces that are removed later, each of which is in the order of time once.
func (c *checker) held() error {
	var sum heldSum
	err := c.keyed(schema.TableKey(schema.TableHeld), 23, func(k, raw []byte) error {
		h, err := schema.DecodeHeld(k, raw)
		if err != nil {
			c.problem("held piece %x: %v", k, err)
			return nil
		}
		there, err := c.view.GetMany(c.ctx, [][]byte{schema.DueKey(schema.DiskOf(k), h.Until, schema.PieceIDOf(k))})
		if err != nil {
			return err
		}
		if there[0] == nil {
			c.problem("held piece %x is not in the order of time", k)
		}
		sum.pieces++
		sum.bytes += h.Bytes
		return c.leaves(k, schema.Usage{Unlinked: 1, Held: 1, HeldBytes: h.Bytes})
	})
	if err != nil {
		return err
	}
	var ordered int64
	err = c.keyed(schema.TableKey(schema.TableDue), schema.DueKeyBytes, func(_, _ []byte) error { ordered++; return nil })
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
func (c *checker) current(g *schema.EntryHeader, id hemera.FileID) (bool, error) {
	at, err := c.view.GetMany(c.ctx, [][]byte{schema.IDKey(schema.TableLocation, id)})
	if err != nil || len(at[0]) < 8 {
		return false, err
	}
	k := append(schema.TableKey(schema.TableEntry), at[0]...)
	raw, err := c.view.GetMany(c.ctx, [][]byte{k})
	if err != nil || raw[0] == nil {
		return false, err
	}
	return g.Decode(k, raw[0]) == nil && g.ID == id, nil
}

func (c *checker) usages() error {
	err := c.keyed(schema.TableKey(schema.TableUsage), 6, func(k, raw []byte) error {
		disk := schema.DiskOf(k)
		u, err := schema.DecodeUsage(k, raw)
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
	err := c.keyed(schema.TableKey(schema.TableEvent), 10, func(k, raw []byte) error {
		if e, err := schema.DecodeEvent(k, raw); err != nil || e.Seq != want {
			c.problem("event %d where %d should be (%v)", schema.Uint64At(k, 2), want, err)
			want = schema.Uint64At(k, 2)
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
	return err == nil && bytes.Equal(raw[0], schema.AppendValue(nil, value)), err
}
