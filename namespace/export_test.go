package namespace

import (
	"context"
	"runtime"

	"hemera/namespace/schema"
	"hemera/words/hemera"
)

// Glimpse does what Stat does, without the check that the answer is one picture; on the way it dawdles until something
// has changed, if anything does.
func (n *Namespace) Glimpse(ctx context.Context, who hemera.Identity, path string) (out hemera.Entry, err error) {
	var f found
	var was *schema.Directory
	seq, err := n.engine.look(ctx, func(t tx) (err error) {
		if was, err = t.Directory(hemera.RootID); err == nil {
			f, err = t.existing("Stat", who, path)
		}
		return err
	})
	for now, i := was, 0; i < 300 && now == was; i++ {
		runtime.Gosched()
		_, _ = n.engine.look(ctx, func(t tx) (err error) {
			now, err = t.Directory(hemera.RootID)
			return err
		})
	}
	if err == nil {
		var later uint64
		later, err = n.engine.look(ctx, func(t tx) (err error) {
			out, err = t.Full(f.entry)
			return err
		})
		seq = max(seq, later)
	}
	if waitErr := n.engine.records.SettleSeq(ctx, seq); waitErr != nil {
		return out, waitErr
	}
	return out, err
}

// Hasten does what Stat does, without the wait until the answer is durable.
func (n *Namespace) Hasten(ctx context.Context, who hemera.Identity, path string) (out hemera.Entry, err error) {
	_, err = n.engine.look(ctx, func(t tx) error {
		f, err := t.existing("Stat", who, path)
		if err == nil {
			out, err = t.Full(f.entry)
		}
		return err
	})
	return out, err
}

// SetBars sets how many writes are taken to be barred, for an hour.
func (n *Namespace) SetBars(count int) { n.setExpiring(&n.Writes.ended.barred, count) }

// SetRenames sets how many writes are taken to have been renamed, for an hour.
func (n *Namespace) SetRenames(count int) { n.setExpiring(&n.Writes.ended.renamed, count) }

func (n *Namespace) setExpiring(e *expiring, count int) {
	e.due(n.engine.clock(), n.engine.numbers.Next())
	e.counted(count, false)
}
