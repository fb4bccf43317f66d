package record

import (
	"bytes"
	"hash/maphash"
	"slices"

	"hemera/platform/kv"
)

// changes has the records that a batch is to write: every key once, with its newest record. What the running change did
// can be undone, so that the changes of a group share one table.
//
// Keys and records lie in memory of the table, which a later group uses again: nothing may keep a slice of it.
// The leader writes it; from the seal on it is only read, by the leader after it and by the one that sends it.
type changes struct {
	seed   maphash.Seed // of the cache
	encode func(b []byte, value any) []byte
	slots  []uint32 // by hash, the next free one if it is taken: index in list, plus one
	list   []change
	bytes  int // at most, of keys and records
	undo   []undone
	kept   struct{ count, bytes int } // up to where the changes are those of operations that succeeded

	free []byte  // appended to; what was cut off earlier is in use
	ops  []kv.Op // of batch
}

type change struct {
	key   []byte
	hash  uint64 // see cache.hash
	value any    // nil: deleted
	raw   []byte // nil for a total, see Txn.SetTotal
	size  int    // at most, of raw
}

// undone is the record that a change replaced, and that a successful change had written.
type undone struct {
	at  int
	old change
}

const (
	slotsMin = 32
	// roomMin is the memory for keys and records that a change or two need, roomMax the most of it
	// that is kept for the next group.
	roomMin, roomMax = 2 << 10, 64 << 10
)

func newChanges(seed maphash.Seed, encode func(b []byte, value any) []byte) *changes {
	return &changes{seed: seed, encode: encode, slots: make([]uint32, slotsMin), free: make([]byte, 0, roomMin)}
}

// reset empties the table, which nobody reads any more. It takes time in proportion to what the
// table holds, not to the most it ever held.
func (c *changes) reset() {
	c.kept.count, c.kept.bytes, c.bytes = 0, 0, 0
	c.drop()
	c.undo = c.undo[:0]
	if c.free = c.free[:0]; cap(c.free) > roomMax {
		c.free = make([]byte, 0, roomMin)
	}
}

// at returns the slot of the key, or where it would be.
func (c *changes) at(k []byte, hash uint64) *uint32 {
	for i := hash; ; i++ {
		slot := &c.slots[i%uint64(len(c.slots))]
		if *slot == 0 {
			return slot
		}
		if now := &c.list[*slot-1]; now.hash == hash && bytes.Equal(now.key, k) {
			return slot
		}
	}
}

func (c *changes) get(k []byte, hash uint64) (any, bool) {
	if c == nil || len(c.list) == 0 {
		return nil, false
	}
	slot := *c.at(k, hash)
	if slot == 0 {
		return nil, false
	}
	return c.list[slot-1].value, true
}

func (c *changes) set(k []byte, value any, raw []byte, size int) {
	hash := maphash.Bytes(c.seed, k)
	slot := c.at(k, hash)
	if *slot == 0 {
		c.list = append(c.list, change{c.record(append(c.room(len(k)), k...)), hash, value, raw, size})
		*slot = uint32(len(c.list))
		c.bytes += len(k) + size
		if 2*len(c.list) > len(c.slots) {
			c.grow()
		}
		return
	}
	i := int(*slot) - 1
	now := &c.list[i]
	if i < c.kept.count {
		c.undo = append(c.undo, undone{i, *now})
	}
	c.bytes += size - now.size
	now.value, now.raw, now.size = value, raw, size
}

func (c *changes) grow() {
	c.slots = make([]uint32, 4*len(c.slots))
	for i := range c.list {
		*c.at(c.list[i].key, c.list[i].hash) = uint32(i) + 1
	}
}

// room returns memory of the table for a key or record of about n bytes, to append it to; record cuts off what it has
// become.
func (c *changes) room(n int) []byte {
	if cap(c.free)-len(c.free) < n {
		c.free = make([]byte, 0, max(n, min(2*cap(c.free), roomMax)))
	}
	return c.free[len(c.free):]
}

func (c *changes) record(b []byte) []byte {
	if len(b) <= cap(c.free)-len(c.free) { // else append has found memory elsewhere
		c.free = c.free[:len(c.free)+len(b)]
	}
	return b[:len(b):len(b)]
}

// keep makes final what was changed since the last keep.
func (c *changes) keep() {
	c.undo = c.undo[:0]
	c.kept.count, c.kept.bytes = len(c.list), c.bytes
}

// rollBack undoes what was changed since the last keep.
func (c *changes) rollBack() {
	for _, u := range slices.Backward(c.undo) {
		c.list[u.at] = u.old
	}
	c.undo, c.bytes = c.undo[:0], c.kept.bytes
	c.drop()
}

// drop removes the changes that are not kept. The last is removed first: none of those before it can
// have passed over its slot.
func (c *changes) drop() {
	dropped := c.list[c.kept.count:]
	if c.kept.count == 0 && 4*len(dropped) > len(c.slots) {
		clear(c.slots)
	} else {
		for _, d := range slices.Backward(dropped) {
			*c.at(d.key, d.hash) = 0
		}
	}
	clear(dropped)
	c.list = c.list[:c.kept.count]
}

// batch returns all the changes, as the store takes them: in the order of keys, which it can insert
// fastest. It is good until the table changes.
func (c *changes) batch() *kv.Batch {
	c.ops = c.ops[:0]
	for i := range c.list {
		now := &c.list[i]
		if now.value != nil && now.raw == nil {
			now.raw = c.record(c.encode(c.room(now.size), now.value))
		}
		c.ops = append(c.ops, kv.Op{Key: now.key, Value: now.raw, Delete: now.value == nil})
	}
	slices.SortFunc(c.ops, func(x, y kv.Op) int { return bytes.Compare(x.Key, y.Key) })
	return &kv.Batch{Ops: c.ops}
}
