package manager

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hemera/rules/layout"
	"hemera/tape/tier"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Bounds of one question about what a removal costs.
const (
	// Without bounds the question about a disk with millions of files would outlast the patience of its client.
	impactFiles = 500_000
	impactTime  = 20 * time.Second
	impactNames = 20
)

// Impact implements adminapi.StatusAdmin.
func (rep *reporter) Impact(ctx context.Context, disks []hemera.DiskID) (sum adminapi.Impact, err error) {
	defer rep.ops.begin("Impact").end(&err)
	view := rep.cluster.View()
	sum.Unsure = rep.tree.Stats().WentBack.Unmerged()
	// Unknown disks are refused before anything is counted.
	for _, id := range disks {
		if _, ok := view.Disk(id); !ok {
			return sum, errs.New(errs.NotFound, "manager.Impact", "disk "+id.String(), "no such disk").WithRemedy("see `hemera fs ls`")
		}
		pieces, bytes, err := rep.tree.DiskUsage(ctx, id)
		if err != nil {
			return sum, errs.Wrap(err, "manager.Impact", "disk "+id.String())
		}
		sum.Pieces, sum.Bytes = sum.Pieces+pieces, sum.Bytes+bytes
	}
	shelf, err := rep.tier.Copies.Shelf(ctx)
	if err != nil {
		return sum, errs.Wrap(err, "manager.Impact", "")
	}
	f := fall{view, shelf, disks}
	end, left := rep.now().Add(impactTime), impactFiles
	for _, id := range disks {
		var after hemera.FileID
		for {
			// An answer that is cut counts less than the truth, so mayGo does not take it for a permission.
			if left <= 0 || !rep.now().Before(end) {
				sum.Partial = true
				return sum, nil
			}
			page, err := rep.tree.DiskFiles(ctx, id, after, censusPage)
			if err != nil {
				return sum, errs.Wrap(err, "manager.Impact", "disk "+id.String())
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				after = e.ID
				rep.bear(ctx, f, e, id, &sum)
			}
			left -= len(page)
		}
	}
	return sum, nil
}

// fall has the facts by which a removal of disks is judged.
type fall struct {
	view  *hemera.View
	tape  *tier.Shelf
	going []hemera.DiskID
}

// bear counts one file on disk id, at the lowest of the disks that go.
func (rep *reporter) bear(ctx context.Context, f fall, e hemera.Entry, id hemera.DiskID, sum *adminapi.Impact) {
	var known, here layout.Set
	for _, p := range e.Pieces {
		if slices.Contains(f.going, p.Disk) {
			// The file was counted on the page of that disk already.
			if p.Disk < id {
				return
			}
			continue
		}
		if d, ok := f.view.Disk(p.Disk); ok {
			known = known.With(int(p.Index))
			if d.Reliable() {
				here = here.With(int(p.Index))
			}
		}
	}
	switch {
	// An empty file has no content to lose.
	case layout.Readable(e.Layout, e.Size, here):
		sum.Weakened++
		return
	case layout.Readable(e.Layout, e.Size, known):
		sum.Unreadable++
		return
	// Only from tapes that can be read now: it is not known whether another one will be.
	case f.tape.Gives(&e):
		sum.OnTape++
		sum.OnTapeBytes += e.Size
		return
	}
	sum.Lost++
	sum.LostBytes += e.Size
	// Only a path that can be found is shown; the file counts in any case.
	if len(sum.Names) < impactNames {
		if _, path, err := rep.tree.Resolve(ctx, e.ID); err == nil {
			sum.Names = append(sum.Names, path)
		}
	}
}

// mayGo refuses to remove a disk by force when files would be lost by it, or out of reach, and the admin has not said
// that they may.
func (a *clusterAdmin) mayGo(ctx context.Context, id hemera.DiskID) error {
	sum, err := a.impact(ctx, []hemera.DiskID{id})
	if err != nil {
		return err
	}
	var text string
	switch {
	case sum.Lost > 0:
		text = fmt.Sprintf("%d files have their last piece on it, such as %s", sum.Lost, sum.Names[:min(1, len(sum.Names))])
	case sum.Unreadable > 0:
		text = fmt.Sprintf("%d files have their other pieces on disks that cannot be read now", sum.Unreadable)
	case sum.Partial:
		text = "it holds too many pieces to see whether files would be lost"
	default:
		return nil
	}
	return errs.New(errs.NotEmpty, "manager.Remove", "disk "+id.String(), text).
		WithRemedy("empty it with `hemera fs set " + id.String() + " drain`; to lose them all the same, consent: `hemera fs rm --force --yes`, in the API Lose")
}
