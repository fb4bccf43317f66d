package manager

import (
	"fmt"
	"slices"

	"hemera/rules/layout"
	"hemera/rules/place"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// placer chooses the disks of new contents.
type placer struct {
	writers func(hemera.DiskID) int // counts the writes under way on a disk
}

// without has the places where a write must not go.
type without struct {
	nodes []hemera.NodeID // that failed this client
	disks []hemera.DiskID // the same, where whole nodes leave nothing
}

// place chooses the targets. An update prefers the disks that have the base: they can share blocks
// with it instead of copying.
func (p placer) place(c *hemera.Capability, view *hemera.View, pol hemera.Policy, not without) error {
	req := place.Request{
		// With fewer targets the file could never be read, so it is not begun.
		Space: c.Space, Want: int(pol.Layout.Pieces), Min: max(int(pol.PiecesMin), pol.Layout.Enough()), Spare: pol.Layout.Parity(),
		Size: layout.PieceMax(pol.Layout, c.Size), Client: c.Who.Host,
		ExcludeNodes: not.nodes, ExcludeDisks: not.disks, Writers: p.writers, Seed: c.Nonce,
	}
	var kept []hemera.Target
	if c.Base != nil {
		kept = reusable(view, c.Base.Pieces, pol.Layout, req)
	}
	// Also for an update that keeps all disks of its base: it says how many disks are eligible, and fails like any open.
	choice, err := chooseFor(view, pol.Layout, req)
	if err != nil {
		return err
	}
	c.Targets = choice.Targets
	if len(kept) > 0 {
		if c.Targets, err = withMore(view, kept, pol.Layout, req); err != nil {
			return err
		}
	}
	c.Head = c.Targets[0].Node
	if head, ok := view.Node(c.Targets[0].Node); ok {
		// A head that was restarted since has lost the write's earlier content: the epoch tells it so.
		c.Epoch = head.Epoch
	}
	c.PiecesMin = layout.Minimum(pol.Layout, pol.PiecesMin, choice.Eligible)
	// Never more than there are targets, or the close could not succeed.
	c.PiecesMin = min(c.PiecesMin, uint8(len(c.Targets)))
	return nil
}

// chooseFor chooses the targets of a new content and numbers them.
func chooseFor(view *hemera.View, l hemera.Layout, req place.Request) (place.Choice, error) {
	choice, err := place.Choose(view, req)
	if err == nil {
		deal(view, choice.Targets, l)
	}
	return choice, err
}

// deal numbers the targets of a new content; the first stays the first. Those of a code with local groups are numbered so that
// pieces on one node, and in one zone, are of different groups.
func deal(view *hemera.View, ts []hemera.Target, l hemera.Layout) {
	if l.Kind != hemera.LayoutLocal {
		number(ts, 0, l)
		return
	}
	// Neighbours in the list share a node or a zone, as far as any do, and get indexes of different groups.
	place.Together(view, ts)
	for i, index := range layout.Apart(l, len(ts)) {
		ts[i].Index = index
	}
	slices.SortFunc(ts, func(a, b hemera.Target) int { return int(a.Index) - int(b.Index) })
}

// withMore returns the base's places that an update keeps, and new ones for the other pieces. More disks than the base
// has are a bonus where the kept ones are enough to read the file: a write with fewer pieces than wanted is repaired
// later. NoSpace.
func withMore(view *hemera.View, kept []hemera.Target, l hemera.Layout, req place.Request) ([]hemera.Target, error) {
	// The chosen places keep away from the nodes and zones of the kept ones, as far as there are others.
	req.Have, req.Min = disks(kept), int(l.Data)-len(kept)
	if req.Want -= len(kept); req.Want > 0 {
		more, err := place.Choose(view, req)
		if err != nil && !enough(l, hemera.FileSizeMax, kept) { // it may grow to any size
			return nil, err
		}
		kept = append(kept, more.Targets...)
	}
	number(kept, len(req.Have), l)
	if !enough(l, hemera.FileSizeMax, kept) {
		return nil, errs.New(errs.NoSpace, "place.Choose", "space "+string(req.Space), fmt.Sprintf("%d disks can take pieces, which is too few for layout %s", len(kept), l)).
			WithRemedy("see `hemera fs ls` for the disks' states, or add disks with `hemera fs add`")
	}
	return kept, nil
}

// reusable returns the base's places that could be chosen for the request, at most as many as wanted.
func reusable(view *hemera.View, pieces []hemera.Target, l hemera.Layout, req place.Request) (kept []hemera.Target) {
	for _, t := range pieces {
		d, ok := view.Disk(t.Disk)
		// Two pieces with one index are left while a move is under way. The second disk is free for another piece.
		same := func(k hemera.Target) bool { return l.Coded() && k.Index == t.Index }
		if ok && d.Writable() && d.Space == req.Space && d.Free >= req.Size && len(kept) < req.Want && !slices.ContainsFunc(kept, same) &&
			!slices.Contains(req.ExcludeNodes, t.Node) && !slices.Contains(req.ExcludeDisks, t.Disk) {
			kept = append(kept, t)
		}
	}
	return kept
}

// number gives targets their indexes. Pieces of a layout of copies are alike, and numbered in order. Of a coded layout the
// first kept ones keep theirs, as these pieces begin as copies of the base's, and the others take what is left, data first;
// then they are sorted, so that a data piece's node gathers the write.
func number(ts []hemera.Target, kept int, l hemera.Layout) {
	if !l.Coded() {
		for i := range ts {
			ts[i].Index = uint8(i)
		}
		return
	}
	taken := layout.TargetIndexes(ts[:kept])
	// The lowest free index for each: data pieces are lower than parities.
	next := 0
	for i := range ts[kept:] {
		for taken.Has(next) {
			next++
		}
		ts[kept+i].Index, taken = uint8(next), taken.With(next)
	}
	slices.SortFunc(ts, func(a, b hemera.Target) int { return int(a.Index) - int(b.Index) })
}

// disks returns the disks of the targets, in their order.
func disks(ts []hemera.Target) []hemera.DiskID {
	ids := make([]hemera.DiskID, len(ts))
	for i, t := range ts {
		ids[i] = t.Disk
	}
	return ids
}

// fits fails with Invalid if a layout that a user chose has more pieces than the space has disks: such a file lacks pieces for as long as
// it lives. Without a space it is the one with the most disks. Admins may set what disks are still to come for.
func fits(view *hemera.View, l hemera.Layout, space hemera.SpaceName) error {
	have, most := map[hemera.SpaceName]int{}, space
	for _, d := range view.Disks {
		if have[d.Space]++; space == "" && have[d.Space] > have[most] {
			most = d.Space
		}
	}
	if int(l.Pieces) <= have[most] {
		return nil
	}
	where := "space " + string(most)
	if most == "" {
		where = "the cluster"
	}
	return errs.New(errs.Invalid, "manager.Open", l.String(), fmt.Sprintf("it takes %d disks, and %s has %d", l.Pieces, where, have[most])).
		WithRemedy("ask for fewer pieces, for example hem.replicas=1, or change what the directory asks for in sys.forced.layout, sys.forced.nstripes, sys.forced.space or sys.lifecycle.convert")
}
