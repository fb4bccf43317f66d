package namespace

import (
	"context"
	"runtime"

	"hemera"
)

// Glimpse is Stat that does not care whether what it sees is one picture; on the way it dawdles until
// something has changed, if anything does.
func (n *Namespace) Glimpse(ctx context.Context, who hemera.Identity, path string) (out hemera.Entry, err error) {
	t := &tx{n: n, ctx: ctx}
	f, err := t.existing("Stat", who, path)
	was := n.version.Load()
	for i := 0; i < 300 && n.version.Load() == was; i++ {
		runtime.Gosched()
	}
	if err == nil {
		out, err = t.full(f.entry)
	}
	if waitErr := n.settled(ctx, t.touched); waitErr != nil {
		return out, waitErr
	}
	return out, err
}

// Hasten is Stat that does not care whether what it sees is durable.
func (n *Namespace) Hasten(ctx context.Context, who hemera.Identity, path string) (out hemera.Entry, err error) {
	_, err = n.look(ctx, func(t *tx) error {
		f, err := t.existing("Stat", who, path)
		if err == nil {
			out, err = t.full(f.entry)
		}
		return err
	})
	return out, err
}

// SetBars sets how many writes are taken to be barred, for an hour.
func (n *Namespace) SetBars(count int) {
	n.bars.due(n.clock(), n.nextID.Load())
	n.bars.counted(count, false)
}

// SetRenames sets how many writes are taken to have been renamed, for an hour.
func (n *Namespace) SetRenames(count int) {
	n.renames.due(n.clock(), n.nextID.Load())
	n.renames.counted(count, false)
}
