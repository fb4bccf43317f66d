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
	"hemera/words/hemera"
)

// backJudge is the part of the judge that loses the namespace while tapes have what an older backup does not know.
// It comes when cartridges were compared, and compares them again.
type backJudge struct{ judge }

// backClient is the number of the client that works before and after the backup.
const backClient = 91

// checkBack takes a backup, has files archived that are on tape only then, restores the backup, and has more files wait for tape. An admin
// does what the system asks for. Every file that there was must be back, and none of them may have been written over.
func (w backJudge) checkBack(ctx context.Context) {
	if !w.plan.back || w.keeper.again {
		return
	}
	if err := w.tapes.start(); err != nil {
		w.fail("the tape server does not start again: %v", err)
		return
	}
	t := tapeJudge(w)
	c := newClient(w.world, backClient)
	c.write(ctx, shared+"/backed", hemera.AccessCreate)
	t.served(ctx)
	h, taken := w.head.Load(), w.clock(w.managerSkew)()
	var archive bytes.Buffer
	if _, err := simbackup.Take(ctx, h.store, &archive, taken); err != nil {
		w.fail("a backup cannot be taken: %v", err)
		return
	}
	late := w.writeLate(ctx, c)
	if w.failed() {
		return
	}
	w.killManager()
	w.trace.Add("sim", "the manager's store is lost, %d files are on tape only, and there is a backup of %s", len(late), taken)
	if err := w.restore(ctx, &archive, taken); err != nil {
		w.fail("an older backup cannot be restored: %v", err)
		return
	}
	if err := w.startManager(rand.New(rand.NewPCG(w.plan.seed, 17))); err != nil {
		w.fail("a restored manager does not start: %v", err)
		return
	}
	r := rebuildJudge(w)
	if !w.comes(ctx, 2*time.Minute, func() bool { return r.readable() == r.present() }) {
		w.fail("%d of %d disks came back to a restored manager", r.readable(), r.present())
	}
	rng := w.plan.random("back order")
	if rng.IntN(2) == 0 {
		w.merge(ctx)
	}
	// Their jobs wait, as no tape may be written.
	for i := range 3 {
		c.write(ctx, fmt.Sprintf("%s/waits%d", shared, i), hemera.AccessCreate)
	}
	simnet.Rest(ctx, time.Duration(rng.IntN(120))*time.Second)
	w.scanNeeded(ctx)
	w.merge(ctx)
	t.served(ctx)
	w.compareLate(ctx, late)
	t.recallAll(ctx)
	w.checkTree(ctx)
	t.checkCartridges(ctx)
}

// writeLate has files archived after the backup that are on tape only then, and returns them by path.
func (w backJudge) writeLate(ctx context.Context, c *client) map[string]hemera.Entry {
	for i := range 8 {
		c.write(ctx, fmt.Sprintf("%s/afterwards%d", shared, i), hemera.AccessCreate)
	}
	simnet.Rest(ctx, hemera.PendingHold+10*time.Second)
	tapeJudge(w).served(ctx)
	files, _, err := w.tree(ctx)
	if err != nil {
		w.fail("the tree cannot be listed: %v", err)
	}
	late := map[string]hemera.Entry{}
	for i := range 8 {
		path := fmt.Sprintf("%s/afterwards%d", shared, i)
		if e, ok := files[path]; ok && len(e.Tape) > 0 {
			if _, err := w.head.Load().Staging.Release(ctx, hemera.SystemIdentity(), "", []string{path}); err != nil {
				w.fail("%s cannot be released: %v", path, err)
			}
			late[path] = e
		}
	}
	// Pieces that disks still hold would come back by a merge.
	simnet.Rest(ctx, w.plan.hold+2*time.Minute)
	return late
}

// restore puts a store that is made of the backup in the place of the lost one.
func (w backJudge) restore(ctx context.Context, in *bytes.Buffer, taken time.Time) error {
	return mergeJudge(w).putBack(ctx, in, taken, func(store *memkv.Store) error {
		if w.plan.sabotage != WriteOver {
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
func (w backJudge) merge(ctx context.Context) {
	report, err := w.head.Load().Rebuild.Rebuild(ctx, hemera.RebuildOptions{Merge: true}, func(hemera.RebuildReport) error { return nil })
	w.trace.Add("sim", "merged: %+v %v", report, err)
	if err != nil {
		w.fail("what came after a backup cannot be merged: %v", err)
	}
}

// scanNeeded orders what the tape status of a restored store asks for, and waits until no tape waits for a scan.
func (w backJudge) scanNeeded(ctx context.Context) {
	h := w.head.Load()
	text := ""
	if !w.comes(ctx, 4*time.Hour, func() bool {
		picture, err := h.Tape.TapePicture(ctx)
		going := slices.ContainsFunc(picture.Scans, func(s hemera.TapeScan) bool { return s.Ended.IsZero() })
		if err != nil || going {
			text = fmt.Sprintf("%v, %+v", err, picture.Scans)
			return w.failed()
		}
		all, err := h.Tape.Tapes(ctx)
		waits := slices.IndexFunc(all, func(t hemera.Tape) bool { return t.Unscanned != "" })
		if err != nil || waits < 0 {
			text = fmt.Sprint(err)
			return err == nil || w.failed()
		}
		_, err = h.Tape.OrderTape(ctx, "sim", hemera.TapeOrder{Kind: hemera.OrderScan, Only: true})
		text = fmt.Sprintf("tape %s: %s, %v", all[waits].VID, all[waits].Unscanned, err)
		return w.failed()
	}) {
		w.fail("tapes of a restored store are not scanned in time: %s", text)
	}
}

// compareLate holds that what was archived after the backup is back.
func (w backJudge) compareLate(ctx context.Context, late map[string]hemera.Entry) {
	files, _, err := w.tree(ctx)
	if err != nil {
		w.fail("the tree cannot be listed: %v", err)
	}
	for path, was := range late {
		is, ok := files[path]
		if !ok || is.ArchiveID() != was.ArchiveID() || is.Size != was.Size || len(simtape.Missing(&is)) > 0 {
			w.fail("%s was on tape only, and is %+v after a restore and a scan, not %+v", path, is, was)
		}
	}
}
