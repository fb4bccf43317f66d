package nscheck

import (
	"hemera/namespace/accounts"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/words/hemera"
)

// The tables here are small beside the entries: they are about what is under way. So each record is read by one
// goroutine, and what it contradicts is looked up.

// unlinked counts the pieces that disks are to remove, and looks up whether one is in use.
func (c *checker) unlinked() error {
	return c.keyed(schema.TableKey(schema.TableUnlinked), 23, func(k, raw []byte) error {
		if len(raw) > 0 {
			c.problem("piece to remove %x: %v", k, schema.ErrRecord)
		}
		return c.leaves(k, schema.Usage{Unlinked: 1})
	})
}

// leaves counts a piece that its disk is to remove, now or later, whose record has the key. To remove a piece that
// an entry has would lose data, so each is looked up.
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

// held counts the pieces that are removed later. Each is in the order of time exactly once.
func (c *checker) held() error {
	var sum struct{ pieces, bytes int64 }
	err := c.keyed(schema.TableKey(schema.TableHeld), 23, func(k, raw []byte) error {
		h, err := schema.DecodeHeld(k, raw)
		if err != nil {
			c.problem("held piece %x: %v", k, err)
			return nil
		}
		// Its record in the order of time must exist; there are as many of those as of these, so there is no other.
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
	case ordered != sum.pieces || sum.pieces != c.counters[tables.HeldPieces] || sum.bytes != c.counters[tables.HeldBytes]:
		c.problem("%d held pieces of %d bytes, %d in the order of time, the counters say %d of %d bytes",
			sum.pieces, sum.bytes, ordered, c.counters[tables.HeldPieces], c.counters[tables.HeldBytes])
	case c.unlinkedSeen != c.counters[tables.Unlinked]:
		c.problem("%d unlinked pieces, the counter says %d", c.unlinkedSeen, c.counters[tables.Unlinked])
	}
	return nil
}

// current reads the entry with an id, if there is a readable one.
func (c *checker) current(g *schema.EntryHeader, id hemera.FileID) (bool, error) {
	// A location that is damaged is a problem of the entry pass, and here the entry counts as absent.
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

// usages compares what is stored of each disk with what was counted.
func (c *checker) usages() error {
	err := c.keyed(schema.TableKey(schema.TableUsage), 6, func(k, raw []byte) error {
		disk := schema.DiskOf(k)
		u, err := schema.DecodeUsage(k, raw)
		if err != nil || *u != c.disks[disk] {
			c.problem("disk %d: stored usage %+v, counted %+v (%v)", disk, u, c.disks[disk], err)
		}
		delete(c.disks, disk) // what is left at the end has no record
		return nil
	})
	for disk, u := range c.disks {
		c.problem("disk %d: no stored usage, counted %+v", disk, u)
	}
	return err
}

// eventLog checks that events have consecutive numbers between the bounds of the log.
func (c *checker) eventLog() error {
	// After a gap the count goes on from what is there, so that one gap is one problem.
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

// cached compares every cached record with the store as it is now.
func (c *checker) cached() error {
	return c.records.CheckCache(c.ctx, func(k string) { c.problem("cached record %x differs from the stored one", k) })
}

// quotas compares the accounts of quota nodes with the files that count in them.
func (c *checker) quotas() error {
	return accounts.Check(c.ctx, c.view, c.found.quotaNodes, c.problem)
}

// barred looks for writes that were committed although an audit had removed pieces of them.
func (c *checker) barred() error {
	return c.keyed(schema.TableKey(schema.TableBarred), schema.IDKeyBytes, func(k, raw []byte) error {
		file, err := schema.DecodeBarred(raw)
		if err != nil {
			c.problem("barred write %d: %v", schema.IDOf(k), err)
			return nil
		}
		var header schema.EntryHeader
		found, err := c.current(&header, file)
		if err == nil && found && schema.WriteNumber(hemera.PieceID{File: file, Gen: header.Gen}) == schema.IDOf(k) {
			c.problem("fid %s: generation %d is committed, and its write is barred", file, header.Gen)
		}
		return err
	})
}

// renamed looks for new names of writes that are over.
func (c *checker) renamed() error {
	return c.keyed(schema.TableKey(schema.TableRenamed), schema.IDKeyBytes, func(k, raw []byte) error {
		file := schema.IDOf(k)
		if _, err := schema.DecodeRenamed(k, raw); err != nil {
			c.problem("renamed write %d: %v", file, err)
			return nil
		}
		var header schema.EntryHeader
		found, err := c.current(&header, file)
		if err == nil && found {
			c.problem("fid %s: it is committed, and a name is kept for its commit", file)
		}
		return err
	})
}

// broken looks at the form of the records alone: nothing else says what they say.
func (c *checker) broken() error {
	return c.keyed(schema.TableKey(schema.TableBroken), schema.PieceIDKeyBytes, func(k, raw []byte) error {
		if len(raw) > 0 {
			c.problem("broken piece %x: %v", k, schema.ErrRecord)
		}
		return nil
	})
}
