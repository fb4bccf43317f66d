package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hemera/maint"
	"hemera/namespace"
	"hemera/rules/layout"
	"hemera/rules/place"
	"hemera/tape/tier"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// judge says how well files and disks are, by all that the namespace, the maintenance and tape know of them.
type judge struct {
	tree   namespace.Parts
	view   func() *hemera.View
	engine *maint.Engine // knows which pieces are bad
	tier   *tier.Tier
}

// status says in words how well the file is, worst first.
func (j *judge) status(ctx context.Context, v *hemera.View, e hemera.Entry) string {
	// Nothing of it is on disks, so nothing can be wrong there.
	if e.IsDir() || e.Size == 0 && len(e.Pieces) == 0 {
		return "healthy"
	}
	if e.Evicted() {
		return j.tier.Reports.Standing(ctx, &e)
	}
	broken := brokenList(j.engine.Broken).set()
	bad, found := 0, 0
	for _, piece := range e.Pieces {
		switch {
		case broken.has(e, piece):
			bad++
		case j.engine.FoundBad(e, piece):
			found++
		}
	}
	if s, _ := stand(v, e, broken); s == lostFile {
		seen := lastSeen(v, e)
		switch {
		case bad == len(e.Pieces):
			return "lost: every piece is known to be bad"
		case bad > 0:
			return fmt.Sprintf("lost: %d of %d pieces are known to be bad; %s", bad, len(e.Pieces), seen)
		}
		return "lost: " + seen
	}
	targets := place.Order(v, e.Pieces, "", nil, 0)
	readable := len(targets)
	all := layout.Count(e.Layout, e.Size)
	switch {
	case !layout.Readable(e.Layout, e.Size, layout.TargetIndexes(targets)):
		return "offline: " + place.Unreadable(v, e.Pieces, nil)
	case len(e.Pieces) < all:
		return fmt.Sprintf("incomplete: %d of %d pieces", len(e.Pieces), all)
	case bad > 0:
		return fmt.Sprintf("degraded: %d of %d pieces are known to be bad and cannot be repaired", bad, len(e.Pieces))
	case readable < len(e.Pieces):
		return fmt.Sprintf("degraded: %d of %d pieces can be read: %s", readable, len(e.Pieces), place.Unreadable(v, e.Pieces, nil))
	case found > 0:
		return fmt.Sprintf("found bad: %d of %d pieces, to be repaired from the others, or being", found, len(e.Pieces))
	}
	draining := slices.ContainsFunc(e.Pieces, func(p hemera.Piece) bool {
		d, _ := v.Disk(p.Disk)
		return d.Config == hemera.ConfigDrain
	})
	if draining {
		return "healthy, a piece is being moved"
	}
	return "healthy"
}

// silentOnTape visits the files that are on tapes alone if none of these tapes can be read, each at the first of its tapes.
func (j *judge) silentOnTape(ctx context.Context, visit func(at adminapi.TapeLoss, e hemera.Entry) error) error {
	shelf, err := j.tier.Copies.Shelf(ctx)
	if err != nil {
		return err
	}
	for _, tape := range shelf.Troubled() {
		for after := uint64(0); ; {
			page, err := j.tier.Queue.TapeFiles(ctx, tape.VID, after, false)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for _, f := range page {
				after = f.FSeq
				e, _, err := j.tree.Resolve(ctx, f.File)
				if err == nil && silentAt(shelf, &e, tape.VID) {
					err = visit(tape, e)
				}
				if err != nil && !errors.Is(err, errs.NotFound) {
					return err
				}
			}
		}
	}
	return nil
}

// counted returns a copy of the view, in which disks that cannot be read have the pieces that files have there. Their nodes count
// none, or those of content that is gone too.
func (j *judge) counted(ctx context.Context) (*hemera.View, error) {
	view := *j.view() // views are shared and never changed
	view.Disks = slices.Clone(view.Disks)
	for i := range view.Disks {
		d := &view.Disks[i]
		if d.Readable() {
			continue
		}
		var err error
		if d.Pieces, _, err = j.tree.DiskUsage(ctx, d.ID); err != nil {
			return nil, errs.Wrap(err, "manager.View", "disk "+d.ID.String())
		}
	}
	return &view, nil
}
