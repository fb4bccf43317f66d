package rebuild

import (
	"container/heap"
	"context"
	"errors"
	"math"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// pageMax bounds the pieces in one list of a disk, pagesTotal those in the lists of all disks together: some hundred
	// bytes each.
	pageMax    = 1000
	pageMin    = 50
	pagesTotal = 400_000
	// attempts is the number of times that a disk is asked for a page, and pause the time between: a node that restarts
	// takes some seconds.
	attempts = 5
	pause    = 2 * time.Second
	// groupMax bounds the pieces of one file that are looked at. No file has as many, whatever was left of older contents.
	groupMax = 10_000
)

// A disk that is slow holds up all others in the end, as files are complete only when every disk was asked for them. Each
// disk is one page ahead, which evens out what is slow for a moment.

// cursor is the progress of reading the list of one disk. Its goroutine sends pages; err is set before it closes the
// channel.
type cursor struct {
	disk  hemera.DiskID
	pages chan []hemera.PieceStat
	err   error
	page  []hemera.PieceStat // what is left of the page; not empty while the cursor is in a merge
}

// read sends all pages of the disk, and reads one ahead.
func (c *cursor) read(ctx context.Context, list Inventory, limit int) {
	defer close(c.pages)
	for after := (hemera.PieceID{}); ; {
		page, err := listPage(ctx, list, c.disk, after, limit)
		if err != nil {
			c.err = err
			return
		}
		// A page may be short because pieces without a good footer were left out; only an empty one is the end.
		if len(page) == 0 {
			return
		}
		after = page[len(page)-1].ID
		select {
		case c.pages <- page:
		case <-ctx.Done():
			c.err = ctx.Err()
			return
		}
	}
}

// listPage asks for a page, several times where the node does not answer.
func listPage(ctx context.Context, list Inventory, disk hemera.DiskID, after hemera.PieceID, limit int) (page []hemera.PieceStat, err error) {
	for try := range attempts {
		// Only this disk waits: the others read on, as far as their pages are wanted.
		if try > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
		page, err = list(ctx, disk, after, limit)
		temporary := errors.Is(err, errs.Unavailable) || errors.Is(err, errs.Overloaded) || errors.Is(err, errs.Timeout)
		if ctx.Err() != nil || !temporary {
			break
		}
	}
	return page, err
}

// next moves on to the next piece. It returns false at the end of the disk's list.
func (c *cursor) next() bool {
	if len(c.page) > 1 {
		c.page = c.page[1:]
		return true
	}
	c.page = <-c.pages // nil when the channel is closed
	return len(c.page) > 0
}

// merge is the lists of several disks as one, in the order of ids.
type merge struct {
	cursors []*cursor          // a heap, by the next piece
	ended   func(c *cursor)    // a disk was read to its end, or failed
	skip    func(p found) bool // pieces that are not looked at
}

// newMerge begins to read the disks.
func newMerge(ctx context.Context, disks []hemera.DiskID, list Inventory, m merge) *merge {
	// The more disks, the smaller the pages: each disk has one in the merge and one that was read ahead.
	limit := min(pageMax, max(pageMin, pagesTotal/max(len(disks), 1)))
	for _, d := range disks {
		c := &cursor{disk: d, pages: make(chan []hemera.PieceStat, 1)}
		go c.read(ctx, list, limit)
		m.cursors = append(m.cursors, c)
	}
	// All disks read their first page at the same time, so only the slowest is waited for.
	started := m.cursors[:0]
	for _, c := range m.cursors {
		if c.next() {
			started = append(started, c)
		} else {
			m.ended(c)
		}
	}
	m.cursors = started
	heap.Init(&m)
	return &m
}

// group returns the pieces of the next file; none at the end.
func (m *merge) group() (pieces []found) {
	for file := hemera.FileID(math.MaxUint64); len(m.cursors) > 0; {
		// The disk whose next piece has the smallest id.
		c := m.cursors[0]
		p := found{c.disk, c.page[0]}
		if len(pieces) > 0 && p.ID.File != file {
			break
		}
		if !m.skip(p) {
			file = p.ID.File
			// The rest would say nothing new: those of one index and generation are copies.
			if len(pieces) < groupMax {
				pieces = append(pieces, p)
			}
		}
		if c.next() {
			heap.Fix(m, 0)
		} else {
			m.ended(c)
			heap.Pop(m)
		}
	}
	return pieces
}

// Len, Less, Swap, Push and Pop make a heap of the cursors.
func (m *merge) Len() int { return len(m.cursors) }

// Less orders by the next piece's file, which is all that a merge needs.
func (m *merge) Less(i, j int) bool {
	return m.cursors[i].page[0].ID.File < m.cursors[j].page[0].ID.File
}

// Swap swaps two cursors.
func (m *merge) Swap(i, j int) { m.cursors[i], m.cursors[j] = m.cursors[j], m.cursors[i] }

// Push adds a cursor.
func (m *merge) Push(c any) { m.cursors = append(m.cursors, c.(*cursor)) }

// Pop removes the last cursor.
func (m *merge) Pop() any {
	last := m.cursors[len(m.cursors)-1]
	m.cursors = m.cursors[:len(m.cursors)-1]
	return last
}

// drain waits for the goroutines that read disks. The context that they read under has ended, or they have.
func (m *merge) drain() {
	for _, c := range m.cursors {
		for range c.pages {
		}
	}
}
