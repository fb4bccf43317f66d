package namespace

import (
	"context"

	"hemera/core/namespace/schema"
)

// idRange is how many ids one batch reserves; at most twice as many are lost by a restart.
const idRange = 200_000

// takeID hands out a number that was never used before and will not be again, as an id or a
// generation. The caller does not hold mu. Numbers are reserved in the background when the range
// begins to run out, so that thousands of opens a second do not all wait for the disk together.
func (n *Namespace) takeID(ctx context.Context) (uint64, error) {
	id := n.nextID.Add(1) - 1
	reserved := n.reserved.Load()
	if id+idRange/2 >= reserved && id < reserved && n.reserving.CompareAndSwap(false, true) {
		go func() {
			defer n.reserving.Store(false)
			_ = n.reserve(context.Background(), reserved) // who needs it tries again and is told
		}()
	}
	for id >= reserved {
		if err := n.reserve(ctx, reserved); err != nil {
			return 0, err
		}
		reserved = n.reserved.Load()
	}
	return id, nil
}

// reserve moves the end of the range up, unless that was done since it was seen there.
func (n *Namespace) reserve(ctx context.Context, seen uint64) error {
	n.idMu.Lock()
	defer n.idMu.Unlock()
	if n.reserved.Load() != seen {
		return nil
	}
	end := seen + idRange
	ctx = strict(ctx) // a number must never be handed out twice, whoever asks
	if err := n.update(ctx, func(t *tx) error {
		t.set(schema.MetaKey(schema.MetaIDs), schema.Mark{}, schema.EncodePair(end, 0))
		return nil
	}); err != nil {
		return err
	}
	n.reserved.Store(end)
	return nil
}
