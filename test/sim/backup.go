package sim

import (
	"bytes"
	"context"
	"errors"
	"time"

	"hemera"
	"hemera/core/cluster"
	"hemera/core/namespace"
	"hemera/errs"
	"hemera/platform/kv"
	"hemera/platform/kv/archive"
	"hemera/platform/kv/memkv"
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
	wrote, err := takeBackup(ctx, h.store, &out, taken)
	n.did("takes a backup: %d pairs, %v", wrote.Pairs, err)
	if err != nil {
		return // the manager was killed meanwhile
	}
	// After the backup: every id in it is below.
	next := h.tree.Stats().NextID
	// A restore must be later than the backup by all clocks.
	if err := tryBackup(ctx, &out, taken, taken.Add(2*managerSkewMax), next); err != nil {
		n.w.fail("a backup cannot be restored: %v", err)
	}
}

// takeBackup writes a backup of a store, as the manager does.
// Reads and writes go on: the snapshot holds up nobody.
func takeBackup(ctx context.Context, store kv.Store, out *bytes.Buffer, taken time.Time) (archive.Totals, error) {
	picture, err := store.Snapshot(ctx)
	if err != nil {
		return archive.Totals{}, err
	}
	wrote, err := archive.Write(ctx, out, picture, archive.Header{Taken: taken})
	return wrote, errors.Join(err, picture.Close())
}

// tryBackup restores an archive into an empty store and has the namespace check itself. Ids given out
// by the manager so far are below next.
func tryBackup(ctx context.Context, in *bytes.Buffer, taken, now time.Time, next hemera.FileID) error {
	store, err := restored(ctx, in, taken, now)
	if err != nil {
		return err
	}
	tree, err := namespace.Open(ctx, store, namespace.Options{Clock: func() time.Time { return now }})
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }() // of a store in memory
	// Usage of quotas is not in the archive; it is counted before the check compares it.
	if err := tree.CountQuotas(ctx); err != nil {
		return err
	}
	// Problems are violations as well as errors: a restored namespace has no excuse.
	problems, err := tree.Check(ctx)
	if err == nil && len(problems) > 0 {
		err = errs.New(errs.Corrupt, "sim.Restore", "", problems[0])
	}
	// An id given out twice would make two files share pieces.
	if restored := tree.Stats().NextID; err == nil && restored < next {
		err = errs.New(errs.Corrupt, "sim.Restore", restored.String(), "the next id was given out before")
	}
	return err
}

// restored is a store made of an archive, as `hemera ns restore` makes it.
func restored(ctx context.Context, in *bytes.Buffer, taken, now time.Time) (*memkv.Store, error) {
	store := memkv.New()
	w, err := store.Acquire(ctx, "restore")
	if err != nil {
		return nil, err
	}
	if _, err := archive.Read(in, archive.Visitor{Pair: func(k, v []byte) error {
		// Each part says which of its keys belong to a restored store: join tokens and the event log do not.
		if !namespace.Restorable(k) || !cluster.Restorable(k) {
			return nil
		}
		_, err := w.Enqueue(&kv.Batch{Ops: []kv.Op{{Key: bytes.Clone(k), Value: bytes.Clone(v)}}})
		return err
	}}); err != nil {
		return nil, err
	}
	if _, err := namespace.Restored(ctx, store, w, taken, now); err != nil {
		return nil, err
	}
	return store, cluster.Restored(ctx, store, w, now)
}
