// Package simbackup takes backups of a manager's store, and tries them out beside the cluster.
//
// It is a package of its own, as it uses the programs' part of a backup, and nothing of the simulated cluster.
package simbackup

import (
	"bytes"
	"context"
	"errors"
	"time"

	"hemera/cluster"
	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/archive"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Take writes a backup of a store, as the manager does.
// Reads and writes go on: the snapshot holds up nobody.
func Take(ctx context.Context, store kv.Store, out *bytes.Buffer, taken time.Time) (archive.Totals, error) {
	picture, err := store.Snapshot(ctx)
	if err != nil {
		return archive.Totals{}, err
	}
	wrote, err := archive.Write(ctx, out, picture, archive.Header{Taken: taken})
	return wrote, errors.Join(err, picture.Close())
}

// Try restores an archive into an empty store and has the namespace check itself. Ids given out
// by the manager so far are below next.
func Try(ctx context.Context, in *bytes.Buffer, taken, now time.Time, next hemera.FileID) error {
	store, err := Restored(ctx, in, taken, now)
	if err != nil {
		return err
	}
	tree, err := namespace.Open(ctx, store, namespace.Options{Clock: func() time.Time { return now }})
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }() // of a store in memory
	// Usage of quotas is not in the archive; it is counted before the check compares it.
	if err := tree.Quotas.CountQuotas(ctx); err != nil {
		return err
	}
	// Problems are violations as well as errors: a restored namespace has no excuse.
	problems, err := tree.Inspection.Check(ctx)
	if err == nil && len(problems) > 0 {
		err = errs.New(errs.Corrupt, "sim.Restore", "", problems[0])
	}
	// An id given out twice would make two files share pieces.
	if restored := tree.Inspection.Stats().NextID; err == nil && restored < next {
		err = errs.New(errs.Corrupt, "sim.Restore", restored.String(), "the next id was given out before")
	}
	return err
}

// Restored returns a store made of an archive, as `hemera ns restore` makes it.
func Restored(ctx context.Context, in *bytes.Buffer, taken, now time.Time) (*memkv.Store, error) {
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
