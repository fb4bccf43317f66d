package sim

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/test/sim/simbackup"
	"hemera/test/sim/simnet"
	"hemera/test/sim/simtape"
	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// backJudge is the part of the judge that loses the namespace while tapes have what an older backup does not know.
// It comes when cartridges were compared, and compares them again.
type backJudge struct {
	w     *world
	judge judge // the checks of the whole cluster
}

// backClient is the number of the client that works before and after the backup.
const backClient = 91

// checkBack takes a backup, has files archived that are on tape only then, restores the backup, and has more files wait for tape. An admin
// does what the system asks for. Every file that there was must be back, and none of them may have been written over.
func (j backJudge) checkBack(ctx context.Context) {
	if !j.w.plan.back || j.w.keeper.again {
		return
	}
	if err := j.w.tapes.start(); err != nil {
		j.w.fail("the tape server does not start again: %v", err)
		return
	}
	t := tapeJudge(j)
	c := newClient(j.w, backClient)
	c.write(ctx, shared+"/backed", hemera.AccessCreate)
	t.served(ctx)
	h, taken := j.w.head.Load(), j.w.clock(j.w.managerSkew)()
	var archive bytes.Buffer
	if _, err := simbackup.Take(ctx, h.store, &archive, taken); err != nil {
		j.w.fail("a backup cannot be taken: %v", err)
		return
	}
	late := j.writeLate(ctx, c)
	if j.w.failed() {
		return
	}
	j.w.killManager()
	j.w.trace.Add("sim", "the manager's store is lost, %d files are on tape only, and there is a backup of %s", len(late), taken)
	if err := j.restore(ctx, &archive, taken); err != nil {
		j.w.fail("an older backup cannot be restored: %v", err)
		return
	}
	if err := j.w.startManager(rand.New(rand.NewPCG(j.w.plan.seed, 17))); err != nil {
		j.w.fail("a restored manager does not start: %v", err)
		return
	}
	r := rebuildJudge(j)
	if !j.judge.comes(ctx, 2*time.Minute, func() bool { return r.readable() == r.present() }) {
		j.w.fail("%d of %d disks came back to a restored manager", r.readable(), r.present())
	}
	rng := j.w.plan.random("back order")
	if rng.IntN(2) == 0 {
		j.merge(ctx)
	}
	// Their jobs wait, as no tape may be written.
	for i := range 3 {
		c.write(ctx, fmt.Sprintf("%s/waits%d", shared, i), hemera.AccessCreate)
	}
	simnet.Rest(ctx, time.Duration(rng.IntN(120))*time.Second)
	j.scanNeeded(ctx)
	j.merge(ctx)
	t.served(ctx)
	j.compareLate(ctx, late)
	t.recallAll(ctx)
	j.judge.checkTree(ctx)
	t.checkCartridges(ctx)
}

// writeLate has files archived after the backup that are on tape only then, and returns them by path.
func (j backJudge) writeLate(ctx context.Context, c *client) map[string]hemera.Entry {
	for i := range 8 {
		c.write(ctx, fmt.Sprintf("%s/afterwards%d", shared, i), hemera.AccessCreate)
	}
	simnet.Rest(ctx, hemera.PendingHold+10*time.Second)
	tapeJudge(j).served(ctx)
	files, _, err := j.w.tree(ctx)
	if err != nil {
		j.w.fail("the tree cannot be listed: %v", err)
	}
	late := map[string]hemera.Entry{}
	for i := range 8 {
		path := fmt.Sprintf("%s/afterwards%d", shared, i)
		if e, ok := files[path]; ok && len(e.Tape) > 0 {
			if _, err := j.w.head.Load().Staging.Release(ctx, hemera.SystemIdentity(), "", []string{path}); err != nil {
				j.w.fail("%s cannot be released: %v", path, err)
			}
			late[path] = e
		}
	}
	// Pieces that disks still hold would come back by a merge.
	simnet.Rest(ctx, j.w.plan.hold+2*time.Minute)
	return late
}

// restore puts a store that is made of the backup in the place of the lost one.
func (j backJudge) restore(ctx context.Context, in *bytes.Buffer, taken time.Time) error {
	return mergeJudge(j).putBack(ctx, in, taken, func(store *memkv.Store) error {
		if j.w.plan.sabotage != WriteOver {
			return nil
		}
		// The manager does not know that it went back; the drives hide from appends what stands behind their place.
		var batch kv.Batch
		batch.Delete(schema.MetaKey(schema.MetaLife))
		out, err := store.Acquire(ctx, "sabotage")
		if err != nil {
			return err
		}
		ticket, err := out.Enqueue(&batch)
		if err != nil {
			return err
		}
		return ticket.Wait(ctx)
	})
}

// merge makes files of what disks have.
func (j backJudge) merge(ctx context.Context) {
	report, err := j.w.head.Load().Rebuild.Rebuild(ctx, adminapi.RebuildOptions{Merge: true}, func(adminapi.RebuildReport) error { return nil })
	j.w.trace.Add("sim", "merged: %+v %v", report, err)
	if err != nil {
		j.w.fail("what came after a backup cannot be merged: %v", err)
	}
}

// scanNeeded orders what the tape status of a restored store asks for, and waits until no tape waits for a scan.
func (j backJudge) scanNeeded(ctx context.Context) {
	h := j.w.head.Load()
	text := ""
	if !j.judge.comes(ctx, 4*time.Hour, func() bool {
		picture, err := h.Tape.TapePicture(ctx)
		going := slices.ContainsFunc(picture.Scans, func(s adminapi.TapeScan) bool { return s.Ended.IsZero() })
		if err != nil || going {
			text = fmt.Sprintf("%v, %+v", err, picture.Scans)
			return j.w.failed()
		}
		all, err := h.Tape.Tapes(ctx)
		waits := slices.IndexFunc(all, func(t tapeapi.Tape) bool { return t.Unscanned != "" })
		if err != nil || waits < 0 {
			text = fmt.Sprint(err)
			return err == nil || j.w.failed()
		}
		_, err = h.Tape.OrderTape(ctx, "sim", adminapi.TapeOrder{Kind: adminapi.OrderScan, Only: true})
		text = fmt.Sprintf("tape %s: %s, %v", all[waits].VID, all[waits].Unscanned, err)
		return j.w.failed()
	}) {
		j.w.fail("tapes of a restored store are not scanned in time: %s", text)
	}
}

// compareLate holds that what was archived after the backup is back.
func (j backJudge) compareLate(ctx context.Context, late map[string]hemera.Entry) {
	files, _, err := j.w.tree(ctx)
	if err != nil {
		j.w.fail("the tree cannot be listed: %v", err)
	}
	for path, was := range late {
		is, ok := files[path]
		if !ok || is.ArchiveID() != was.ArchiveID() || is.Size != was.Size || len(simtape.Missing(&is)) > 0 {
			j.w.fail("%s was on tape only, and is %+v after a restore and a scan, not %+v", path, is, was)
		}
	}
}
