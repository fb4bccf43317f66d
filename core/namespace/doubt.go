package namespace

import (
	"context"
	"errors"
	"slices"
	"time"

	"hemera"
	"hemera/core/namespace/record"
	"hemera/core/namespace/schema"
	"hemera/errs"
)

// A manager that did not end in good order may have lost the end of its log with that: what was committed in the last moments is then
// known to its pieces alone, and they look like those of writes that were never committed. Nobody can tell both apart. So each such end
// leaves a boundary that is in doubt: an audit keeps what it finds of it, and from then on the namespace counts as one that went back.

const (
	// doubtKept is how long an end is remembered: audits look at each disk several times in it.
	doubtKept = 30 * 24 * time.Hour
	// doubtsMax bounds the ends that are remembered one by one; the oldest become one.
	doubtsMax = 64
)

// Doubt notes that the life before this one did not end in good order. It is called once, before changes are made. Durable at its return.
func (n *Namespace) Doubt(ctx context.Context) error {
	last, err := n.lastChange(ctx)
	if err != nil {
		return errs.Wrap(err, "namespace.Doubt", "")
	}
	first, now := n.numbers.First(), n.clock().UTC().Round(0)
	return n.editBoundaries(ctx, func(list []Boundary) []Boundary {
		list = slices.DeleteFunc(list, func(b Boundary) bool { return b.Unclean && !b.Found && now.Sub(b.Restored) > doubtKept })
		// A life that took no number has that of the one before.
		if i := slices.IndexFunc(list, func(b Boundary) bool { return b.From == first }); i >= 0 {
			list[i].Restored = now
			return list
		}
		return foldDoubts(append(list, Boundary{From: first, To: first, Taken: last, Restored: now, Unclean: true}))
	})
}

// foldDoubts makes one of the two oldest doubts for as long as there are too many. The one that is left holds for what either did.
func foldDoubts(list []Boundary) []Boundary {
	slices.SortFunc(list, func(a, b Boundary) int { return a.Restored.Compare(b.Restored) })
	for {
		var doubts []int
		for i, b := range list {
			if b.Unclean {
				doubts = append(doubts, i)
			}
		}
		if len(doubts) <= doubtsMax {
			return list
		}
		older, newer := list[doubts[0]], &list[doubts[1]]
		newer.Found = newer.Found || older.Found
		if older.Taken.Before(newer.Taken) {
			newer.Taken = older.Taken
		}
		list = slices.Delete(list, doubts[0], doubts[0]+1)
	}
}

// lastChange is when the newest change was made that the store has; the zero time if it does not say.
func (n *Namespace) lastChange(ctx context.Context) (at time.Time, err error) {
	_, next, err := readPair(ctx, n.records.Engine(), schema.MetaEvents)
	if err != nil {
		return at, err
	}
	k := schema.EventKey(next - 1)
	raw, err := n.records.Engine().Get(ctx, k)
	if errors.Is(err, errs.NotFound) {
		// A namespace that went back begins its log again.
		for _, b := range n.lostRanges() {
			if b.Restored.After(at) {
				at = b.Restored
			}
		}
		return at, nil
	}
	if err != nil {
		return at, err
	}
	e, err := schema.DecodeEvent(k, raw)
	return e.Time, err
}

// Unsure reports whether a piece that no file has may be of a content that was committed right before an end that was not in good order,
// and that the store lost with the end of its log.
func (n *Namespace) Unsure(p hemera.PieceID, sealed time.Time) bool {
	return slices.ContainsFunc(n.allBoundaries(), func(b Boundary) bool { return b.Unclean && lostIn(b, p, sealed) })
}

// FoundUnsure notes that a disk has such a piece: the namespace counts as one that went back, until [Namespace.ForgetLost]. Durable at
// its return.
func (n *Namespace) FoundUnsure(ctx context.Context, p hemera.PieceID, sealed time.Time) error {
	is := func(b Boundary) bool { return b.Unclean && !b.Found && lostIn(b, p, sealed) }
	if !slices.ContainsFunc(n.allBoundaries(), is) {
		return nil
	}
	return n.editBoundaries(ctx, func(list []Boundary) []Boundary {
		for i := range list {
			list[i].Found = list[i].Found || is(list[i])
		}
		return list
	})
}

// editBoundaries changes the boundaries, one change after the other. Only what is durable counts.
func (n *Namespace) editBoundaries(ctx context.Context, edit func([]Boundary) []Boundary) error {
	select {
	case n.bounding <- struct{}{}:
		defer func() { <-n.bounding }()
	case <-ctx.Done():
		return errs.Wrap(ctx.Err(), "namespace.Boundaries", "")
	}
	before := n.allBoundaries()
	after := edit(slices.Clone(before))
	err := n.update(ctx, func(t tx) error {
		for _, b := range before {
			t.Remove(schema.BoundaryKey(b.From))
		}
		for _, b := range after {
			t.Set(schema.BoundaryKey(b.From), record.Opaque{}, schema.EncodeBoundary(b))
		}
		return nil
	})
	if err == nil {
		n.boundaries.Store(&after)
	}
	return err
}
