package maint

import (
	"cmp"
	"context"
	"slices"
	"time"

	"hemera/maint/move"
	"hemera/words/hemera"
)

// balanceFiles goes through the files of the disks that give, and remembers how far it is with each disk. It belongs to the
// goroutine of one run.
type balanceFiles struct {
	base    *base
	cursors map[hemera.DiskID]hemera.FileID // the last file that was looked at
	queues  map[hemera.DiskID][]candidate   // of the last page
	looked  time.Time                       // by the process's clock: when the last page was read, or the last move begun
	// passes counts how often all files of a disk were looked at since the last plan that moved any.
	passes map[hemera.DiskID]int
}

// newBalanceFiles makes one that has looked at no file.
func newBalanceFiles(b *base) balanceFiles {
	return balanceFiles{base: b, cursors: map[hemera.DiskID]hemera.FileID{}, queues: map[hemera.DiskID][]candidate{}, passes: map[hemera.DiskID]int{}}
}

// next returns the next piece of the disk to look at. The oldest files come first, and of a page those whose pieces share a node
// or a zone. It returns false at the end of the disk's files, and begins them again then.
func (f *balanceFiles) next(ctx context.Context, disk hemera.DiskID, view *hemera.View) (c candidate, ok bool, err error) {
	if len(f.queues[disk]) == 0 {
		// A look at very many files that cannot be moved shall not take a processor.
		if !f.looked.IsZero() {
			pause(ctx, min(wakeShare*time.Since(f.looked), balanceTick))
		}
		f.looked = time.Now()
		after := f.cursors[disk]
		entries, err := f.base.Files.DiskFiles(ctx, disk, after, pageFiles)
		if err != nil {
			return c, false, err
		}
		if len(entries) == 0 {
			delete(f.cursors, disk)
			f.passes[disk]++
			return c, false, nil
		}
		f.cursors[disk] = entries[len(entries)-1].ID
		f.queues[disk] = candidates(view, disk, entries)
	}
	queue := f.queues[disk]
	// A page may have files whose piece has moved from the disk since.
	if len(queue) == 0 {
		return c, false, nil
	}
	c, f.queues[disk] = queue[0], queue[1:]
	return c, true, nil
}

// candidates lists the pieces of the disk in a page, those first that share a node or a zone with another of their file.
func candidates(view *hemera.View, disk hemera.DiskID, entries []hemera.Entry) (list []candidate) {
	for _, e := range entries {
		for _, p := range e.Pieces {
			if c := (candidate{entry: e, piece: p}); p.Disk == disk && c.size() > 0 {
				c.shares = move.SpreadOf(view, e, move.DisksOf(e.Pieces)).Shares()
				list = append(list, c)
			}
		}
	}
	// Stable: among equals the oldest files stay first, which are read least.
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Compare(order(b.shares), order(a.shares))
	})
	return list
}

// order returns 1 for true, and 0 for false.
func order(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lookAgain begins all files again. Pieces that were too large for what was left of one plan may fit the next.
func (f *balanceFiles) lookAgain() {
	clear(f.passes)
}

// passed reports whether all files of a disk were looked at since the last plan that moved any. The first pass may have begun in the
// middle of them.
func (f *balanceFiles) passed(disk hemera.DiskID) bool {
	return f.passes[disk] >= 2
}

// putBack makes a piece the next of its disk.
func (f *balanceFiles) putBack(c candidate) {
	f.queues[c.piece.Disk] = slices.Insert(f.queues[c.piece.Disk], 0, c)
}
