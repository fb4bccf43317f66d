package namespace

import (
	"context"
	"sync/atomic"
	"time"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A commit may arrive twice: a head sends it again until it gets an answer. A write that is over therefore leaves a
// record under its number, a tombstone, for as long as its commit may come again: else a second request would make the
// file again, without its pieces, or find a name free that the first request found taken.

const (
	// resendWindow is how long after a file was made its first commit may come again: a head asks
	// until it is answered, and a request may be late. Much longer than either takes.
	resendWindow = time.Hour
	// purgePerTombstone is the number of old tombstones that each new one removes, and purgeMax the most in one batch.
	purgePerTombstone, purgeMax = 2, record.FinishOps
)

// endedWrites is what the namespace keeps in memory about writes that are over, or must not be committed as they were opened.
type endedWrites struct {
	// refused counts the writes that this life refused for good, or barred: while there are none, a commit need not look.
	refused atomic.Int64
	barred  expiring // records of schema.TableBarred
	renamed expiring // records of schema.TableRenamed

	// The leader's own: where the tombstones begin that may be old, and when the first of them may be.
	purgeFrom hemera.FileID
	purgeAt   time.Time
}

// purgeTombstones removes the oldest tombstones whose time is over, at the end of a group that made some. Numbers are
// in the order of opens, so looking ends at the first that is not over, and begins again when that one is. A record
// that cannot be read stays, and its file's commit is refused.
func (n *base) purgeTombstones(t *record.Txn, counts record.Counters) {
	// Twice as many as were made: so a burst of removals is caught up with, and no batch becomes large.
	now, left := t.Now(), min(purgeMax, purgePerTombstone*int(counts[tables.Tombstones]))
	e := &n.ended
	if left == 0 || now.Before(e.purgeAt) {
		return
	}
	next := now.Add(resendWindow) // for the first record that is made now
	end := schema.PrefixEnd(schema.TableKey(schema.TableTombstone))
	err := n.records.Engine().Scan(context.Background(), schema.IDKey(schema.TableTombstone, e.purgeFrom), end, func(k, until []byte) bool {
		next = schema.DecodeUntil(until)
		if left == 0 || next.After(now) {
			return false
		}
		left--
		t.Remove(k)
		e.purgeFrom = schema.IDOf(k) + 1
		return true
	})
	e.purgeAt = next
	if err != nil {
		n.log.Warn("old records of removed files were not purged", "error", err)
	}
}

// writeTx is what a transaction knows of writes under way, by their numbers: of those that are over, barred or renamed.
type writeTx tx

// number is what the commit's write was given when it was prepared, and no other write ever: the new file's
// id, or the generation of the new content of a file that stays.
func (c *Commit) number() hemera.FileID {
	if c.BaseGen != 0 && c.Replaces == 0 {
		return hemera.FileID(c.Gen)
	}
	return c.ID
}

// addTombstone remembers a removed file while its first commit may come again. Older files need no record, so their
// removal costs nothing.
func (t writeTx) addTombstone(e *hemera.Entry) {
	if t.Now().Sub(e.Birth) <= resendWindow {
		t.markEnded(e.ID)
	}
}

// markEnded remembers that the write with the number is over.
func (t writeTx) markEnded(number hemera.FileID) {
	t.Set(schema.IDKey(schema.TableTombstone, number), record.Opaque{}, schema.EncodeUntil(t.Now().Add(resendWindow)))
	t.Count(tables.Tombstones, 1)
}

// end remembers that the write with the number is over, and was never committed.
func (t writeTx) end(number hemera.FileID) error {
	if known, err := t.isEnded(number); err != nil || known {
		return err
	}
	t.notNew(number)
	t.markEnded(number)
	return t.forgetName(number)
}

// isEnded reports whether the write with the number was refused, or its file removed not long after.
func (t writeTx) isEnded(number hemera.FileID) (bool, error) {
	return t.Exists(schema.IDKey(schema.TableTombstone, number))
}

// isBarred reports whether an audit has removed pieces of the write with the number.
func (t writeTx) isBarred(number hemera.FileID) (bool, error) {
	return t.Exists(schema.IDKey(schema.TableBarred, number))
}

// isNew reports whether nothing happened to the id since it was handed out, as is nearly always so when its commit
// comes. If not, the tables know.
func (t writeTx) isNew(id hemera.FileID) bool {
	t.Key = schema.AppendIDKey(t.Key[:0], schema.TableLocation, id)
	return t.IsUnused(t.Key)
}

// notNew makes isNew false, so that the commit of the write looks into the tables.
func (t writeTx) notNew(id hemera.FileID) {
	if t.isNew(id) {
		t.Remove(schema.IDKey(schema.TableLocation, id))
	}
}

// checkNotEnded refuses what was refused before, and a file that existed.
func (t writeTx) checkNotEnded(c *Commit) error {
	// As nearly always, of updates: no such record was made in this life, and none before could be. What makes a file, also in
	// the place of another, may find that of its removal.
	if c.number() != c.ID && uint64(c.number()) >= t.base.numbers.First() && t.base.ended.refused.Load() == 0 {
		return nil
	}
	over, err := t.isEnded(c.number())
	if err != nil {
		return err
	}
	if over {
		return conflict(c, "it was refused before, or its file was removed since")
	}
	barred, err := t.isBarred(c.number())
	if err == nil && barred {
		err = conflict(c, "its node was silent for too long after the file was closed, and an audit removed its pieces").
			WithRemedy("write the file again")
	}
	return err
}

// refuseForGood makes a refusal final: the head removes the pieces when it gets the answer, and the same request,
// which may be on its way a second time, must not find a free name or room under a quota later. It
// returns why, or the file if the other request was faster. While the refusal cannot be made durable, the
// commit is undecided: Unavailable.
func (n Writes) refuseForGood(ctx context.Context, c *Commit, why error) (out *hemera.Entry, err error) {
	n.ended.refused.Add(1)
	err = n.update(ctx, func(t tx) error {
		now, err := t.ByID(c.ID)
		if err != nil {
			return err
		}
		if now != nil && now.Gen == c.Gen {
			if c.made(now) == nil {
				out = now
			}
			return nil
		}
		return t.writes().end(c.number())
	})
	switch {
	case err != nil:
		return nil, errs.As(err, errs.Unavailable, "namespace.Commit", c.Name)
	case out != nil:
		return out, nil
	}
	return nil, why
}

// Discard refuses a write that was begun, should it be committed later; false if it was committed before.
// Of the commit, ID, Gen and BaseGen are used.
func (n Writes) Discard(ctx context.Context, c Commit) (bool, error) {
	n.ended.refused.Add(1)
	discarded := false // set by the last run of the change, which may run several times
	err := n.update(ctx, func(t tx) error {
		now, err := t.ByID(c.ID)
		if discarded = err == nil && (now == nil || now.Gen != c.Gen); !discarded {
			return err
		}
		return t.writes().end(c.number())
	})
	return discarded && err == nil, err
}
