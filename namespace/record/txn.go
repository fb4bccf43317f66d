package record

import (
	"context"
	"errors"
	"time"

	"hemera/words/errs"
)

// Txn is one operation's picture of the records: what it changed itself, over the cache, over the engine. It
// remembers the newest batch that it saw anything of, because its answer must not be given before that is durable.
// It belongs to one goroutine, and is used again when the operation's function has returned: nothing may keep it.
type Txn struct {
	s      *Store
	ctx    context.Context
	now    time.Time
	sawSeq uint64

	// Key is memory in which keys of lookups are built: a key in it is good until the next one is.
	Key []byte

	own       *changes // of its group, its own changes last; nil for a reader
	before    *changes // of the group before, if that is not visible yet
	sawUnsent bool     // something it saw is of that group
	logged    [][]byte
	counts    Counters
}

// Opaque is the value of records that nobody reads decoded, and of keys that only exist.
type Opaque struct{}

// unused stands in the cache for a record that the engine surely does not have, and never had.
type unused struct{}

// Get returns the record at the key, nil when there is none. The key is of a cached table. The record is shared:
// nobody may change it.
func Get[T any](t *Txn, k []byte, decode func(k, raw []byte) (*T, error)) (*T, error) {
	c := t.s.cache
	hash := c.hash(k)
	if value, ok := t.written(k, hash); ok {
		v, _ := value.(*T)
		return v, nil
	}
	value, seq, ok := c.get(hash, k)
	if !ok && c.knownAbsent(k) {
		return nil, nil
	}
	for !ok {
		count := c.writes(hash)
		if value, seq, ok = c.peek(hash, k); ok {
			break
		}
		v, size, err := load(t, k, decode)
		if err != nil {
			return nil, err
		}
		seq = c.floor.Load()
		var kept any
		if v != nil {
			kept = v
		}
		// A change needs no cache to be sure: what is being written is in its own picture.
		if c.fill(hash, k, record{kept, size, seq}, count) || t.own != nil {
			t.sawSeq = max(t.sawSeq, seq)
			return v, nil
		}
		if err := t.s.awaitVisible(); err != nil {
			return nil, err
		}
	}
	t.sawSeq = max(t.sawSeq, seq)
	v, _ := value.(*T)
	return v, nil
}

// load reads a record from the engine, and its size.
func load[T any](t *Txn, k []byte, decode func(k, raw []byte) (*T, error)) (*T, int, error) {
	raw, err := t.s.engine.Get(t.ctx, k)
	if errors.Is(err, errs.NotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	v, err := decode(k, raw)
	if err != nil {
		return nil, 0, t.s.options.Schema.Damaged(k, err)
	}
	return v, len(raw), nil
}

// GetUncached returns the record at a key of no cached table, nil when there is none. Only changes may call it.
func GetUncached[T any](t *Txn, k []byte, decode func(k, raw []byte) (*T, error)) (*T, error) {
	if value, ok := t.written(k, t.s.cache.hash(k)); ok {
		v, _ := value.(*T)
		return v, nil
	}
	raw, err := t.s.engine.GetMany(t.ctx, [][]byte{k})
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Read", "")
	}
	if raw[0] == nil {
		return nil, nil
	}
	v, err := decode(k, raw[0])
	if err != nil {
		return nil, t.s.options.Schema.Damaged(k, err)
	}
	return v, nil
}

// written returns the write to the key by the change, or by one before it that is not visible yet.
func (t *Txn) written(k []byte, hash uint64) (any, bool) {
	value, ok := t.own.get(k, hash)
	if !ok {
		if value, ok = t.before.get(k, hash); ok {
			t.sawUnsent = true
		}
	}
	return value, ok
}

// Exists reports whether there is a record at any of the keys, which are of no cached table. Only changes may call it.
func (t *Txn) Exists(keys ...[]byte) (bool, error) {
	var ask [][]byte
	for _, k := range keys {
		value, ok := t.written(k, t.s.cache.hash(k))
		if ok && value != nil {
			return true, nil
		}
		if !ok {
			ask = append(ask, k)
		}
	}
	if len(ask) == 0 {
		return false, nil
	}
	found, err := t.s.engine.GetMany(t.ctx, ask)
	if err != nil {
		return false, errs.Wrap(err, "namespace.Read", "")
	}
	for _, raw := range found {
		if raw != nil {
			return true, nil
		}
	}
	return false, nil
}

// IsUnused reports whether the key is surely new, as [Store.MarkUnused] said and nothing changed since. If it
// returns false, the engine knows.
func (t *Txn) IsUnused(k []byte) bool {
	hash := t.s.cache.hash(k)
	if _, ok := t.written(k, hash); ok {
		return false
	}
	value, _, _ := t.s.cache.peek(hash, k)
	_, ok := value.(*unused)
	return ok
}

// Context returns the context of the operation.
func (t *Txn) Context() context.Context { return t.ctx }

// Now returns the time of the change.
func (t *Txn) Now() time.Time { return t.now }

// Unwaited returns a transaction that reads the same picture, and that no answer waits for: what is read with it
// may not be durable yet.
func (t *Txn) Unwaited() *Txn { return &Txn{s: t.s, ctx: t.ctx} }

// Set writes a record: its decoded value, which is shared from now on, and its encoded form, which is the batch's
// (see [Txn.Room]) or never changes.
func (t *Txn) Set(k []byte, value any, raw []byte) { t.own.set(k, value, raw, len(raw)) }

// SetTotal writes a record that many changes of a group write again: it is encoded once, when the group is
// complete. Its encoded form has at most max bytes.
func (t *Txn) SetTotal(k []byte, value any, max int) { t.own.set(k, value, nil, max) }

// Mark writes a key that only exists.
func (t *Txn) Mark(k []byte) { t.Set(k, Opaque{}, nil) }

// Remove deletes the record at the key. It is no error if there is none.
func (t *Txn) Remove(k []byte) { t.Set(k, nil, nil) }

// Room returns memory of the batch for a record of about n bytes, to append it to. Record cuts off what was appended.
func (t *Txn) Room(n int) []byte { return t.own.room(n) }

// Record returns what was appended to the memory that [Txn.Room] returned.
func (t *Txn) Record(b []byte) []byte { return t.own.record(b) }

// Log adds an entry to the log of changes. It gets the next sequence number if the change succeeds.
func (t *Txn) Log(raw []byte) { t.logged = append(t.logged, raw) }

// Count adds to a counter of the store if the change succeeds.
func (t *Txn) Count(counter int, by int64) { t.counts[counter] += by }
