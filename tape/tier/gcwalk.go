package tier

import (
	"context"
	"slices"
	"time"

	"hemera/rules/lifecycle"
	"hemera/tape/gc"
	"hemera/words/hemera"
)

// What could make room is found by the lists of files that each disk has.
// Nothing keeps files in the order of their last use, so the oldest are
// those among the files that one walk saw. A small system is seen as a
// whole, a large one in parts, from turn to turn.

// walk returns files of the disks that have copies on tape, each once. It
// begins where the last walk ended, and ends after one round at most. Files
// with pieces on several disks are met several times.
func (c *collector) walk(ctx context.Context, turn *spaceTurn, disks []hemera.DiskID) (files []gc.File, err error) {
	candidate, err := c.candidates(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[hemera.FileID]bool{}
	// Disks are in order of their ids. One that was taken out meanwhile is
	// followed by the next one, the last one by the first.
	at, _ := slices.BinarySearch(disks, turn.disk)
	end := c.env.Now().Add(walkTime)
	left := len(disks) // disks to read to their ends
	if turn.after > 0 {
		left++ // the first one is entered in its middle, and comes again
	}
	for left > 0 && len(files) < walkMax && !c.env.Now().After(end) {
		disk := disks[at%len(disks)]
		if disk != turn.disk {
			turn.disk, turn.after = disk, 0
		}
		page, err := c.env.Tree.DiskFiles(ctx, disk, turn.after, walkPage)
		if err != nil {
			return nil, err
		}
		// An empty page is the end of a disk; a short one is not.
		if len(page) == 0 {
			at, left, turn.after = at+1, left-1, 0
			continue
		}
		turn.after = page[len(page)-1].ID
		for i := range page {
			if e := &page[i]; len(e.Tape) > 0 && !seen[e.ID] {
				seen[e.ID] = true
				files = append(files, candidate(e))
			}
		}
	}
	return files, nil
}

// candidates returns a function that says of a file what the rule asks.
// It knows tapes and storage classes as of now.
func (c *collector) candidates(ctx context.Context) (func(*hemera.Entry) gc.File, error) {
	shelf, err := c.disks.Shelf(ctx)
	if err != nil {
		return nil, err
	}
	return func(e *hemera.Entry) gc.File {
		f := shelf.file(e)
		// A recall commits, which sets the time of change; an archival leaves
		// no time. The day of an access counts to its end, so a file that was
		// read today stays.
		for _, at := range []time.Time{e.Mtime, e.Ctime, lifecycle.Accessed(*e)} {
			if at.After(f.Used) {
				f.Used = at
			}
		}
		return f
	}, nil
}
