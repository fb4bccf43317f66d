package move

import (
	"fmt"
	"slices"

	"hemera/rules/layout"
	"hemera/rules/place"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// NewPlan decides where a piece is made again and from what. It fails with NoReplicas when nothing can be read, and with NoSpace
// when no disk can take it. It is pure.
func NewPlan(v *hemera.View, e hemera.Entry, w Spec) (Plan, error) {
	readable := slices.DeleteFunc(slices.Clone(e.Pieces), func(p hemera.Piece) bool { return slices.Contains(w.Avoid, p.Disk) })
	m := Plan{Entry: e, Drop: w.Drop, Sources: place.Order(v, readable, "", nil, w.Seed)}
	// Not enough to read the file: no new piece can be made of them.
	if !layout.Readable(e.Layout, e.Size, layout.TargetIndexes(m.Sources)) {
		why := place.Unreadable(v, e.Pieces, nil)
		if len(readable) < len(e.Pieces) && len(place.Order(v, e.Pieces, "", nil, w.Seed)) > len(m.Sources) {
			why = "the others are bad"
			if len(m.Sources) == 0 {
				why = "the pieces that can be read are bad"
			}
		}
		text := "no piece can be read: " + why
		if n := len(m.Sources); n > 0 {
			text = fmt.Sprintf("%d good pieces can be read now, and layout %s takes %d: %s", n, e.Layout, layout.Needed(e.Layout, e.Size), why)
		}
		return m, errs.New(errs.NoReplicas, "maint.Plan", "fxid:"+e.ID.Hex(), text)
	}
	w.traffic.orderSources(v, m.Sources, w.load)
	m.Add.Index = w.Index
	if slices.ContainsFunc(m.reads(), func(t hemera.Target) bool { return slices.Contains(w.full, t.Disk) }) {
		return m, errs.New(errs.Overloaded, "maint.Plan", "fxid:"+e.ID.Hex(), "its disks are read by as many copies as they take")
	}
	// kept counts for zones and hosts, so that the new piece keeps its distance; a disk that is dropped only must not be chosen.
	var kept, leave []hemera.DiskID
	for _, p := range e.Pieces {
		if slices.Contains(w.Drop, p) {
			leave = append(leave, p.Disk)
		} else {
			kept = append(kept, p.Disk)
		}
	}
	request := place.Request{
		Space: e.Space, Want: 1, Spare: e.Layout.Parity(), Size: layout.PieceSize(e.Layout, e.Size, w.Index), Have: kept, Leave: leave, ExcludeDisks: slices.Concat(w.full, w.leaving),
		Writers: w.Writes, Seed: w.Seed, Allow: w.Allow,
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
	m.Add = choice.Targets[0]
	m.Add.Index = w.Index
	if now, old := m.Apart(v); w.Spread && !now.Keeps(old) {
		return m, errs.New(errs.Conflict, "maint.Plan", "fxid:"+e.ID.Hex(), "its pieces would share a node or a zone")
	}
	return m, nil
}

// sparseAsk is from which size on a piece that no disk has room for is tried all the same.
const sparseAsk = 64 << 20
