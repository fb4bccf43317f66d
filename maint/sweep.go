package maint

import (
	"context"
	"errors"
	"sync"

	"hemera/maint/move"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// noSpaceMax is the number of files in a row that find no room, after which a pass ends.
	noSpaceMax = 64
)

// sweep relocates many pieces at once for one job. The limiter bounds the copies; slots bound the
// goroutines that wait for it.
type sweep struct {
	base  *base         // that relocates
	job   *job          // that counts
	slots chan struct{} // as many as copies may be under way at all
	group sync.WaitGroup

	mu      sync.Mutex
	moved   int   // pieces
	noSpace int   // in a row
	last    error // the last failure that says something
}

// newSweep begins one pass over the files of a job.
func newSweep(e *base, j *job) *sweep {
	// More goroutines than copies could only wait; fewer would leave places of the limiter unused.
	return &sweep{base: e, job: j, slots: make(chan struct{}, move.CopiesTotal)}
}

// relocate begins one relocation, when there is a slot. A piece that failed lately for want of good data fails again with the
// same words, unless more of its file can be read since.
func (p *sweep) relocate(ctx context.Context, entry hemera.Entry, w move.Spec) {
	id, from := hemera.PieceID{File: entry.ID, Gen: entry.Gen, Index: w.Index}, readable(p.base.Cluster.View(), entry)
	if b, held := p.base.setbacks.holds(id, from, p.base.Now()); held {
		p.fail(b.err)
		return
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	p.base.Panics.Go(&p.group, "maint.Relocate", about(entry.ID), func() {
		defer func() { <-p.slots }()
		part := p.job.begin(layout.PieceSize(entry.Layout, entry.Size, w.Index))
		// Bytes are counted while they are copied, so that the rate of a few large files is smooth.
		w.Watch = part.to
		bytes, err := p.base.mover.Relocate(ctx, entry, w)
		counted := part.end()
		switch {
		case err == nil:
			p.done(bytes, counted)
		case inUse(err) || ctx.Err() != nil:
			// The file changed or is held, or the job ended: the next pass sees what is left.
		case isBad(err), errs.KindOf(err) == errs.Internal: // a defect here or at a node would meet the file again
			p.base.setbacks.add(id, from, err, p.base.Now())
			p.fail(err)
		default:
			p.fail(err)
		}
	})
}

// all relocates what is to be done for each file of a list, in the list's order.
func (p *sweep) all(ctx context.Context, list func(hemera.FileID) ([]hemera.Entry, error), moves func(hemera.Entry) []move.Spec) error {
	// A page at a time, so that memory does not grow with the disk.
	var after hemera.FileID
	for ctx.Err() == nil && !p.hopeless() {
		entries, err := list(after)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			after = e.ID
			p.each(e, func() {
				for _, w := range moves(e) {
					// It blocks while all slots are taken, so a page is in memory no longer than its copies take to begin.
					p.relocate(ctx, e, w)
				}
			})
		}
	}
	return nil
}

// each looks at one file of a list. A file whose look panics fails, and the pass continues behind it.
func (p *sweep) each(e hemera.Entry, look func()) {
	err := p.base.Panics.Do("maint.Look", about(e.ID), func() error { look(); return nil })
	if err != nil {
		p.fail(err)
	}
}

// idle reports whether most slots are free: then copies that are less urgent delay none of those that are more.
func (p *sweep) idle() bool { return len(p.slots) < cap(p.slots)-idleSlots }

// done counts a piece that was moved. counted is how many of its bytes the job has counted already.
func (p *sweep) done(bytes, counted int64) {
	p.job.moved(bytes, counted)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved++
	// One file that found room shows that the pass is not hopeless, such as after many files that are too large.
	p.noSpace = 0
}

// fail counts a piece that could not be moved.
func (p *sweep) fail(err error) {
	p.job.failed(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = err
	if errors.Is(err, errs.NoSpace) {
		p.noSpace++
	}
}

// hopeless reports that no file finds room at present.
func (p *sweep) hopeless() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.noSpace >= noSpaceMax
}

// wait ends the pass: how many pieces it moved, and the last failure.
func (p *sweep) wait() (int, error) {
	p.group.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.moved, p.last
}

// idleSlots is the number of slots of a sweep that stay free for the most endangered files while others are begun
// besides.
const idleSlots = move.CopiesTotal * 3 / 4
