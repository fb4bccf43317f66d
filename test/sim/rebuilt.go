package sim

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"hemera/cluster"
	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/rules/layout"
	"hemera/test/sim/simkv"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// rebuildJudge is the part of the judge that loses the namespace on purpose.
// It comes last: what only the namespace knows is gone afterwards.
type rebuildJudge struct {
	w     *world
	judge judge // the checks of the whole cluster
}

// checkRebuild loses the manager's store and all backups, when all else is over, and has the namespace made again from the
// pieces on the drives. Every file that has pieces must come back with its number, its content, its owner and its layout. Names
// are those of the last writes, so files are known by their numbers.
func (j rebuildJudge) checkRebuild(ctx context.Context) {
	// Disks keep pieces that a restored namespace may have forgotten, which would come back here.
	if !j.w.plan.rebuild || j.w.keeper.again {
		return
	}
	// With versions: they are ordinary files. Bins are empty by now.
	before, _, err := j.w.tree(ctx)
	if err != nil {
		j.w.fail("the tree cannot be listed: %v", err)
		return
	}
	// Without tapes nothing tells later that a recalled content is the one that was written.
	for _, e := range before {
		j.w.oracle.Recalled(&e)
	}
	j.w.killManager()
	j.w.trace.Add("sim", "the manager's store is lost, with all backups")
	if err := j.prepare(ctx); err != nil {
		j.w.fail("a rebuild cannot be prepared: %v", err)
		return
	}
	if err := j.w.startManager(rand.New(rand.NewPCG(j.w.plan.seed, 11))); err != nil {
		j.w.fail("a prepared manager does not start: %v", err)
		return
	}
	// Nodes register by themselves, with the ids that they and their disks had. A disk that is missing would be left out.
	h := j.w.head.Load()
	if !j.judge.comes(ctx, 2*time.Minute, func() bool { return j.readable() == j.present() }) {
		j.w.fail("%d of %d disks came back to a prepared manager", j.readable(), j.present())
	}
	report, err := h.Rebuild.Rebuild(ctx, adminapi.RebuildOptions{}, func(adminapi.RebuildReport) error { return nil })
	j.w.trace.Add("sim", "rebuilt: %+v %v", report, err)
	if err == nil {
		err = h.Rebuild.FinishRebuild(ctx)
	}
	if err != nil {
		j.w.fail("the namespace cannot be rebuilt: %v", err)
		return
	}
	// In order, so that the same failure reads the same.
	for _, name := range slices.Sorted(maps.Keys(before)) {
		j.checkRebuilt(ctx, name, before[name])
	}
	j.judge.checkTree(ctx)
}

// checkRebuilt compares one file with what it was.
// Attributes and the directories above it are not compared: pieces do not have them.
func (j rebuildJudge) checkRebuilt(ctx context.Context, name string, was hemera.Entry) {
	if was.Size == 0 {
		return // it had no pieces
	}
	now, at, err := j.w.head.Load().tree.Inspection.Resolve(ctx, was.ID)
	if err != nil {
		j.w.fail("%s, fxid %s, does not come back: %v", name, was.ID.Hex(), err)
		return
	}
	if now.Gen != was.Gen || now.Size != was.Size || now.Layout != was.Layout || now.UID != was.UID || now.GID != was.GID ||
		layout.Indexes(now.Pieces) != layout.Indexes(j.left(was.Pieces)) {
		j.w.fail("%s, fxid %s, comes back as %+v; it was %+v", name, was.ID.Hex(), now, was)
	}
	// The number and the generation tell the content, whatever the name is now.
	binJudge(j).checkContent(ctx, at, now)
}

// left returns the pieces on drives that are there.
// A file may lack pieces for want of disks, and the namespace still names those on drives that are gone.
func (j rebuildJudge) left(pieces []hemera.Piece) []hemera.Piece {
	return slices.DeleteFunc(slices.Clone(pieces), func(p hemera.Piece) bool { return !j.judge.there(p.Disk) })
}

// readable counts the disks that can be read. The caller asks again and again: a view is of one moment.
func (j rebuildJudge) readable() (count int) {
	for _, d := range j.w.head.Load().Cluster.View().Disks {
		if d.Readable() {
			count++
		}
	}
	return count
}

// present counts the drives. The rogue has none.
func (j rebuildJudge) present() (count int) {
	for _, m := range j.w.machines {
		for _, d := range m.drives {
			if !d.gone.Load() {
				count++
			}
		}
	}
	return count
}

// prepare puts a store in the place of the lost one as `hemera ns rebuild prepare` does.
func (j rebuildJudge) prepare(ctx context.Context) error {
	now := j.w.clock(j.w.managerSkew)()
	store := memkv.New()
	// The root has to be there, and its format.
	tree, err := namespace.Open(ctx, store, namespace.Options{Owner: "prepare", Clock: func() time.Time { return now }})
	if err == nil {
		err = tree.Close()
	}
	if err != nil {
		return err
	}
	out, err := store.Acquire(ctx, "prepare")
	if err != nil {
		return err
	}
	// Of no backup: all that was sealed before now is lost, and new ids begin above.
	if _, err := namespace.Restored(ctx, store, out, time.Time{}, now); err != nil {
		return err
	}
	if err := cluster.Prepared(ctx, store, out, now); err != nil {
		return err
	}
	pairs, err := store.Snapshot(ctx)
	// Later than the lost one, as a new epoch is: a writer of before must be fenced.
	was := j.w.device.Copy()
	j.w.device.PutBack(simkv.Image{Pairs: pairs, Seq: was.Seq + 1<<20, Epoch: max(was.Epoch, uint64(now.Unix()))})
	return err
}
