package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hemera/rules/layout"
	"hemera/test/sim/simnet"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// ruiner is the part of the judge that destroys data on purpose, and looks what the cluster says of that.
type ruiner struct {
	w     *world
	judge judge // the checks of the whole cluster
}

// ruin takes more drives away at one moment than some files have redundancy, when all else is over. By the rule of the layout it
// is known which files are lost by that. These must be told as lost, and no others; every other file can be read at once, and
// has its pieces again later. Some plans have bad pages before (rot).
func (j ruiner) ruin(ctx context.Context) {
	// Disks keep pieces that a restored namespace may have forgotten, and those may save a file that should be lost.
	if !j.w.plan.ruin || j.w.keeper.again {
		return
	}
	files, _, err := j.w.tree(ctx)
	if err != nil {
		j.w.fail("the tree cannot be listed: %v", err)
		return
	}
	// From here on the checks know files that need not be readable.
	j.w.lost = map[hemera.FileID]bool{}
	if j.w.plan.rot {
		j.rot(ctx, files)
		if files, _, err = j.w.tree(ctx); err != nil {
			j.w.fail("the tree cannot be listed: %v", err)
			return
		}
	}
	// All at one moment: between two of them nothing can be repaired.
	gone := j.takeDrives()
	for path, e := range files {
		left := slices.DeleteFunc(slices.Clone(e.Pieces), func(p hemera.Piece) bool { return gone[p.Disk] })
		if !layout.Readable(e.Layout, e.Size, layout.Indexes(left)) {
			j.w.trace.Add("sim", "%s, fxid %s, layout %s, is lost", path, e.ID.Hex(), e.Layout)
			j.w.lost[e.ID] = true
		}
	}
	// Nobody was told yet: what can be read can be read without any repair.
	j.judge.checkReads(ctx)
	for id := range gone {
		j.told(ctx, id)
	}
	j.judge.forgiven(ctx) // what is left to repair files to
	if left := j.judge.mendedIn(ctx, 10*time.Minute); left != "" {
		j.w.fail("not mended in time after %d drives were lost: %s", len(gone), left)
	}
	j.judge.checkReads(ctx)
	j.judge.checkParity(ctx)
	j.judge.checkTree(ctx)
	j.sees(ctx)
}

// sees waits until the status has what is lost.
// It counts now and then, and not at each question.
func (j ruiner) sees(ctx context.Context) {
	if !j.judge.comes(ctx, 2*time.Minute, func() bool { return j.status(ctx) == "" }) {
		j.w.fail("%s", j.status(ctx))
	}
}

// takeDrives returns the disks that are lost by it.
// It takes some drives away, at least one more than a file of the plan survives at least, and leaves one.
func (j ruiner) takeDrives() map[hemera.DiskID]bool {
	rng := j.w.plan.random("ruin drives")
	disks := slices.DeleteFunc(slices.Clone(j.w.head.Load().Cluster.View().Disks), func(d hemera.Disk) bool { return j.w.drive(d).gone.Load() })
	// What the weakest of all layouts survives.
	least := j.w.plan.replicas - 1
	for _, l := range j.w.plan.coded {
		least = min(least, l.Losses())
	}
	count := min(len(disks)-1, 1+least+rng.IntN(2))
	gone := map[hemera.DiskID]bool{}
	for _, i := range rng.Perm(len(disks))[:max(count, 0)] {
		j.w.trace.Add("sim", "disk %d is lost with all that it has", disks[i].ID)
		j.w.drive(disks[i]).remove()
		gone[disks[i].ID] = true
	}
	return gone
}

// told has an admin say that a disk does not come back.
// Without that, a cluster waits for it: it may only be away.
func (j ruiner) told(ctx context.Context, id hemera.DiskID) {
	var err error
	// Orders that are under way may hold it up for some seconds.
	for range 60 {
		if err = j.w.head.Load().Admin.RemoveDisk(ctx, id, adminapi.Removal{Force: true, Lose: true}); err == nil {
			return
		}
		simnet.Rest(ctx, time.Second)
	}
	j.w.fail("disk %d is gone and cannot be removed: %v", id, err)
}

// status compares what an admin sees first, or returns "".
// A number that is partial is none: not all files were counted.
func (j ruiner) status(ctx context.Context) string {
	s, err := j.w.head.Load().Status.Status(ctx)
	if err != nil {
		return err.Error()
	}
	if f := s.Files; f.Partial || f.Lost != int64(len(j.w.lost)) || f.Unreadable != 0 {
		return fmt.Sprintf("the status has %d files lost and %d that cannot be read now, and %d are lost", f.Lost, f.Unreadable, len(j.w.lost))
	}
	return ""
}
