package maint

import (
	"context"
	"slices"

	"hemera/rules/layout"
	"hemera/words/hemera"
)

// removed counts the files that still have a piece on disks which an admin took out: lost ones, when too
// few of their pieces are on disks of the cluster, and those that have still to be repaired. A file
// counts once, at the removed disk with the lowest id.
func (a *auditor) removed(ctx context.Context, t *tally) error {
	gone := a.engine.Cluster.Removed()
	slices.Sort(gone)
	for _, id := range gone {
		err := a.pages(ctx, func(after hemera.FileID) ([]hemera.Entry, error) {
			return a.engine.Files.DiskFiles(ctx, id, after, auditPage)
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
