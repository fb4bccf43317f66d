package namespace

import (
	"context"
	"time"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
	"hemera/platform/kv"
)

// The counter takes quota nodes from state to state, one node at a time, each step one or several
// changes that can be cut off anywhere: what is under way is in the node's record, and no account
// is ever added twice.
//
//	waiting → counting → merging → exact       a node with limits
//	counting → ending → waiting                counting was cut off
//	exact → ending → no node                   the last limit was removed
//
// Nobody waits for it. Changes go on while a snapshot is counted, and count in the node's set from
// the instant of the snapshot; sums may be negative until the two are put together.

// recountAfter is when counting that failed is tried again.
const recountAfter = time.Minute

// RunQuotas counts whenever there is something to count, until ctx ends.
func (n *Namespace) RunQuotas(ctx context.Context) error {
	for {
		var again <-chan time.Time
		if err := n.CountQuotas(ctx); err != nil && ctx.Err() == nil {
			n.log.Error("counting for quotas failed, will try again", "error", err)
			again = time.After(recountAfter)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-n.uncounted:
		case <-again:
		}
	}
}

// wakeCounter says that there may be something to count.
func (n *Namespace) wakeCounter() {
	select {
	case n.uncounted <- struct{}{}:
	default:
	}
}

// CountQuotas makes the usage of every quota node exact, and ends nodes without limits. It returns
// when nothing is left to do.
func (n *Namespace) CountQuotas(ctx context.Context) error {
	n.counter.Lock()
	defer n.counter.Unlock()
	for {
		dir, q, err := n.uncountedNode(ctx)
		if err != nil || q == nil {
			return err
		}
		switch {
		case q.State == schema.NodeCounting:
			err = n.cutOff(ctx, dir, q)
		case q.State == schema.NodeMerging:
			err = n.merge(ctx, dir, q)
		case q.State == schema.NodeEnding:
			err = n.end(ctx, dir, q)
		case q.Limited():
			err = n.count(ctx, dir)
		default:
			err = n.leave(ctx, dir)
		}
		if err != nil {
			return err
		}
	}
}

