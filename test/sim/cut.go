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
type cutJudge struct {
	w     *world
	judge judge // the checks of the whole cluster
}

// cutClient is the number of the client that works before and after the place where the log is cut.
const cutClient = 92

// cutWrites is the number of files that it writes; the last is always lost.
const cutWrites = 12

// checkCut has a client write and replace files, and loses what the manager stored of the last of them, a moment after they were
// acknowledged: no heartbeat tells of them. The manager must find that out, and an admin gets all of them back.
func (j cutJudge) checkCut(ctx context.Context) {
	// Disks keep pieces that a restored namespace may have forgotten, which would come back here.
	if !j.w.plan.cut || j.w.keeper.again {
		return
	}
	binJudge(j).lift(ctx)
	c, rng := newClient(j.w, cutClient), j.w.plan.random("cut order")
	at := rng.IntN(cutWrites)
	var kept simkv.Image
	for i := range cutWrites {
		if i == at {
			kept = j.w.device.Copy()
		}
		if !j.put(ctx, c, fmt.Sprintf("%s/cut%d", shared, i%(cutWrites-3))) {
			return
		}
	}
	before, _, err := j.w.tree(ctx)
	if err != nil {
		j.w.fail("the tree cannot be listed: %v", err)
		return
	}
	j.w.killManager()
	j.w.trace.Add("sim", "the manager's store is cut after change %d", kept.Seq)
	// As where all run in one process.
	if all := rng.IntN(2) == 0; all {
		for _, m := range j.w.machines {
			m.kill(false, rng)
		}
		defer j.revive()
	}
	j.w.device.PutBack(kept)
	j.w.keeper.stale.Store(&stale{since: kept.Seq})
	defer j.w.keeper.stale.Store(nil)
	if err := j.w.startManager(rand.New(rand.NewPCG(j.w.plan.seed, 19))); err != nil {
		j.w.fail("a manager whose log was cut does not start: %v", err)
		return
	}
	j.revive()
	h := j.w.head.Load()
	if !j.judge.comes(ctx, 2*time.Minute, func() bool { return h.refuses() != nil }) || !errors.Is(h.refuses(), errs.Corrupt) {
		j.w.fail("a manager goes on without what it acknowledged to a node: %v", h.refuses())
		return
	}
	j.w.killManager()
	if err := j.restore(ctx); err != nil {
		j.w.fail("a store whose log was cut cannot be restored: %v", err)
		return
	}
	j.w.keeper.stale.Store(nil)
	if err := j.w.startManager(rand.New(rand.NewPCG(j.w.plan.seed, 23))); err != nil {
		j.w.fail("a restored manager does not start: %v", err)
		return
	}
	r := rebuildJudge(j)
	if !j.judge.comes(ctx, 2*time.Minute, func() bool { return r.readable() == r.present() }) {
		j.w.fail("%d of %d disks came back to a restored manager", r.readable(), r.present())
	}
	backJudge(j).merge(ctx)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		r.checkRebuilt(ctx, name, before[name])
	}
	j.judge.checkTree(ctx)
}

// revive starts the nodes that do not run.
func (j cutJudge) revive() {
	for _, m := range j.w.machines {
		if m.life.Load() == nil {
			if err := m.start(); err != nil {
				j.w.fail("%s does not start again: %v", m.host, err)
			}
		}
	}
}

// put writes or replaces a file, and reports whether that was acknowledged.
func (j cutJudge) put(ctx context.Context, c *client, path string) bool {
	h, err := c.open(ctx, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: 0o666, Force: true})
	if err != nil {
		j.w.fail("%s cannot be opened for writing: %v", path, err)
		return false
	}
	h.left.path = path
	defer h.left.end()
	text := c.bytes(h.grant.Permit.Layout)
	attempt := j.w.oracle.Begin(path, c.name+" before a cut", register.ContentOf(text))
	j.w.oracle.Wrote(attempt, h.grant.Permit)
	doubt := false
	if err = h.writeAll(ctx, text, 0); err == nil {
		doubt, err = h.close(ctx)
	}
	j.w.oracle.End(attempt, err == nil, err != nil && !doubt)
	h.left.closed, h.left.unsure = err == nil, doubt
	if err != nil {
		j.w.fail("%s cannot be written: %v", path, err)
	}
	return err == nil
}

// restore has the device hold what `hemera ns backup --state` and `hemera ns restore` make of what it has.
func (j cutJudge) restore(ctx context.Context) error {
	is := j.w.device.Copy()
	summary, err := namespace.Describe(ctx, is.Pairs)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if _, err := archive.Write(ctx, &out, is.Pairs, archive.Header{Taken: summary.Changed}); err != nil {
		return err
	}
	return mergeJudge(j).putBack(ctx, &out, summary.Changed, func(*memkv.Store) error { return nil })
}
