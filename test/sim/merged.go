package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"hemera/namespace"
	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/test/sim/register"
	"hemera/test/sim/simbackup"
	"hemera/test/sim/simkv"
	"hemera/test/sim/simnet"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// mergeJudge is the part of the judge that loses the namespace and has an older backup of it.
// It comes last, in the place of a rebuild without a backup.
type mergeJudge struct {
	w     *world
	judge judge // the checks of the whole cluster
}

// lateClient is the number of the client that works after the backup.
const lateClient = 90

// checkMerge takes a backup of a manager that goes on, has a client write and replace files, loses the store, restores the backup
// and merges. Every file that there was must be back with its number, its content, its owner and its layout, also one that was open
// for writing while the backup was taken.
func (j mergeJudge) checkMerge(ctx context.Context) {
	// Disks keep pieces that a restored namespace may have forgotten, which would come back here.
	if !j.w.plan.merge || j.w.keeper.again {
		return
	}
	// What is used may be above a limit that was set later: new files are rightly refused then.
	binJudge(j).lift(ctx)
	c := newClient(j.w, lateClient)
	across, err := c.open(ctx, hemera.OpenRequest{Path: shared + "/across", Access: hemera.AccessCreate, Mode: 0o666})
	if err != nil {
		j.w.fail("a file cannot be opened before a backup: %v", err)
		return
	}
	c.write(ctx, shared+"/before", hemera.AccessCreate)
	h, taken := j.w.head.Load(), j.w.clock(j.w.managerSkew)()
	var archive bytes.Buffer
	raw, err := h.store.Get(ctx, schema.MetaKey(schema.MetaIDs))
	if err == nil {
		_, err = simbackup.Take(ctx, h.store, &archive, taken)
	}
	if err != nil {
		j.w.fail("a backup cannot be taken: %v", err)
		return
	}
	text := []byte("open while the backup was taken")
	attempt := j.w.oracle.Begin(shared+"/across", c.name+" across a backup", register.ContentOf(text))
	j.w.oracle.Wrote(attempt, across.grant.Permit)
	doubt := false
	if err = across.writeAll(ctx, text, 0); err == nil {
		doubt, err = across.close(ctx)
	}
	j.w.oracle.End(attempt, err == nil, err != nil && !doubt)
	for i := range 8 {
		c.write(ctx, fmt.Sprintf("%s/late%d", shared, i), hemera.AccessCreate)
		c.write(ctx, fmt.Sprintf("%s/f%d", shared, i%3), hemera.AccessCreate)
	}
	// Writes of clients that went away have ended by then.
	simnet.Rest(ctx, hemera.PendingHold+10*time.Second)
	before, _, err := j.w.tree(ctx)
	if err != nil {
		j.w.fail("the tree cannot be listed: %v", err)
		return
	}
	j.w.killManager()
	j.w.trace.Add("sim", "the manager's store is lost, and there is a backup of %s", taken)
	if err := j.restoreOlder(ctx, &archive, taken, schema.Uint64At(raw, 0)); err != nil {
		j.w.fail("an older backup cannot be restored: %v", err)
		return
	}
	if err := j.w.startManager(rand.New(rand.NewPCG(j.w.plan.seed, 13))); err != nil {
		j.w.fail("a restored manager does not start: %v", err)
		return
	}
	r := rebuildJudge(j)
	if !j.judge.comes(ctx, 2*time.Minute, func() bool { return r.readable() == r.present() }) {
		j.w.fail("%d of %d disks came back to a restored manager", r.readable(), r.present())
	}
	h = j.w.head.Load()
	if err := h.Rebuild.ForgetLost(ctx, adminapi.ForgetOptions{}); errs.KindOf(err) != errs.Conflict {
		j.w.fail("what was lost can be forgotten before a merge: %v", err)
	}
	report, err := h.Rebuild.Rebuild(ctx, adminapi.RebuildOptions{Merge: true}, func(adminapi.RebuildReport) error { return nil })
	j.w.trace.Add("sim", "merged: %+v %v", report, err)
	if err != nil {
		j.w.fail("what came after a backup cannot be merged: %v", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		r.checkRebuilt(ctx, name, before[name])
	}
	j.judge.checkTree(ctx)
}

// restoreOlder puts a store that is made of a backup in the place of the lost one. reserved is the end of the numbers that the
// manager had reserved when the backup was taken.
func (j mergeJudge) restoreOlder(ctx context.Context, in *bytes.Buffer, taken time.Time, reserved uint64) error {
	return j.putBack(ctx, in, taken, func(store *memkv.Store) error {
		if j.w.plan.sabotage == TrustReservations {
			return trustReservation(ctx, store, reserved)
		}
		return nil
	})
}

// putBack has the device hold the store of a backup, which change may change before.
func (j mergeJudge) putBack(ctx context.Context, in *bytes.Buffer, taken time.Time, change func(*memkv.Store) error) error {
	now := j.w.clock(j.w.managerSkew)()
	store, err := simbackup.Restored(ctx, in, taken, now)
	if err == nil {
		err = change(store)
	}
	if err != nil {
		return err
	}
	pairs, err := store.Snapshot(ctx)
	was := j.w.device.Copy()
	j.w.device.PutBack(simkv.Image{Pairs: pairs, Seq: was.Seq + 1<<20, Epoch: max(was.Epoch, uint64(now.Unix()))})
	return err
}

// trustReservation has what was lost begin behind the reserved numbers, and nothing count by its time (TrustReservations).
func trustReservation(ctx context.Context, store *memkv.Store, reserved uint64) error {
	var batch kv.Batch
	var bad error
	prefix := schema.MetaKey(schema.MetaBoundary)
	err := store.Scan(ctx, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) bool {
		var b namespace.Boundary
		if b, bad = schema.DecodeBoundary(k, raw); bad != nil {
			return false
		}
		b.Taken = b.Restored.Add(24 * time.Hour)
		batch.Delete(bytes.Clone(k))
		batch.Put(schema.BoundaryKey(reserved), schema.EncodeBoundary(b))
		return true
	})
	if err != nil || bad != nil {
		return errors.Join(err, bad)
	}
	w, err := store.Acquire(ctx, "sabotage")
	if err != nil {
		return err
	}
	ticket, err := w.Enqueue(&batch)
	if err != nil {
		return err
	}
	return ticket.Wait(ctx)
}
