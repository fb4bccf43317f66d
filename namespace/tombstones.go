package namespace

import (
	"context"
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
	// resendWindow is the time after a file was made in which its first commit may come again: a head asks until it is
	// answered, and a request may be late. Much longer than either takes.
	resendWindow = time.Hour
	// purgePerTombstone is the number of old tombstones that each new one removes, and purgeMax the most in one batch.
	purgePerTombstone, purgeMax = 2, record.FinishOps
)

// purgeTombstones removes the oldest tombstones whose time is over, at the end of a group that made some. Numbers are
// in the order of opens, so looking ends at the first that is not over, and begins again when that one is. A record
// that cannot be read stays, and its file's commit is refused.
func purgeTombstones(n *engine, t *record.Txn, counts record.Counters) {
	// Twice as many as were made: so a burst of removals is caught up with, and no batch becomes large.
	now, left := t.Now(), min(purgeMax, purgePerTombstone*int(counts[tables.Tombstones]))
	e := n.memory.ended
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

// writeTx has a transaction's records of writes under way, by their numbers: of those that are over, barred or renamed.
type writeTx tx

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
	if c.number() != c.ID && uint64(c.number()) >= t.memory.ended.first && t.memory.ended.refused.Load() == 0 {
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

// renamedTo returns the name that a write was given since it began; "" for none.
func (t writeTx) renamedTo(number hemera.FileID) (string, error) {
	name, err := record.GetUncached(t.Txn.Txn, schema.IDKey(schema.TableRenamed, number), schema.DecodeRenamed)
	if err != nil || name == nil {
		return "", err
	}
	return *name, nil
}

// forgetName forgets a name that a write was given, as the write is over.
func (t writeTx) forgetName(number hemera.FileID) error {
	name, err := t.renamedTo(number)
	if err == nil && name != "" {
		t.Remove(schema.IDKey(schema.TableRenamed, number))
		t.memory.ended.renamed.add(-1)
	}
	return err
}

// expire removes the records of a table that are over, if it is time to look, and counts the others.
func expire(ctx context.Context, n *engine, table byte, e *expiring) error {
	now := n.clock()
	if !e.due(now, n.numbers.Next()) {
		return nil
	}
	var old [][]byte
	count := 0
	prefix := schema.TableKey(table)
	err := n.records.Engine().Scan(ctx, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) bool {
		count++
		if len(raw) >= 8 && !now.Before(schema.DecodeUntil(raw)) {
			old = append(old, append([]byte(nil), k...))
		}
		return true
	})
	removed := min(len(old), expireBatch)
	if err == nil && removed > 0 {
		err = n.update(ctx, func(t tx) error {
			for _, k := range old[:removed] {
				t.Remove(k)
			}
			return nil
		})
	}
	e.counted(count-removed, err != nil || removed < len(old))
	return errs.Wrap(err, "namespace.Expire", "")
}

// writes returns the writes under way, and those that ended, in the same transaction.
func (t tx) writes() writeTx { return writeTx(t) }
