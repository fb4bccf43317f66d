package namespace

import (
	"bytes"
	"slices"

	"hemera/kv"
)

// changes is what a batch is to write: every key once, with its newest record. What the change that
// is running did can be taken back, so that the changes of a group share one table.
type changes struct {
	at    map[string]int // index in list
	list  []change
	bytes int // at most, of keys and records
	undo  []undone
	kept  struct{ count, bytes int } // up to where the changes are those of operations that succeeded
}

type change struct {
	key   string
	hash  uint64 // see cache.hash
	value any    // nil: deleted
	raw   []byte // nil for a total, see tx.total
	size  int    // at most, of raw
}

// undone is what a change of a kept record replaced.
type undone struct {
	at  int
	old change
}

func newChanges() *changes { return &changes{at: make(map[string]int)} }

// reuseMin is from how many changes on a table is worth being used again: emptying it takes time in
// proportion to the most it ever held.
const reuseMin = 256

// reused is an empty table, if possible in the room of c, which nobody looks at any more.
func (c *changes) reused() *changes {
	if len(c.list) < reuseMin {
		return newChanges()
	}
	clear(c.at)
	clear(c.list)
	return &changes{at: c.at, list: c.list[:0], undo: c.undo[:0]}
}

func (c *changes) get(k []byte) (any, bool) {
	if c == nil {
		return nil, false
	}
	i, ok := c.at[string(k)]
	if !ok {
		return nil, false
	}
	return c.list[i].value, true
}

func (c *changes) set(k []byte, value any, raw []byte, size int) {
	i, ok := c.at[string(k)]
	if !ok {
		name := string(k)
		c.at[name] = len(c.list)
		c.list = append(c.list, change{key: name, value: value, raw: raw, size: size})
		c.bytes += len(k) + size
		return
	}
	now := &c.list[i]
	if i < c.kept.count {
		c.undo = append(c.undo, undone{i, *now})
	}
	c.bytes += size - now.size
	now.value, now.raw, now.size = value, raw, size
}

// keep makes what was changed since the last keep stay.
func (c *changes) keep() {
	c.undo = c.undo[:0]
	c.kept.count, c.kept.bytes = len(c.list), c.bytes
}

// takeBack undoes what was changed since the last keep.
func (c *changes) takeBack() {
	for _, u := range slices.Backward(c.undo) {
		c.list[u.at] = u.old
	}
	for _, dropped := range c.list[c.kept.count:] {
		delete(c.at, dropped.key)
	}
	clear(c.list[c.kept.count:])
	c.undo, c.list, c.bytes = c.undo[:0], c.list[:c.kept.count], c.kept.bytes
}

// batch is all the changes, as the store takes them: in the order of keys, which it can insert fastest.
func (c *changes) batch() *kv.Batch {
	b := &kv.Batch{Ops: make([]kv.Op, 0, len(c.list))}
	room := 0
	for i := range c.list {
		room += len(c.list[i].key)
	}
	keys := make([]byte, 0, room)
	for i := range c.list {
		now := &c.list[i]
		begin := len(keys)
		keys = append(keys, now.key...)
		switch k := keys[begin:len(keys):len(keys)]; {
		case now.value == nil:
			b.Delete(k)
		case now.raw == nil:
			b.Put(k, encodeAny(now.value))
		default:
			b.Put(k, now.raw)
		}
	}
	slices.SortFunc(b.Ops, func(x, y kv.Op) int { return bytes.Compare(x.Key, y.Key) })
	return b
}
