package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hemera/rules/layout"
	"hemera/test/sim/register"
	"hemera/test/sim/simnet"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// ruiner is the part of the judge that destroys data on purpose, and looks what the cluster says of that.
type ruiner struct{ judge }

// ruin takes more drives away at one moment than some files have redundancy, when all else is over. By the rule of the layout it
// is known which files are lost by that. These must be told as lost, and no others; every other file can be read at once, and
// has its pieces again later. Some plans have bad pages before (rot).
func (w ruiner) ruin(ctx context.Context) {
	// Disks keep pieces that a restored namespace may have forgotten, and those may save a file that should be lost.
	if !w.plan.ruin || w.keeper.again {
		return
	}
	files, _, err := w.tree(ctx)
	if err != nil {
		w.fail("the tree cannot be listed: %v", err)
		return
	}
	// From here on the checks know files that need not be readable.
	w.lost = map[hemera.FileID]bool{}
	if w.plan.rot {
		w.rot(ctx, files)
		if files, _, err = w.tree(ctx); err != nil {
			w.fail("the tree cannot be listed: %v", err)
			return
		}
	}
	// All at one moment: between two of them nothing can be repaired.
	gone := w.takeDrives()
	for path, e := range files {
		left := slices.DeleteFunc(slices.Clone(e.Pieces), func(p hemera.Piece) bool { return gone[p.Disk] })
		if !layout.Readable(e.Layout, e.Size, layout.Indexes(left)) {
			w.trace.Add("sim", "%s, fxid %s, layout %s, is lost", path, e.ID.Hex(), e.Layout)
			w.lost[e.ID] = true
		}
	}
	// Nobody was told yet: what can be read can be read without any repair.
	w.checkReads(ctx)
	for id := range gone {
		w.told(ctx, id)
	}
	w.forgiven(ctx) // what is left to repair files to
	if left := w.mendedIn(ctx, 10*time.Minute); left != "" {
		w.fail("not mended in time after %d drives were lost: %s", len(gone), left)
	}
	w.checkReads(ctx)
	w.checkParity(ctx)
	w.checkTree(ctx)
	w.sees(ctx)
}

// sees waits until the status has what is lost.
// It counts now and then, and not at each question.
func (w ruiner) sees(ctx context.Context) {
	if !w.comes(ctx, 2*time.Minute, func() bool { return w.status(ctx) == "" }) {
		w.fail("%s", w.status(ctx))
	}
}

// takeDrives returns the disks that are lost by it.
// It takes some drives away, at least one more than a file of the plan survives at least, and leaves one.
func (w ruiner) takeDrives() map[hemera.DiskID]bool {
	rng := w.plan.random("ruin drives")
	disks := slices.DeleteFunc(slices.Clone(w.head.Load().Cluster.View().Disks), func(d hemera.Disk) bool { return w.drive(d).gone.Load() })
	// What the weakest of all layouts survives.
	least := w.plan.replicas - 1
	for _, l := range w.plan.coded {
		least = min(least, l.Losses())
	}
	count := min(len(disks)-1, 1+least+rng.IntN(2))
	gone := map[hemera.DiskID]bool{}
	for _, i := range rng.Perm(len(disks))[:max(count, 0)] {
		w.trace.Add("sim", "disk %d is lost with all that it has", disks[i].ID)
		w.drive(disks[i]).remove()
		gone[disks[i].ID] = true
	}
	return gone
}

// told has an admin say that a disk does not come back.
// Without that, a cluster waits for it: it may only be away.
func (w ruiner) told(ctx context.Context, id hemera.DiskID) {
	var err error
	// Orders that are under way may hold it up for some seconds.
	for range 60 {
		if err = w.head.Load().Admin.RemoveDisk(ctx, id, hemera.Removal{Force: true, Lose: true}); err == nil {
			return
		}
		simnet.Rest(ctx, time.Second)
	}
	w.fail("disk %d is gone and cannot be removed: %v", id, err)
}

// losses compares the files that fsck counts as lost with those that are, and removes them from the report. It returns what
// differs, or "".
func (w ruiner) losses(report *hemera.FsckReport) string {
	told := map[hemera.FileID]bool{}
	report.Problems = slices.DeleteFunc(report.Problems, func(p hemera.FsckProblem) bool {
		if p.Tag != "lost" {
			return false
		}
		for _, id := range p.Files {
			told[id] = true
		}
		return true
	})
	if !maps.Equal(told, w.lost) {
		return fmt.Sprintf("fsck counts the files %v as lost, and these are: %v", slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(w.lost)))
	}
	return ""
}

// status compares what an admin sees first, or returns "".
// A number that is partial is none: not all files were counted.
func (w ruiner) status(ctx context.Context) string {
	s, err := w.head.Load().Status.Status(ctx)
	if err != nil {
		return err.Error()
	}
	if f := s.Files; f.Partial || f.Lost != int64(len(w.lost)) || f.Unreadable != 0 {
		return fmt.Sprintf("the status has %d files lost and %d that cannot be read now, and %d are lost", f.Lost, f.Unreadable, len(w.lost))
	}
	return ""
}

// checkLost fails unless the read of a lost file failed, and said so.
// How it says so depends on where the read got to.
func (w ruiner) checkLost(path string, found register.Content, err error) {
	switch {
	case err == nil:
		w.fail("%s is lost, and a client reads %s", path, found)
	case !errors.Is(err, errs.NoReplicas) && !errors.Is(err, errs.Corrupt) && !simnet.Lost(err) && errs.KindOf(err) != errs.IO:
		w.fail("%s is lost, and a client is told: %v", path, err)
	}
}
