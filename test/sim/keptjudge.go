package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hemera/rules/recycle"
	"hemera/test/sim/simnet"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// binJudge is the part of the judge that looks at what is kept of removed and replaced files.
// It works in the tree as an admin would: nothing of it goes past the manager.
type binJudge struct {
	w     *world
	judge judge // the checks of the whole cluster
}

// backDir is the directory to which the judge restores the entries of bins.
const backDir = "/back"

// checkKept restores everything that recycle bins have, and compares each content with what was written: what is kept is drained
// and repaired as all other files are. It also holds that nothing is missing that had to be kept.
func (j binJudge) checkKept(ctx context.Context) {
	if !j.w.plan.keeps() {
		return
	}
	j.checkBounds(ctx)
	j.lift(ctx)
	// The list is of one moment at which nobody works, so it has everything.
	h := j.w.head.Load()
	for i, r := range j.recycled(ctx) {
		_, err := h.Recycle.Restore(ctx, hemera.SystemIdentity(), adminapi.RestoreRequest{ID: r.Entry.ID, To: fmt.Sprintf("%s/%d", backDir, i), Parents: true})
		// A directory of versions came back with its file.
		if err != nil && !(r.Entry.IsDir() && errors.Is(err, errs.NotFound)) {
			j.w.fail("fxid %s of %s cannot be restored: %v", r.Entry.ID.Hex(), r.Path, err)
		}
	}
	files, _, err := j.w.tree(ctx)
	if err != nil {
		j.w.fail("the tree cannot be listed: %v", err)
	}
	// Updates keep the number of a file, so the generation may be a later one.
	there := map[hemera.FileID]bool{}
	for _, e := range files {
		there[e.ID] = true
	}
	// Other files are read by path, against what the oracle knows of that.
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if isVersion(name) || strings.HasPrefix(name, backDir+"/") {
			j.checkContent(ctx, name, files[name])
		}
	}
	if !j.w.plan.keepsAll() {
		return
	}
	// Everything that a client knows to be durable, whatever name it had.
	for id, by := range j.w.oracle.Acknowledged() {
		if !there[id] {
			j.w.fail("fxid %s, from %s, is nowhere: neither in the tree, nor in a bin, nor a version", id.Hex(), by)
		}
	}
}

// checkContent reads a file that is known by its number and its generation.
func (j binJudge) checkContent(ctx context.Context, name string, e hemera.Entry) {
	found, err := j.judge.reader().fetch(ctx, name)
	if err != nil {
		j.w.fail("%s (%s) was kept and cannot be read: %v", name, e.ID.Hex(), err)
		return
	}
	if may := j.w.oracle.Written(&e); !slices.Contains(may, found) {
		j.w.fail("%s, fxid %s gen %d, was kept and holds %s; it may hold only %v", name, e.ID.Hex(), e.Gen, found, may)
	}
}

// recycled lists what is in bins.
// An admin sees what all users removed.
func (j binJudge) recycled(ctx context.Context) (list []adminapi.Recycled) {
	err := j.w.head.Load().Recycle.ListRecycled(ctx, hemera.SystemIdentity(), adminapi.RecycleQuery{All: true}, func(r adminapi.Recycled) error {
		list = append(list, r)
		return nil
	})
	if err != nil {
		j.w.fail("what is in bins cannot be listed: %v", err)
	}
	return list
}

// checkBounds waits until bins keep no more than their rules say. All that they have is hours old. Those of a store that went back keep
// everything.
func (j binJudge) checkBounds(ctx context.Context) {
	rule, err := recycle.Parse(j.w.plan.recycle)
	if j.w.plan.recycle == "" || err != nil || j.w.head.Load().tree.Past.Restored() {
		return
	}
	// The rule bounds each bin, and there is one for the root.
	over := func() string {
		bins, err := j.w.head.Load().Recycle.ListBins(ctx, hemera.SystemIdentity())
		if err != nil {
			return err.Error()
		}
		for _, b := range bins {
			if rule.Excess(b.Tree.Physical) > 0 || !b.Oldest.IsZero() && rule.Expired(b.Oldest, j.w.clock(j.w.managerSkew)()) {
				return fmt.Sprintf("%+v", b)
			}
		}
		return ""
	}
	if !j.judge.comes(ctx, 5*time.Minute, func() bool { return over() == "" }) {
		j.w.fail("a bin keeps more than its rule %s says: %s", j.w.plan.recycle, over())
	}
}

