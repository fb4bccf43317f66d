package accounts

import (
	"context"
	"log/slog"
	"time"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/platform/kv"
	"hemera/platform/turn"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Counter takes quota nodes from state to state, one node at a time; see the package comment. Nothing waits for it.
type Counter struct {
	records *record.Store
	numbers *record.Numbers // the same sequence as ids
	log     *slog.Logger
	wake    chan struct{} // there may be something to count
	running turn.Turn     // held while nodes are counted, over the store and the disk
}

// NewCounter returns a counter of the store's quota nodes. It counts when it is run; numbers gives the sets of
// accounts their ids.
func NewCounter(records *record.Store, numbers *record.Numbers, log *slog.Logger) *Counter {
	return &Counter{records: records, numbers: numbers, log: log, wake: make(chan struct{}, 1), running: turn.New()}
}

// retryAfter is the time after which a count that failed is tried again.
const retryAfter = time.Minute

// Run counts whenever there is something to count, until ctx ends.
func (c *Counter) Run(ctx context.Context) error {
	for {
		var retry <-chan time.Time // nil: no retry, only a wake
		if err := c.CountAll(ctx); err != nil && ctx.Err() == nil {
			c.log.Error("counting for quotas failed, will try again", "error", err)
			retry = time.After(retryAfter)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-retry:
		}
	}
}

// Wake says that there may be something to count. It does not block.
func (c *Counter) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// CountAll makes the usage of every quota node exact, and ends nodes without limits. It returns
// when nothing is left to do. Of several callers one counts at a time.
func (c *Counter) CountAll(ctx context.Context) error {
	if err := c.running.Acquire(ctx); err != nil {
		return errs.Wrap(err, "namespace.CountQuotas", "")
	}
	defer c.running.Release()
	for {
		dir, q, err := c.next(ctx)
		if err != nil || q == nil {
			return err
		}
		switch {
		case q.State == schema.NodeCounting: // by an earlier life, or a call that failed
			err = c.abandon(ctx, dir, q)
		case q.State == schema.NodeMerging:
			err = c.merge(ctx, dir, q)
		case q.State == schema.NodeEnding:
			err = c.end(ctx, dir, q)
		case q.Limited(): // waiting
			err = c.count(ctx, dir)
		default: // without a limit
			err = c.beginEnd(ctx, dir)
		}
		if err != nil {
			return err
		}
	}
}

// next returns the node to go on with, nil if there is none. A node that is being counted, merged or ended comes
// first: at most one is in such a state.
func (c *Counter) next(ctx context.Context) (dir hemera.FileID, found *schema.QuotaNode, err error) {
	var bad error
	prefix := schema.TableKey(schema.TableQuotaNode)
	err = c.records.Engine().Scan(ctx, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) bool {
		q, err := schema.DecodeQuotaNode(k, raw)
		if err != nil {
			bad = schema.Damaged(k, err)
			return false
		}
		underWay := q.State != schema.NodeWaiting && q.State != schema.NodeExact
		if underWay || found == nil && (q.State == schema.NodeWaiting || !q.Limited()) {
			dir, found = schema.IDOf(k), q
		}
		return !underWay
	})
	if err == nil {
		err = bad
	}
	return dir, found, errs.Wrap(err, "namespace.CountQuotas", "")
}

// update runs a change of accounts.
func (c *Counter) update(ctx context.Context, fn func(l Ledger) error) error {
	return c.records.Update(ctx, func(t *record.Txn) error { return fn(Ledger{Txn: tables.Txn{Txn: t}}) })
}

// edit changes a node's record.
func (c *Counter) edit(ctx context.Context, dir hemera.FileID, edit func(q *schema.QuotaNode)) error {
	return c.update(ctx, func(l Ledger) error {
		q, err := l.node(dir)
		if err != nil {
			return err
		}
		changed := *q
		edit(&changed)
		l.putNode(dir, changed)
		return nil
	})
}

// accountsAtOnce is the number of accounts that one change moves, which bounds how long other changes wait for it.
const accountsAtOnce = 256

// count takes a node from waiting to merging.
func (c *Counter) count(ctx context.Context, dir hemera.FileID) error {
	// Sets have numbers that nothing else has, so that what an earlier count left can never mix with this one.
	set, err := c.numbers.Take(ctx)
	if err != nil {
		return err
	}
	side, err := c.numbers.Take(ctx)
	if err != nil {
		return err
	}
	snap, err := c.beginCount(ctx, dir, set, side)
	if err != nil {
		return err
	}
	// This takes minutes for a large tree. Changes go on meanwhile, and count in set.
	sums, err := countUsage(ctx, snap, dir)
	if closeErr := snap.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	// If the count is cut off from here on, what was written is in side, and abandon throws it away.
	chunk := make(map[schema.Account]hemera.QuotaAmount, accountsAtOnce)
	for a, sum := range sums {
		chunk[a] = sum
		if len(chunk) == accountsAtOnce {
			if err := c.addAll(ctx, side, chunk); err != nil {
				return err
			}
			clear(chunk)
		}
	}
	if err := c.addAll(ctx, side, chunk); err != nil {
		return err
	}
	return c.edit(ctx, dir, func(q *schema.QuotaNode) { q.State = schema.NodeMerging })
}

