package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hemera/platform/kv"
	"hemera/platform/turn"
	"hemera/words/errs"
)

// journal makes changes of the records: durable first, then true in memory.
//
// Two things order access. The turn belongs to one change at a time, from its decision until memory shows it; it is held
// while the store syncs, and only its owner changes records. mu guards the memory itself and is never held while anything
// waits: a slow store delays other changes, but no heartbeat and no lease. Take the turn before mu.
type journal struct {
	store kv.Reader // records and tokens; used without mu
	log   *slog.Logger
	now   func() time.Time

	turn   turn.Turn // held while a change is under way
	writer kv.Writer // used by the change that has the turn

	mu     sync.Mutex // guards tables, and what the services say that it guards
	tables *tables
}

// newJournal returns the journal of a store, whose records are not loaded. The writer must be the one of everything else that writes there.
func newJournal(store kv.Reader, writer kv.Writer, log *slog.Logger, now func() time.Time) *journal {
	return &journal{store: store, writer: writer, log: log, now: now, turn: turn.New(), tables: newTables()}
}

// update makes one change. decide looks at memory and puts records into the change; the change is made durable; then
// memory is brought up to it, and then runs, which may be nil. decide and then run with mu held and must not block. A change without records does nothing. If the store fails, memory has what is known to be durable.
func (c *journal) update(ctx context.Context, decide func(ch *change) error, then func()) error {
	if err := c.turn.Acquire(ctx); err != nil {
		return errs.Wrap(err, "cluster.Change", "")
	}
	defer c.turn.Release()
	var ch change
	if err := c.decide(decide, &ch); err != nil || ch.empty() {
		return err
	}
	if err := c.commit(ctx, &ch); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if then != nil {
		then()
	}
	return nil
}

// decide runs a decision with mu held.
func (c *journal) decide(do func(ch *change) error, ch *change) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return do(ch)
}

// commit makes the change durable, then true in memory. A change that is too big for a batch, such as a node with
// thousands of new disks, is made in several, in its order: its author puts first what the rest needs. The caller has
// the turn, and does not hold mu.
func (c *journal) commit(ctx context.Context, ch *change) error {
	steps, err := ch.steps()
	if err != nil {
		return err
	}
	for len(steps) > 0 {
		n := fitting(steps)
		if err := c.commitBatch(ctx, steps[:n]); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// commitBatch stores one batch and waits for the sync, then applies it.
func (c *journal) commitBatch(ctx context.Context, steps []step) error {
	var b kv.Batch
	for _, s := range steps {
		b.Ops = append(b.Ops, s.op)
	}
	ticket, err := c.writer.Enqueue(&b)
	if err != nil {
		return errs.Wrap(err, "cluster.Commit", "")
	}
	// The batch is on its way whether the caller still waits or not, and memory must follow it.
	if err := ticket.Wait(context.WithoutCancel(ctx)); err != nil {
		return errs.Wrap(err, "cluster.Commit", "")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range steps {
		if s.op.Delete {
			c.tables.forget(s.rec)
		} else {
			c.tables.apply(s.rec)
		}
	}
	return nil
}
