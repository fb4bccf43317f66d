package maint

import (
	"context"
	"slices"

	"hemera/maint/move"
	"hemera/rules/layout"
	"hemera/words/hemera"
)

// danger returns how soon the file must be repaired: the number of pieces that it can still lose. Pieces on disks that fail or
// are out of reach count as lost. A file that cannot be read comes last: its repair has to wait for a disk to come back.
func danger(v *hemera.View, e hemera.Entry) move.Urgency {
	var have layout.Set
	for _, p := range e.Pieces {
		if d, ok := v.Disk(p.Disk); ok && d.Readable() && !d.Doubtful() {
			have = have.With(int(p.Index))
		}
	}
	spare := layout.Spare(e.Layout, e.Size, have)
	if spare < 0 || move.Urgency(spare) > urgencyLast {
		return urgencyLast
	}
	return move.Urgency(spare)
}

// urgencyLast ranks files that cannot be read now: a repair tries them last.
const urgencyLast = move.UrgencyDrain - 1

// outOfReach returns the disks of the view whose pieces count as lost.
func outOfReach(v *hemera.View) (ids []hemera.DiskID) {
	for _, d := range v.Disks {
		if !d.Readable() || d.Doubtful() {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// triage goes over a list of files, the most endangered first, with no more memory than a page.
//
// It makes one pass over the list for each class of danger that there is in it, which are few: a pass begins all files of
// its class and waits for room where there is none. Less endangered files are begun besides as long as copies are idle, so
// that no disk waits for the end of a pass. If a disk fails meanwhile, files of all classes may be in more danger than
// before, and the passes begin again.
type triage struct {
	base  *base
	sweep *sweep
	list  func(after hemera.FileID) ([]hemera.Entry, error) // a page
	moves func(hemera.Entry) []move.Spec                    // what is to be done for a file; their class is set here
}

// run goes over the list until no class is left, there is no room, or ctx ends.
func (t *triage) run(ctx context.Context) error {
	for class := move.Urgency(0); class <= urgencyLast; {
		next, err := t.pass(ctx, class)
		if err != nil || ctx.Err() != nil || t.sweep.hopeless() {
			return err
		}
		class = next
	}
	return nil
}

// pass begins all files that are as endangered as class or more. It returns the class of the next pass, which is above
// [urgencyLast] if nothing is left.
func (t *triage) pass(ctx context.Context, class move.Urgency) (next move.Urgency, err error) {
	next = urgencyLast + 1
	t.sweep.job.recount() // what failed in a pass before is begun again by this one
	// Compared with each page's picture: a disk that fails puts files of other classes into danger.
	lost := outOfReach(t.base.Cluster.View())
	var after hemera.FileID
	for ctx.Err() == nil && !t.sweep.hopeless() {
		entries, err := t.list(after)
		if err != nil || len(entries) == 0 {
			return next, err
		}
		view := t.base.Cluster.View()
		if now := outOfReach(view); class > 0 && !slices.Equal(now, lost) {
			return 0, nil
		}
		for _, e := range entries {
			after = e.ID
			t.sweep.each(e, func() {
				c := danger(view, e)
				// Files that are as endangered as in a pass before have failed in it, or have become so since.
				if c > class {
					next = min(next, c)
				}
				if c > class && !t.sweep.idle() {
					return
				}
				for _, w := range t.moves(e) {
					w.Urgency = c
					// It blocks while all slots are taken, so a page is in memory no longer than its copies take to begin.
					t.sweep.relocate(ctx, e, w)
				}
			})
		}
	}
	return next, nil
}
