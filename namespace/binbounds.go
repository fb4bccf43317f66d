package namespace

import (
	"container/heap"
	"context"
	"errors"

	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/rules/recycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// What bins keep is bounded by their rules. The bounds are held by steps in the background: each looks at the oldest
// entries of every bin, and purges those that are too old or too much. A step that is cut off is repeated; nothing but the
// entries themselves says how far it was.

// expireAtOnce is the number of entries that one change purges, which bounds how long other changes wait for it. Each
// touches up to 32 pieces, with three records each, and a batch has room for 4,096 records.
const expireAtOnce = 24

// expireOp is the operation of errors about what is purged in the background.
const expireOp = "Expire"

// Expire purges what the rules of bins do not keep any more, oldest first, about limit entries at most. It returns the
// number of entries purged; fewer than limit means that nothing is left to do. Directories of bins that are empty are
// removed. A namespace that was restored purges nothing before ForgetLost: it does not know what users took out of bins after the
// backup.
func (n *Bins) Expire(ctx context.Context, limit int) (purged int, err error) {
	if n.past.Restored() {
		return 0, nil
	}
	err = n.eachBin(ctx, func(top, bin *hemera.Entry) error {
		rule, err := recycle.Parse(string(bin.Xattrs[recycle.Attr]))
		if err != nil || purged >= limit {
			return nil // a rule that cannot be read bounds nothing
		}
		e := &expiry{bins: n, ctx: ctx, rule: rule, excess: rule.Excess(bin.Tree.Physical), left: limit - purged}
		err = e.run(top, bin)
		purged += e.purged
		return err
	})
	return purged, err
}

// expiry is one step of one bin.
type expiry struct {
	bins   *Bins
	ctx    context.Context
	rule   recycle.Rule
	excess int64           // bytes on disks that have to go whatever their age
	left   int             // entries that may be purged
	due    []hemera.FileID // to be purged by the next change
	purged int
	queue  oldestFirst
}

// run purges the bin's oldest entries. Entries are in order of time for each owner, so it merges owners.
func (e *expiry) run(top, bin *hemera.Entry) error {
	err := e.bins.eachOwner(e.ctx, bin, adminapi.RecycleQuery{All: true}, func(owner *hemera.Entry) error {
		c := &cursor{owner: owner.ID}
		more, err := e.refill(c)
		switch {
		case err != nil:
			return err
		// It was empty at this moment. If something comes, the directory stays, or is made again.
		case !more:
			return e.removeEmpty([]*hemera.Entry{top, bin}, owner)
		}
		e.queue = append(e.queue, c)
		return nil
	})
	if err != nil {
		return err
	}
	if len(e.queue) == 0 {
		return e.removeEmpty([]*hemera.Entry{top}, bin)
	}
	// The first of the queue is the oldest entry of all owners: if it may stay, all may.
	heap.Init(&e.queue)
	for len(e.queue) > 0 && e.purged+len(e.due) < e.left {
		c := e.queue[0]
		oldest := &c.page[0]
		if e.excess <= 0 && !e.rule.Expired(binnedAt(oldest.Name), e.bins.engine.clock()) {
			break // all others are younger
		}
		if err := e.purgeTree(oldest); err != nil {
			return err
		}
		if e.due = append(e.due, oldest.ID); len(e.due) == expireAtOnce {
			if err := e.flush(); err != nil {
				return err
			}
		}
		if err := e.advance(c); err != nil {
			return err
		}
	}
	return e.flush()
}

// purgeTree counts an entry that has to go, and purges what is in a directory.
func (e *expiry) purgeTree(oldest *hemera.Entry) error {
	if !oldest.IsDir() {
		e.excess -= schema.Physical(oldest)
		return nil
	}
	e.excess -= oldest.Tree.Physical
	if oldest.Tree == (hemera.TreeTotals{}) {
		return nil
	}
	purged, err := e.bins.purgeBelow(e.ctx, oldest.ID, "")
	e.purged += purged
	if errors.Is(err, errs.Conflict) {
		return nil // it was restored meanwhile
	}
	return err
}

// advance goes on to the next entry of the owner that the queue begins with.
func (e *expiry) advance(c *cursor) error {
	c.after, c.page = c.page[0].Name, c.page[1:]
	if len(c.page) == 0 {
		more, err := e.refill(c)
		if err != nil {
			return err
		}
		if !more {
			heap.Pop(&e.queue)
			return nil
		}
	}
	heap.Fix(&e.queue, 0)
	return nil
}

// refill reads the next entries of an owner; false if there are none.
func (e *expiry) refill(c *cursor) (more bool, err error) {
	c.page, err = e.bins.oldest(e.ctx, c.owner, c.after, expireAtOnce)
	return len(c.page) > 0, err
}

// flush purges what is due, in one change. What was restored or purged meanwhile is passed over.
func (e *expiry) flush() error {
	if len(e.due) == 0 {
		return nil
	}
	err := e.bins.engine.update(e.ctx, func(t tx) error {
		for _, id := range e.due {
			f, _, err := t.bins().binned(expireOp, hemera.SystemIdentity(), id)
			// The page that it was found in is older than this change.
			if errors.Is(err, errs.NotFound) {
				continue
			}
			if err == nil {
				err = t.bins().purge(f, "")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		e.purged += len(e.due)
		e.due = e.due[:0]
	}
	return err
}

// removeEmpty removes a directory of bins that is still empty.
func (e *expiry) removeEmpty(above []*hemera.Entry, dir *hemera.Entry) error {
	return e.bins.engine.update(e.ctx, func(t tx) error {
		now, err := t.ByID(dir.ID)
		if err != nil || now == nil {
			return err
		}
		// The totals of this transaction decide, not the page that was read before it.
		s, err := t.Directory(dir.ID)
		if err != nil || s.Tree != (hemera.TreeTotals{}) {
			return err
		}
		return t.unlink("Expire", tables.BinPath+pathBelow(above)+"/"+dir.Name, found{dirs: above, name: dir.Name, entry: now})
	})
}

// The queue is as long as the bin has owners; each has one page of names in memory.

// cursor is the progress of a step with one owner.
type cursor struct {
	owner hemera.FileID
	after string         // the name before the page
	page  []hemera.Entry // the next entries
}

// oldestFirst is a heap of cursors: the first has the oldest entry.
type oldestFirst []*cursor

// Len implements heap.Interface.
func (q oldestFirst) Len() int { return len(q) }

// Less implements heap.Interface. Names begin with the time.
func (q oldestFirst) Less(i, j int) bool { return q[i].page[0].Name < q[j].page[0].Name }

// Swap implements heap.Interface.
func (q oldestFirst) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *oldestFirst) Push(x any) { *q = append(*q, x.(*cursor)) }

// Pop implements heap.Interface.
func (q *oldestFirst) Pop() any {
	all := *q
	last := all[len(all)-1]
	*q = all[:len(all)-1]
	return last
}