// uncountedNode is the node to go on with: first the one that is under way, if any.
func (n *Namespace) uncountedNode(ctx context.Context) (dir hemera.FileID, found *schema.QuotaNode, err error) {
	var bad error
	err = n.store.Scan(ctx, schema.TableKey(schema.TableQuotaNode), schema.PrefixEnd(schema.TableKey(schema.TableQuotaNode)), func(k, raw []byte) bool {
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

// enter changes a node's record. A directory whose node is gone is left alone.
func (n *Namespace) enter(ctx context.Context, dir hemera.FileID, edit func(t *tx, q *schema.QuotaNode) error) error {
	return n.update(ctx, func(t *tx) error {
		q, err := t.quotaNode(dir)
		if err != nil {
			return err
		}
		changed := *q
		if err := edit(t, &changed); err != nil {
			return err
		}
		t.putQuotaNode(dir, changed)
		return nil
	})
}

// realmAbove is the set in which the directory's files would count were it no node.
func (t *tx) realmAbove(dir hemera.FileID) (uint64, error) {
	if dir == hemera.RootID {
		return 0, nil
	}
	e, err := t.byID(dir)
	if err == nil && e == nil {
		err = absent("CountQuotas", dir)
	}
	if err != nil {
		return 0, err
	}
	parent, err := t.byID(e.Parent)
	if err != nil {
		return 0, err
	}
	dirs, _, err := t.above(parent)
	if err != nil {
		return 0, err
	}
	return t.realm(dirs)
}

// count takes a node from waiting to merging.
func (n *Namespace) count(ctx context.Context, dir hemera.FileID) error {
	set, err := n.takeID(ctx)
	if err != nil {
		return err
	}
	side, err := n.takeID(ctx)
	if err != nil {
		return err
	}
	snap, err := n.beginCount(ctx, dir, set, side)
	if err != nil {
		return err
	}
	sums, err := tally(ctx, snap, dir)
	if closeErr := snap.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	chunk := make(map[schema.Account]hemera.QuotaAmount, accountsAtOnce)
	for a, sum := range sums {
		chunk[a] = sum
		if len(chunk) == accountsAtOnce {
			if err := n.credits(ctx, side, chunk); err != nil {
				return err
			}
			clear(chunk)
		}
	}
	if err := n.credits(ctx, side, chunk); err != nil {
		return err
	}
	return n.enter(ctx, dir, func(_ *tx, q *schema.QuotaNode) error {
		q.State = schema.NodeMerging
		return nil
	})
}

// beginCount makes the node active and takes the picture of that instant: all changes before it are
// in the snapshot, all after it are recorded in the node's set.
func (n *Namespace) beginCount(ctx context.Context, dir hemera.FileID, set, side uint64) (kv.Snapshot, error) {
	var snap kv.Snapshot
	var snapErr error
	r := &request{ctx: ctx, fn: func(t *tx) error {
		q, err := t.quotaNode(dir)
		if err != nil {
			return err
		}
		from, err := t.realmAbove(dir)
		if err != nil {
			return err
		}
		t.putQuotaNode(dir, schema.QuotaNode{State: schema.NodeCounting, Set: set, Side: side, From: from, Limits: q.Limits, Project: q.Project})
		return nil
	}, then: func() { snap, snapErr = n.store.Snapshot(ctx) }}
	if n.apply(r); r.err != nil {
		return nil, r.err
	}
	if snapErr != nil {
		return nil, errs.Wrap(snapErr, "namespace.CountQuotas", "")
	}
	if err := n.wait(ctx, r.ticket); err != nil {
		_ = snap.Close()
		return nil, err
	}
	return snap, nil
}

// credits writes part of what was counted.
func (n *Namespace) credits(ctx context.Context, set uint64, sums map[schema.Account]hemera.QuotaAmount) error {
	return n.update(ctx, func(t *tx) error {
		for a, sum := range sums {
			if err := t.addTo(set, a, sum); err != nil {
				return err
			}
		}
		return nil
	})
}

// accountsAtOnce is how many accounts one change moves, which bounds how long others wait for it.
const accountsAtOnce = 256

// pour empties a set; into gets each account in the change that removes it.
func (n *Namespace) pour(ctx context.Context, set uint64, into func(t *tx, a schema.Account, used hemera.QuotaAmount) error) error {
	for {
		keys, err := n.keys(ctx, schema.IDKey(schema.TableAccount, hemera.FileID(set)), accountsAtOnce)
		if err != nil || len(keys) == 0 {
			return err
		}
		err = n.update(ctx, func(t *tx) error {
			for _, k := range keys {
				used, err := t.amount(k)
				if err != nil {
					return err
				}
				if err := into(t, schema.AccountOf(k), used); err != nil {
					return err
				}
				t.remove(k)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// merge moves what was counted into the node's set, and out of that of the node above, in which it
// was until then.
func (n *Namespace) merge(ctx context.Context, dir hemera.FileID, q *schema.QuotaNode) error {
	err := n.pour(ctx, q.Side, func(t *tx, a schema.Account, used hemera.QuotaAmount) error {
		if q.From != 0 {
			if err := t.addTo(q.From, a, used.Negate()); err != nil {
				return err
			}
		}
		return t.addTo(q.Set, a, used)
	})
	if err != nil {
		return err
	}
	return n.enter(ctx, dir, func(_ *tx, q *schema.QuotaNode) error {
		q.State, q.Side, q.From = schema.NodeExact, 0, 0
		return nil
	})
}

// cutOff gives up counting that nobody goes on with: what was counted so far is thrown away, what
// was recorded since belongs to the node above like the rest.
func (n *Namespace) cutOff(ctx context.Context, dir hemera.FileID, q *schema.QuotaNode) error {
	err := n.pour(ctx, q.Side, func(*tx, schema.Account, hemera.QuotaAmount) error { return nil })
	if err != nil {
		return err
	}
	return n.enter(ctx, dir, func(_ *tx, q *schema.QuotaNode) error {
		q.State, q.Side = schema.NodeEnding, 0
		return nil
	})
}

// leave takes a node without limits out: one that was never counted at once.
func (n *Namespace) leave(ctx context.Context, dir hemera.FileID) error {
	return n.update(ctx, func(t *tx) error {
		q, err := t.quotaNode(dir)
		if err != nil || q.Limited() {
			return err
		}
		if q.State == schema.NodeWaiting {
			return t.unmark(dir)
		}
		from, err := t.realmAbove(dir)
		if err != nil {
			return err
		}
		t.putQuotaNode(dir, schema.QuotaNode{State: schema.NodeEnding, Set: q.Set, From: from})
		return nil
	})
}

// end moves what the node's set has to the node above. Then the directory is no node any more, or,
// if it has limits, one that is to be counted.
func (n *Namespace) end(ctx context.Context, dir hemera.FileID, q *schema.QuotaNode) error {
	err := n.pour(ctx, q.Set, func(t *tx, a schema.Account, used hemera.QuotaAmount) error {
		if q.From == 0 {
			return nil
		}
		return t.addTo(q.From, a, used)
	})
	if err != nil {
		return err
	}
	return n.update(ctx, func(t *tx) error {
		q, err := t.quotaNode(dir)
		if err != nil {
			return err
		}
		if !q.Limited() {
			return t.unmark(dir)
		}
		t.putQuotaNode(dir, schema.QuotaNode{State: schema.NodeWaiting, Limits: q.Limits, Project: q.Project})
		return nil
	})
}

// unmark makes the directory one without limits.
func (t *tx) unmark(dir hemera.FileID) error {
	e, err := t.byID(dir)
	if err == nil && e == nil {
		err = absent("CountQuotas", dir)
	}
	if err != nil {
		return err
	}
	plain := *e
	plain.Quota = false
	t.putEntry(&plain)
	t.remove(schema.IDKey(schema.TableQuotaNode, dir))
	return nil
}
