package maint

import (
	"context"
	"errors"
	"slices"

	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// removed counts the files that still have a piece on disks which an admin took out: lost ones, when too
// few of their pieces are on disks of the cluster, and those that have still to be repaired. A file
// counts once, at the removed disk with the lowest id.
func (a *auditor) removed(ctx context.Context, t *tally) error {
	gone := a.base.Cluster.Removed()
	slices.Sort(gone)
	for _, id := range gone {
		err := a.pages(ctx, func(after hemera.FileID) ([]hemera.Entry, error) {
			return a.base.Files.DiskFiles(ctx, id, after, auditPage)
		}, func(e hemera.Entry) {
			// left are the pieces on disks of the cluster; first is where the file is counted.
			var left layout.Set
			first := id
			for _, p := range e.Pieces {
				if !slices.Contains(gone, p.Disk) {
					left = left.With(int(p.Index))
				} else if p.Disk < first {
					first = p.Disk
				}
			}
			switch {
			case first != id || e.Size == 0:
			case !layout.Readable(e.Layout, e.Size, left):
				t.addLost(id, e.ID)
			default:
				t.add(tagShort, id, e.ID)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ruined counts, as lost, the files that have too few pieces which are not known to be bad.
func (a *auditor) ruined(ctx context.Context, t *tally) error {
	list, _ := a.broken.Broken()
	view := a.base.Cluster.View()
	for _, b := range list {
		now, _, err := a.base.Files.Resolve(ctx, b.Piece.File)
		// The list is not cleaned when a file is removed or rewritten; readers of it compare with the file, as here.
		if errors.Is(err, errs.NotFound) || err == nil && !has(now, b.Piece, b.Disk) {
			continue
		}
		if err != nil {
			return err
		}
		var good layout.Set
		for _, p := range now.Pieces {
			_, there := view.Disk(p.Disk)
			if there && !a.broken.IsBroken(pieceOn(now, p)) {
				good = good.With(int(p.Index))
			}
		}
		if !layout.Readable(now.Layout, now.Size, good) {
			t.addLost(b.Disk, now.ID)
		}
	}
	return nil
}
