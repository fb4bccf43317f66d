package namespace

import (
	"bytes"
	"slices"

	"hemera"
)

// unlinked counts the pieces that disks are to remove and looks up whether one is in use.
func (c *checker) unlinked() error {
	var count int64
	var record glance
	err := c.keyed(key(tabUnlinked), 23, func(k, raw []byte) error {
		disk := diskOf(k)
		if len(raw) > 0 {
			c.problem("piece to remove %x: %v", k, errRecord)
		}
		u := c.disks[disk]
		u.Unlinked++
		c.disks[disk] = u
		count++
		found, err := c.current(&record, hemera.FileID(number(k, 6)))
		if err == nil && found && record.gen == hemera.Generation(number(k, 14)) && record.has(hemera.Piece{Index: k[22], Disk: disk}) {
			c.problem("fid %s: piece %d is current, and disk %d is to remove it", record.id, k[22], disk)
		}
		return err
	})
	if count != c.unlinkedHere && err == nil {
		c.problem("%d unlinked pieces, the counter says %d", count, c.unlinkedHere)
	}
	return err
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
