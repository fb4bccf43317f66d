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
	"hemera/platform/kv/archive"
	"hemera/platform/kv/memkv"
	"hemera/test/sim/register"
	"hemera/test/sim/simkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// cutJudge is the part of the judge that loses the end of the manager's log.
// It comes last, in the place of a merge.
type cutJudge struct{ judge }

// cutClient is the number of the client that works before and after the place where the log is cut.
const cutClient = 92

// cutWrites is how many files it writes; the last is always lost.
const cutWrites = 12

// checkCut has a client write and replace files, and loses what the manager stored of the last of them, a moment after they were
// acknowledged: no heartbeat tells of them. The manager must find that out, and an admin gets all of them back.
func (w cutJudge) checkCut(ctx context.Context) {
	// Disks keep pieces that a restored namespace may have forgotten, which would come back here.
	if !w.plan.cut || w.keeper.again {
		return
	}
	binJudge(w).lift(ctx)
	c, rng := newClient(w.world, cutClient), w.plan.random("cut order")
	at := rng.IntN(cutWrites)
	var kept simkv.Image
	for i := range cutWrites {
		if i == at {
			kept = w.device.Copy()
		}
		if !w.put(ctx, c, fmt.Sprintf("%s/cut%d", shared, i%(cutWrites-3))) {
			return
		}
	}
	before, _, err := w.tree(ctx)
	if err != nil {
		w.fail("the tree cannot be listed: %v", err)
		return
	}
	w.killManager()
	w.trace.Add("sim", "the manager's store is cut after change %d", kept.Seq)
	// As where all run in one process.
	if all := rng.IntN(2) == 0; all {
		for _, m := range w.machines {
			m.kill(false, rng)
		}
		defer w.revive()
	}
	w.device.PutBack(kept)
	w.keeper.stale.Store(&stale{since: kept.Seq})
	defer w.keeper.stale.Store(nil)
	if err := w.startManager(rand.New(rand.NewPCG(w.plan.seed, 19))); err != nil {
		w.fail("a manager whose log was cut does not start: %v", err)
		return
	}
	w.revive()
	h := w.head.Load()
	if !w.comes(ctx, 2*time.Minute, func() bool { return h.refuses() != nil }) || !errors.Is(h.refuses(), errs.Corrupt) {
		w.fail("a manager goes on without what it acknowledged to a node: %v", h.refuses())
		return
	}
	w.killManager()
	if err := w.restore(ctx); err != nil {
		w.fail("a store whose log was cut cannot be restored: %v", err)
		return
	}
	w.keeper.stale.Store(nil)
	if err := w.startManager(rand.New(rand.NewPCG(w.plan.seed, 23))); err != nil {
		w.fail("a restored manager does not start: %v", err)
		return
	}
	r := rebuildJudge(w)
	if !w.comes(ctx, 2*time.Minute, func() bool { return r.readable() == r.present() }) {
		w.fail("%d of %d disks came back to a restored manager", r.readable(), r.present())
	}
	backJudge(w).merge(ctx)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		r.checkRebuilt(ctx, name, before[name])
	}
	w.checkTree(ctx)
}

// revive starts the nodes that do not run.
func (w cutJudge) revive() {
	for _, m := range w.machines {
		if m.life.Load() == nil {
			if err := m.start(); err != nil {
				w.fail("%s does not start again: %v", m.host, err)
			}
		}
	}
}

// put writes or replaces a file, and reports whether that was acknowledged.
func (w cutJudge) put(ctx context.Context, c *client, path string) bool {
	h, err := c.open(ctx, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: 0o666, Force: true})
	if err != nil {
		w.fail("%s cannot be opened for writing: %v", path, err)
		return false
	}
	h.left.path = path
	defer h.left.end()
	text := c.bytes(h.grant.Permit.Layout)
	attempt := w.oracle.Begin(path, c.name+" before a cut", register.ContentOf(text))
	w.oracle.Wrote(attempt, h.grant.Permit)
	doubt := false
	if err = h.writeAll(ctx, text, 0); err == nil {
		doubt, err = h.close(ctx)
	}
	w.oracle.End(attempt, err == nil, err != nil && !doubt)
	h.left.closed, h.left.unsure = err == nil, doubt
	if err != nil {
		w.fail("%s cannot be written: %v", path, err)
	}
	return err == nil
}

// restore has the device hold what `hemera ns backup --state` and `hemera ns restore` make of what it has.
func (w cutJudge) restore(ctx context.Context) error {
	is := w.device.Copy()
	summary, err := namespace.Describe(ctx, is.Pairs)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if _, err := archive.Write(ctx, &out, is.Pairs, archive.Header{Taken: summary.Changed}); err != nil {
		return err
	}
	return mergeJudge(w).putBack(ctx, &out, summary.Changed, func(*memkv.Store) error { return nil })
}