// lift removes all quotas, so that everything can be restored.
// Usage was compared before; what bins have counts in no quota until it is restored.
func (j binJudge) lift(ctx context.Context) {
	h := j.w.head.Load()
	rows, err := h.Quotas.Quotas(ctx, "")
	// A node has several rows, and goes with the first.
	// All rows, also those of users who are over their limits.
	for _, row := range rows {
		if e := h.Quotas.RemoveQuota(ctx, hemera.QuotaKey{Path: row.Path}); e != nil && !errors.Is(e, errs.NotFound) {
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		j.w.fail("quotas cannot be removed: %v", err)
	}
}

// emptyBins removes what was restored, purges all that bins have, and waits until nothing is held for readers any more. The
// space must then be free: checkDrives looks.
// Versions of files that are in the tree stay there: their pieces are counted like those of other files.
func (j binJudge) emptyBins(ctx context.Context) {
	if !j.w.plan.keeps() {
		return
	}
	h := j.w.head.Load()
	if err := j.removeTree(ctx, backDir); err != nil {
		j.w.fail("what was restored cannot be removed: %v", err)
	}
	// A directory with versions may be purged before the file that it belongs to, or after.
	for _, r := range j.recycled(ctx) {
		if err := h.Recycle.Purge(ctx, hemera.SystemIdentity(), r.Entry.ID); err != nil && !errors.Is(err, errs.NotFound) {
			j.w.fail("fxid %s of %s cannot be purged: %v", r.Entry.ID.Hex(), r.Path, err)
		}
	}
	if left := j.recycled(ctx); len(left) > 0 {
		j.w.fail("bins still have %+v", left)
	}
	// The bins themselves go with the next look at them, unless the store went back.
	bins := func() int {
		list, err := h.Recycle.ListBins(ctx, hemera.SystemIdentity())
		if err != nil {
			j.w.fail("bins cannot be listed: %v", err)
		}
		return len(list)
	}
	if !h.tree.Past.Restored() && !j.judge.comes(ctx, 5*time.Minute, func() bool { return bins() == 0 }) {
		j.w.fail("%d empty bins are still there", bins())
	}
	simnet.Rest(ctx, j.w.plan.hold+3*time.Minute)
	j.judge.checkTree(ctx)
}

// removeTree removes a directory with all that is in it, if it is there.
// What it removes goes to the bin, as for users.
func (j binJudge) removeTree(ctx context.Context, dir string) error {
	h := j.w.head.Load()
	var below []hemera.Entry
	err := h.Names.List(ctx, hemera.SystemIdentity(), dir, func(e hemera.Entry) error {
		below = append(below, e)
		return nil
	})
	if err != nil {
		return gone(err)
	}
	// Files first: their versions go with them.
	slices.SortStableFunc(below, func(a, b hemera.Entry) int { return int(a.Kind) - int(b.Kind) })
	for _, e := range below {
		name := dir + "/" + e.Name
		if e.IsDir() {
			err = errors.Join(err, j.removeTree(ctx, name))
		} else {
			err = errors.Join(err, gone(h.Names.Remove(ctx, hemera.SystemIdentity(), name, hemera.KindFile)))
		}
	}
	return errors.Join(err, gone(h.Names.Remove(ctx, hemera.SystemIdentity(), dir, hemera.KindDirectory)))
}

// gone returns err, or nil if it says that there is nothing to remove.
func gone(err error) error {
	if errors.Is(err, errs.NotFound) {
		return nil
	}
	return err
}