// beginCount makes the node active and takes the picture of that instant: all changes before it are
// in the snapshot, all after it are recorded in the node's set.
func (c *Counter) beginCount(ctx context.Context, dir hemera.FileID, set, side uint64) (kv.Snapshot, error) {
	var snap kv.Snapshot
	var snapErr error
	err := c.records.UpdateThen(ctx, func(t *record.Txn) error {
		l := Ledger{Txn: tables.Txn{Txn: t}}
		q, err := l.node(dir)
		if err != nil {
			return err
		}
		from, err := l.realmAbove(dir)
		if err != nil {
			return err
		}
		l.putNode(dir, schema.QuotaNode{State: schema.NodeCounting, Set: set, Side: side, From: from, Limits: q.Limits, Project: q.Project})
		return nil
	}, func() { snap, snapErr = c.records.Engine().Snapshot(ctx) })
	if snapErr != nil {
		return nil, errs.Wrap(snapErr, "namespace.CountQuotas", "")
	}
	if err != nil {
		if snap != nil {
			_ = snap.Close()
		}
		return nil, err
	}
	return snap, nil
}

// addAll adds a part of what was counted to a set.
func (c *Counter) addAll(ctx context.Context, set uint64, sums map[schema.Account]hemera.QuotaAmount) error {
	return c.update(ctx, func(l Ledger) error {
		for a, sum := range sums {
			if err := l.add(set, a, sum); err != nil {
				return err
			}
		}
		return nil
	})
}

// drainAccounts empties a set; into gets each account in the change that removes it.
func (c *Counter) drainAccounts(ctx context.Context, set uint64, into func(l Ledger, a schema.Account, used hemera.QuotaAmount) error) error {
	for {
		keys, err := listKeys(ctx, c.records.Engine(), schema.IDKey(schema.TableAccount, hemera.FileID(set)), accountsAtOnce)
		if err != nil || len(keys) == 0 {
			return err
		}
		err = c.update(ctx, func(l Ledger) error {
			for _, k := range keys {
				used, err := l.amount(k) // as it is now: it may have changed since the keys were listed
				if err != nil {
					return err
				}
				if err := into(l, schema.AccountOf(k), used); err != nil {
					return err
				}
				l.Remove(k)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// LimitKeys lists up to limit of the accounts that have limits at the directory.
func LimitKeys(ctx context.Context, r kv.Reader, dir hemera.FileID, limit int) ([]schema.Account, error) {
	keys, err := listKeys(ctx, r, schema.IDKey(schema.TableLimit, dir), limit)
	out := make([]schema.Account, 0, len(keys))
	for _, k := range keys {
		out = append(out, schema.AccountOf(k))
	}
	return out, err
}

// listKeys lists some keys with a prefix.
func listKeys(ctx context.Context, r kv.Reader, prefix []byte, limit int) (out [][]byte, err error) {
	err = r.Scan(ctx, prefix, schema.PrefixEnd(prefix), func(k, _ []byte) bool {
		out = append(out, append([]byte(nil), k...))
		return len(out) < limit
	})
	return out, errs.Wrap(err, "namespace.Read", "")
}

// merge moves what was counted into the node's set, and out of that of the node above, in which it
// was until then.
func (c *Counter) merge(ctx context.Context, dir hemera.FileID, q *schema.QuotaNode) error {
	err := c.drainAccounts(ctx, q.Side, func(l Ledger, a schema.Account, used hemera.QuotaAmount) error {
		if q.From != 0 {
			if err := l.add(q.From, a, used.Negate()); err != nil {
				return err
			}
		}
		return l.add(q.Set, a, used)
	})
	if err != nil {
		return err
	}
	return c.edit(ctx, dir, func(q *schema.QuotaNode) { q.State, q.Side, q.From = schema.NodeExact, 0, 0 })
}

// abandon ends a count that a restart or an error has cut off: what was counted so far is thrown away, what
// was recorded since belongs to the node above like the rest.
func (c *Counter) abandon(ctx context.Context, dir hemera.FileID, q *schema.QuotaNode) error {
	err := c.drainAccounts(ctx, q.Side, func(Ledger, schema.Account, hemera.QuotaAmount) error { return nil })
	if err != nil {
		return err
	}
	return c.edit(ctx, dir, func(q *schema.QuotaNode) { q.State, q.Side = schema.NodeEnding, 0 })
}

// beginEnd ends a node that has no limits any more. One that was never counted ends at once.
func (c *Counter) beginEnd(ctx context.Context, dir hemera.FileID) error {
	return c.update(ctx, func(l Ledger) error {
		q, err := l.node(dir)
		if err != nil || q.Limited() {
			return err
		}
		if q.State == schema.NodeWaiting {
			return l.unmark(dir)
		}
		// From this change on the files below count at the node above; what was counted here follows.
		from, err := l.realmAbove(dir)
		if err != nil {
			return err
		}
		l.putNode(dir, schema.QuotaNode{State: schema.NodeEnding, Set: q.Set, From: from})
		return nil
	})
}

// end moves what the node's set has to the node above. Then the directory is no node any more, or,
// if it has limits, one that is to be counted.
func (c *Counter) end(ctx context.Context, dir hemera.FileID, q *schema.QuotaNode) error {
	err := c.drainAccounts(ctx, q.Set, func(l Ledger, a schema.Account, used hemera.QuotaAmount) error {
		if q.From == 0 {
			return nil // no node is above: the usage is dropped with the account
		}
		return l.add(q.From, a, used)
	})
	if err != nil {
		return err
	}
	return c.update(ctx, func(l Ledger) error {
		q, err := l.node(dir)
		if err != nil {
			return err
		}
		if !q.Limited() {
			return l.unmark(dir)
		}
		l.putNode(dir, schema.QuotaNode{State: schema.NodeWaiting, Limits: q.Limits, Project: q.Project})
		return nil
	})
}
