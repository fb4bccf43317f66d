package sim

import (
	"bytes"
	"context"
	"hemera/test/sim/simbackup"
	"time"
)

// backup has an admin take a backup while everybody works, and tries it out beside the cluster: what
// is restored must be a whole namespace that goes on with ids nobody had.
func (n *nemesis) backup(ctx context.Context) {
	h := n.w.head.Load()
	if h == nil {
		return
	}
	var out bytes.Buffer
	taken := time.Now() // of the simulated clock, without the manager's skew
	wrote, err := simbackup.Take(ctx, h.store, &out, taken)
	n.did("takes a backup: %d pairs, %v", wrote.Pairs, err)
	if err != nil {
		return // the manager was killed meanwhile
	}
	// After the backup: every id in it is below.
	next := h.tree.Inspection.Stats().NextID
	// A restore must be later than the backup by all clocks.
	if err := simbackup.Try(ctx, &out, taken, taken.Add(2*managerSkewMax), next); err != nil {
		n.w.fail("a backup cannot be restored: %v", err)
	}
}
