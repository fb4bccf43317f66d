package maint

import (
	"fmt"
	"slices"
	"time"

	"hemera/rules/layout"
	"hemera/rules/place"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// task says why a disk is emptied.
type task struct {
	disk hemera.DiskID // that is emptied
	kind string        // drain or repair, as admins see it
	// wait is above zero while a lost disk may still come back.
	wait time.Duration
	why  string // in words; "" for a drain, which an admin asked for
}

// due lists the disks whose pieces are to be moved away. since is when each disk in question was
// first seen out of reach or failing. Disks an admin switched off are left alone: that is a wish,
// not a loss.
func due(v *hemera.View, removed []hemera.DiskID, since map[hemera.DiskID]time.Time, now time.Time, grace time.Duration) []task {
	var tasks []task
	for _, id := range removed {
		// No grace: an admin said that it does not come back.
		tasks = append(tasks, task{disk: id, kind: "repair", why: "the disk was removed"})
	}
	for _, d := range v.Disks {
		switch {
		// An empty disk stays due: a write that was granted before the drain may still commit a piece there.
		case d.Config == hemera.ConfigDrain || d.Config == hemera.ConfigEmpty:
			tasks = append(tasks, task{disk: d.ID, kind: "drain"})
		case lost(v, d):
			first, ok := since[d.ID]
			if !ok {
				first = now
			}
			tasks = append(tasks, task{disk: d.ID, kind: "repair", wait: max(0, grace-now.Sub(first)), why: lostWhy(d)})
		}
	}
	return tasks
}

// lost reports whether a disk is out of reach or failing against everybody's wish.
func lost(v *hemera.View, d hemera.Disk) bool {
	n, ok := v.Node(d.Node)
	if d.Config == hemera.ConfigOff || ok && !n.Enabled {
		return false
	}
	return !d.Active || d.Health == hemera.HealthFailing
}

// lostWhy says why a disk counts as lost.
func lostWhy(d hemera.Disk) string {
	if d.Why != "" {
		return d.Why
	}
	return "the disk is " + string(d.Health)
}

// plannedMove is a decision: have Add made from Sources, then record it in place of Drop.
type plannedMove struct {
	entry   hemera.Entry    // as it was when the move was planned
	path    string          // for the footer and for people
	drop    []hemera.Piece  // leave the file when the new piece is recorded
	add     hemera.Target   // the new piece, and where it goes
	sources []hemera.Target // best first
}

// moveSpec says which piece is to be made, and around what the move is planned.
type moveSpec struct {
	index   uint8                 // of the piece to make
	drop    []hemera.Piece        // pieces it replaces
	class   urgency               // before which other copies it comes
	avoid   []hemera.DiskID       // not to read from: known to be bad
	full    []hemera.DiskID       // not to write to now, and to read from only if no other disk will do
	load    map[hemera.DiskID]int // copies under way from and to a disk, in the limiter's units
	traffic traffic               // of the copies under way
	// leaving are disks that are still to remove this very piece: what a copy found there would go.
	leaving []hemera.DiskID
	allow   func(hemera.DiskID) bool // disks that may take it; nil for all
	spread  bool                     // only if the file's pieces lie no worse then
	writes  func(hemera.DiskID) int  // writes and copies under way to a disk
	seed    uint64                   // of equal choices, so that they spread
	watch   func(bytes int64)        // told how far the copy is; may be nil
}

// plan decides where a piece is made again and from what. NoReplicas when nothing can be read;
// NoSpace when no disk can take it.
func plan(v *hemera.View, e hemera.Entry, w moveSpec) (plannedMove, error) {
	readable := slices.DeleteFunc(slices.Clone(e.Pieces), func(p hemera.Piece) bool { return slices.Contains(w.avoid, p.Disk) })
	m := plannedMove{entry: e, drop: w.drop, sources: place.Order(v, readable, "", nil, w.seed)}
	// Not enough to read the file: no new piece can be made of them.
	if !layout.Readable(e.Layout, e.Size, layout.TargetIndexes(m.sources)) {
		why := place.Unreadable(v, e.Pieces, nil)
		if len(readable) < len(e.Pieces) && len(place.Order(v, e.Pieces, "", nil, w.seed)) > len(m.sources) {
			why = "the others are bad"
			if len(m.sources) == 0 {
				why = "the pieces that can be read are bad"
			}
		}
		text := "no piece can be read: " + why
		if n := len(m.sources); n > 0 {
			text = fmt.Sprintf("%d good pieces can be read now, and layout %s takes %d: %s", n, e.Layout, layout.Needed(e.Layout, e.Size), why)
		}
		return m, errs.New(errs.NoReplicas, "maint.Plan", "fxid:"+e.ID.Hex(), text)
	}
	w.traffic.orderSources(v, m.sources, w.load)
	m.add.Index = w.index
	if slices.ContainsFunc(m.reads(), func(t hemera.Target) bool { return slices.Contains(w.full, t.Disk) }) {
		return m, errs.New(errs.Overloaded, "maint.Plan", "fxid:"+e.ID.Hex(), "its disks are read by as many copies as they take")
	}
	// kept counts for zones and hosts, so that the new piece keeps its distance; a disk that is dropped only must not be chosen.
	var kept, leave []hemera.DiskID
	for _, p := range e.Pieces {
		if slices.Contains(w.drop, p) {
			leave = append(leave, p.Disk)
		} else {
			kept = append(kept, p.Disk)
		}
	}
	request := place.Request{
		Space: e.Space, Want: 1, Spare: e.Layout.Parity(), Size: layout.PieceSize(e.Layout, e.Size, w.index), Have: kept, Leave: leave, ExcludeDisks: slices.Concat(w.full, w.leaving),
		Writers: w.writes, Seed: w.seed, Allow: w.allow,
	}
	choice, err := place.Choose(v, request)
	if err != nil && request.Size >= sparseAsk && len(w.full) == 0 {
		// It may have holes. Its node knows, and refuses the copy at once if it does not fit.
		request.Size = 0
		if some, none := place.Choose(v, request); none == nil {
			choice, err = some, nil
		}
	}
	// Without them there might be room: the removal is what is waited for, so the error says that.
	if err != nil && len(w.leaving) > 0 {
		return m, errs.New(errs.NoSpace, "maint.Plan", "fxid:"+e.ID.Hex(),
			fmt.Sprintf("disks %v are still to remove a piece of it that they had before, and no other can take it", w.leaving))
	}
	if err != nil {
		return m, err
	}
	m.add = choice.Targets[0]
	m.add.Index = w.index
	if now, old := apart(v, m); w.spread && !now.Keeps(old) {
		return m, errs.New(errs.Conflict, "maint.Plan", "fxid:"+e.ID.Hex(), "its pieces would share a node or a zone")
	}
	return m, nil
}

// sparseAsk is from which size on a piece that no disk has room for is tried all the same.
const sparseAsk = 64 << 20
