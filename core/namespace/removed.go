package namespace

import (
	"context"
	"time"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
)

const (
	// resendWindow is how long after a file was made its first commit may come again: a head asks
	// until it is answered, and a request may be late. Much longer than either takes.
	resendWindow = time.Hour
	// exhumeEach is how many old records of removed files each new one takes away, and exhumeMax how
	// many go in one batch.
	exhumeEach, exhumeMax = 2, 256
)

// bury remembers a removed file while its first commit may come again: it would make the file anew,
// without its pieces. Older files need no record, so their removal costs nothing.
func (t *tx) bury(e *hemera.Entry) {
	if t.now.Sub(e.Birth) <= resendWindow {
		t.ended(e.ID)
	}
}

// ended remembers that the write with the number is over.
func (t *tx) ended(number hemera.FileID) {
	t.set(schema.IDKey(schema.TableTombstone, number), schema.Mark{}, schema.EncodeUntil(t.now.Add(resendWindow)))
	t.buried++
}

// number is what the commit's write was given when it was prepared, and no other ever: the new file's
// id, or the new content's generation.
func (c *Commit) number() hemera.FileID {
	if c.BaseGen != 0 {
		return hemera.FileID(c.Gen)
	}
	return c.ID
}

// refuse makes a refusal final: the head removes the pieces when it hears of it, and the same request,
// which may be on its way a second time, must not find a free name or room under a quota later. It
// returns why, or the file if the other request was faster. While that cannot be made durable, the
// commit is undecided: Unavailable.
func (n *Namespace) refuse(ctx context.Context, c *Commit, why error) (out *hemera.Entry, err error) {
	n.refused.Add(1)
	err = n.update(ctx, func(t *tx) error {
		now, err := t.byID(c.ID)
		if err != nil {
			return err
		}
		if now != nil && now.Gen == c.Gen {
			if c.made(now) == nil {
				out = now
			}
			return nil
		}
		return t.end(c.number())
	})
	switch {
	case err != nil:
		return nil, errs.As(err, errs.Unavailable, "namespace.Commit", c.Name)
	case out != nil:
		return out, nil
	}
	return nil, why
}

// end remembers that the write with the number is over, and was never committed.
func (t *tx) end(number hemera.FileID) error {
	if known, err := t.wasEnded(number); err != nil || known {
		return err
	}
	if t.isUnused(number) {
		t.remove(schema.IDKey(schema.TableLocation, number)) // so that it no longer is
	}
	t.ended(number)
	return t.forgetName(number)
}

// Discard implements PendingWrites.
func (n *Namespace) Discard(ctx context.Context, c Commit) (bool, error) {
	n.refused.Add(1)
	discarded := false
	err := n.update(ctx, func(t *tx) error {
		now, err := t.byID(c.ID)
		if discarded = err == nil && (now == nil || now.Gen != c.Gen); !discarded {
			return err
		}
		return t.end(c.number())
	})
	return discarded && err == nil, err
}

// exhume forgets the oldest files that were removed long enough ago. Ids are in the order of births,
// so that looking ends at the first that is not; it begins again when that one is. A record that
// cannot be read stays, and its file's commit refused.
func (n *Namespace) exhume(g *group) {
	now, left := n.clock(), min(exhumeMax, exhumeEach*g.buried)
	if now.Before(n.exhumeAt) {
		return
	}
	next := now.Add(resendWindow) // for the first record that is made now
	err := n.store.Scan(context.Background(), schema.IDKey(schema.TableTombstone, n.removedFrom), schema.PrefixEnd(schema.TableKey(schema.TableTombstone)), func(k, until []byte) bool {
		if next = schema.DecodeUntil(until); left == 0 || next.After(now) {
			return false
		}
		left--
		g.all.set(k, nil, nil, 0)
		n.removedFrom = schema.IDOf(k) + 1
		return true
	})
	if n.exhumeAt = next; err != nil {
		n.log.Warn("old records of removed files were not forgotten", "cause", err)
	}
}

// unused stands in the cache for the place of an id that was handed out and not yet used: nothing in
// the store has it, or ever had.
type unused struct{}

func (n *Namespace) unused(id hemera.FileID) {
	k := schema.IDKey(schema.TableLocation, id)
	n.cache.put(n.cache.hash(k), k, record{value: &unused{}})
}

// isUnused reports whether the id is surely new, as it nearly always is; if not, the store knows.
func (t *tx) isUnused(id hemera.FileID) bool {
	k := t.idKey(schema.TableLocation, id)
	hash := t.n.cache.hash(k)
	if _, ok := t.changed(k, hash); ok {
		return false
	}
	value, _, _ := t.n.cache.again(hash, k)
	_, ok := value.(*unused)
	return ok
}

// wasEnded reports whether the write with the number was refused, or its file removed not long after.
func (t *tx) wasEnded(number hemera.FileID) (bool, error) {
	return t.recorded(schema.IDKey(schema.TableTombstone, number))
}

// recorded reports whether there is a record with the key, which is of no cached table.
func (t *tx) recorded(k []byte) (bool, error) {
	if value, ok := t.changed(k, t.n.cache.hash(k)); ok {
		return value != nil, nil
	}
	raw, err := t.n.store.GetMany(t.ctx, [][]byte{k})
	if err != nil {
		return false, errs.Wrap(err, "namespace", "")
	}
	return raw[0] != nil, nil
}
