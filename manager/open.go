package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"hemera/manager/reads"
	"hemera/namespace"
	"hemera/rules/layout"
	"hemera/rules/place"
	"hemera/rules/policy"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// opener grants opens: the part of hemera.Files that decides where files are read and written.
type opener struct {
	*parts                           // shared with the other services
	reads  *reads.Notes              // of files that are read
	own    *ownWrites                // the writes of the process that asks
	asks   *asks                     // questions to heads, of writers that seem to be gone
	left   func(session string) bool // reports whether a client's session is connected to no door any more
}

// Open implements hemera.Files: access and names by the tree, policy by layout, disks by place, and
// a signed capability that carries all of it to the node.
func (o *opener) Open(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (g hemera.Grant, err error) {
	op := "OpenWrite"
	if r.Access == hemera.AccessRead {
		op = "OpenRead"
	}
	began := o.ops.begin(op)
	defer began.end(&err)
	o.turns.Seen(who)
	if r.Access != hemera.AccessRead {
		if err := o.cluster.Current(); err != nil { // so that clients wait, as for a disk
			return g, err
		}
	}
	// Reads never get errOutdated but after they waited for a write of their own process.
	for range claimTries { // what the open read may have changed before it took the lock
		if g, err = o.tryOpen(ctx, began.at, who, r); !errors.Is(err, errOutdated) {
			break
		}
	}
	return g, o.deferWhileNodesReturn(o.unknownYet(who, err), r.Tried)
}

// claimTries is how often an open looks at quotas that change meanwhile, near their limit.
const claimTries = 16

// tryOpen is one attempt of an open. errOutdated means that something it read changed meanwhile: the caller tries again.
func (o *opener) tryOpen(ctx context.Context, now time.Time, who hemera.Identity, r hemera.OpenRequest) (hemera.Grant, error) {
	// Before the first look at the namespace: what ends after this line may not be seen by it.
	since := before{o.pending.claims.returned.load(), o.pending.ends.Load()}
	var prep namespace.Prepared
	var err error
	if r.Again != nil && r.Access == hemera.AccessRead {
		prep.Entry, err = o.content(ctx, who, r)
	} else {
		prep, err = o.tree.Prepare(ctx, who, r)
	}
	if r.Join {
		if g, ok := o.own.join(ctx, who, &prep, r, err); ok {
			return g, nil
		}
	}
	// A write of this process ended while the open waited: everything that was read is outdated.
	if o.own.awaitOwn(ctx, who, &prep, r, err) {
		return hemera.Grant{}, errOutdated
	}
	if err != nil {
		return hemera.Grant{}, err
	}
	c := hemera.Capability{
		Path: r.Path, Access: r.Access, Who: who, Trace: hemera.TraceID(ctx),
		// From the beginning of the open and not from now: tries do not lengthen it.
		Expires: now.Add(hemera.CapabilityLifetime),
	}
	// A read needs the content, and so does an update, which begins with it. A replacement does not.
	if r.Access == hemera.AccessRead || r.Access == hemera.AccessUpdate && prep.Existing {
		if prep.Entry.Evicted() {
			// Without an error it came to disk since it was looked up.
			return hemera.Grant{}, cmp.Or[error](o.tier.OnOpen(ctx, who, prep.Entry, r.Path), errOutdated)
		}
	}
	if r.Access == hemera.AccessRead {
		o.reads.Note(&prep.Entry, now)
		c.OnTape = len(prep.Entry.Tape) > 0
		g, err := o.openRead(&c, &prep, r)
		err = (&rescuer{o.parts}).onOpen(ctx, who, prep.Entry, err)
		if err == nil && !r.NoPiece.IsZero() {
			err = (&rescuer{o.parts}).onNoPiece(ctx, who, &prep.Entry, r)
		}
		return g, err
	}
	g, err := o.openWrite(ctx, &c, &prep, since, r)
	if r.Access == hemera.AccessUpdate && prep.Existing {
		err = (&rescuer{o.parts}).onOpen(ctx, who, prep.Entry, err)
	}
	return g, err
}

// openRead grants a read: the pieces that can be read, best first. NoReplicas.
func (o *opener) openRead(c *hemera.Capability, prep *namespace.Prepared, r hemera.OpenRequest) (hemera.Grant, error) {
	if prep.Entry.IsDir() {
		return hemera.Grant{}, errs.New(errs.IsDirectory, "manager.Open", r.Path, "")
	}
	describe(c, &prep.Entry)
	view := o.cluster.View()
	seed := o.nonce.Add(1) // equal replicas take turns
	// An empty file has no pieces and is read at any node.
	if len(prep.Entry.Pieces) == 0 && prep.Entry.Size == 0 {
		c.Targets = anyNode(view, r.Tried, seed)
	} else {
		c.Targets = place.Order(view, prep.Entry.Pieces, c.Who.Host, r.Tried, seed)
	}
	// All nodes have failed this client. Other disks of these nodes may still do: the failure may have been a disk's.
	if len(c.Targets) == 0 && len(r.Avoid) > 0 {
		left := slices.DeleteFunc(slices.Clone(prep.Entry.Pieces), func(p hemera.Piece) bool { return slices.Contains(r.Avoid, p.Disk) })
		c.Targets = place.Order(view, left, c.Who.Host, nil, seed)
	}
	if len(c.Targets) == 0 {
		return hemera.Grant{}, o.noReplicas(view, r.Path, &prep.Entry, nil, r.Tried)
	}
	// Copies are alike, so the best node comes first as it is. Of a coded file some nodes have data and others parity.
	if c.Layout.Coded() {
		place.Lead(view, c.Targets, c.Layout.Data, c.Who.Host)
	}
	if len(r.Tried) > 0 {
		// The node may still read the others' pieces when its own is bad.
		for _, t := range place.Order(view, prep.Entry.Pieces, c.Who.Host, nil, seed) {
			if !slices.Contains(c.Targets, t) {
				c.Targets = append(c.Targets, t)
			}
		}
	}
	// The tried ones count: the head may reach what this client could not.
	if !enough(c.Layout, c.Size, c.Targets) {
		return hemera.Grant{}, o.noReplicas(view, r.Path, &prep.Entry, c.Targets, nil)
	}
	return grant(c, o.cluster.Ring()), nil
}

// enough reports whether a file of size bytes can be read from pieces at these places.
func enough(l hemera.Layout, size int64, at []hemera.Target) bool {
	if !l.Coded() {
		return size == 0 || len(at) > 0
	}
	return layout.Readable(l, size, layout.TargetIndexes(at))
}

// ownerOf is what the pieces of a write will know of the file's owner: who makes the file, or has it.
func ownerOf(prep *namespace.Prepared, c *hemera.Capability) *hemera.FileOwner {
	if prep.Existing {
		return &hemera.FileOwner{UID: prep.Entry.UID, GID: prep.Entry.GID, Mode: c.Mode}
	}
	return &hemera.FileOwner{UID: c.Who.UID, GID: c.Who.GID, Mode: c.Mode}
}

// describe fills in what a read capability says of the file.
func describe(c *hemera.Capability, e *hemera.Entry) {
	c.File, c.Gen, c.Parent, c.Name = e.ID, e.Gen, e.Parent, e.Name
	c.Layout, c.Space, c.Size, c.Mode, c.Sums = e.Layout, e.Space, e.Size, e.Mode, e.Checksums
}

// noReplicas says why a file cannot be read from the pieces that can be read, at these places; the reasons are those of
// the other pieces. A file on tape only lacks none: it is to be brought to disk first.
func (p *parts) noReplicas(v *hemera.View, path string, e *hemera.Entry, at []hemera.Target, tried []hemera.NodeID) error {
	if e.Evicted() {
		return errs.New(errs.NoReplicas, "manager.Open", path, "the file is on tape only").
			WithRemedy("bring it to disk first: `xrdfs HOST prepare -s " + path + "`, or `hemera tape stage " + path + "`")
	}
	lacking := slices.DeleteFunc(slices.Clone(e.Pieces), func(p hemera.Piece) bool {
		return slices.ContainsFunc(at, func(t hemera.Target) bool { return t.Disk == p.Disk && t.Index == p.Index })
	})
	// It names each disk and what is wrong with it, since this is the error that admins are called for.
	text := "none of its pieces can be read now: " + place.Unreadable(v, lacking, tried)
	if len(at) > 0 {
		text = fmt.Sprintf("%d of its pieces can be read now, and layout %s takes %d", len(at), e.Layout, layout.Needed(e.Layout, e.Size))
		if len(lacking) > 0 {
			text += ": " + place.Unreadable(v, lacking, tried)
		}
	}
	remedy := "`hemera why " + path + "` says for each piece what to do"
	if s, _ := stand(v, *e, p.brokenSet()); s == lostFile {
		remedy = "the file is lost unless a good piece comes back: `hemera why " + path + "` has the commands; else restore it from elsewhere, or remove it"
	}
	return errs.New(errs.NoReplicas, "manager.Open", path, text).WithRemedy(remedy)
}

// anyNode is where an empty file is read: it has no pieces, so every online node will do.
func anyNode(v *hemera.View, tried []hemera.NodeID, seed uint64) []hemera.Target {
	// Zero nodes: the loop below does nothing, so the division is never by zero.
	count := uint64(len(v.Nodes))
	for i := range count {
		n := &v.Nodes[(seed%count+i)%count]
		if n.Status == hemera.NodeOnline && n.Enabled && !slices.Contains(tried, n.ID) {
			return []hemera.Target{{Node: n.ID, Addr: n.Addr}}
		}
	}
	return nil
}

// before is what an open must know of the moment before it looked anything up.
type before struct {
	returned hemera.QuotaAmount // see claims
	ends     uint64             // see pending
}

// openWrite grants a write: policy, placement, what quotas leave, and the lock of the name, in this order. Nothing is
// durable before the commit but the range of ids.
func (o *opener) openWrite(ctx context.Context, c *hemera.Capability, prep *namespace.Prepared, since before, r hemera.OpenRequest) (hemera.Grant, error) {
	view := o.cluster.View()
	e := &prep.Entry
	c.File, c.Gen, c.Parent, c.Name, c.Mode = prep.ID, prep.Gen, prep.Parent.ID, path.Base(r.Path), prep.Mode
	c.Size, c.Force, c.Nonce = r.Size, r.Force, o.nonce.Add(1)
	// The file keeps its place and its mode, whatever the request says of new files.
	if prep.Existing {
		c.Parent, c.Name, c.BaseGen, c.Mode = e.Parent, e.Name, e.Gen, e.Mode
		if prep.Keeps {
			c.Replaces = e.ID
		}
	}
	c.Owner = ownerOf(prep, c)
	pol, err := decide(view, prep, c, r.Wish)
	if err != nil {
		return hemera.Grant{}, errs.Wrap(err, "manager.Open", r.Path)
	}
	c.Layout, c.Space, c.Sync = pol.Layout, pol.Space, pol.Sync
	// CRC32C is always computed: pieces are compared by it, whatever the policy names.
	c.Checksums = []hemera.ChecksumKind{hemera.CRC32C}
	if pol.Checksum != hemera.ChecksumNone && pol.Checksum != hemera.CRC32C {
		c.Checksums = []hemera.ChecksumKind{pol.Checksum, hemera.CRC32C}
	}
	if c.Access == hemera.AccessUpdate {
		if err := o.base(c, view, e); err != nil {
			return hemera.Grant{}, err
		}
	}
	// Nodes that failed this client are left out first. Only if nothing is left, their other disks are tried.
	err = o.place(c, view, pol, without{nodes: r.Tried})
	if errs.KindOf(err) == errs.NoSpace && len(r.Avoid) > 0 {
		if o.place(c, view, pol, without{disks: r.Avoid}) == nil {
			err = nil
		}
	}
	if errs.KindOf(err) == errs.NoSpace {
		err = o.makeRoom(ctx, view, c, err)
	}
	if err != nil {
		return hemera.Grant{}, errs.Wrap(err, "manager.Open", r.Path)
	}
	// After the placement, as what a byte costs depends on the layout.
	c.SizeMax = o.sizeMax(prep, c) // nodes hold the write to it
	g := grant(c, o.cluster.Ring())
	now := o.now()
	// From here on the lock decides. Nothing has to be undone before it, and nothing can fail after it.
	t := &taker{
		force: r.Force, exclusive: r.Exclusive, ended: r.Ended, tried: r.Tried, since: since.ends, left: o.left,
		write: &write{
			nonce: c.Nonce, file: c.File, gen: c.Gen, path: r.Path, who: c.Who, session: r.Session, head: c.Targets[0].Node,
			size: r.Size, began: now, expires: c.Expires.Add(hemera.PendingHold), permit: g.Permit,
			process: r.Process, mode: c.Mode, disks: disks(c.Targets), claim: claimFor(prep, since.returned, r, c),
		},
	}
	err = o.pending.begin(name{c.Parent, c.Name}, t, now)
	if busy, ok := errors.AsType[converting](err); ok {
		return hemera.Grant{}, busy.await(ctx)
	}
	if gone, ok := errors.AsType[lostWriter](err); ok {
		// The writer seems to be gone, but only its head knows: the client comes back when the head has answered.
		err = o.lost(view, gone)
	}
	if err != nil {
		return hemera.Grant{}, errs.Wrap(err, "manager.Open", r.Path)
	}
	return g, nil
}

// decide finds the policy. An update keeps the layout and checksum the file has.
func decide(view *hemera.View, prep *namespace.Prepared, c *hemera.Capability, wish hemera.Wish) (hemera.Policy, error) {
	if wish.Unknown != "" {
		return hemera.Policy{}, errs.New(errs.Invalid, "policy.Decide", wish.Unknown, "there is no such wish").
			WithRemedy("wishes are hem.space, hem.layout, hem.blocksize, hem.replicas and hem.checksum, as in root://host//path?hem.layout=rs:4+2")
	}
	spaceName, err := policy.Space(prep.Attrs, wish, c.Who)
	if err != nil {
		return hemera.Policy{}, err
	}
	if c.Access == hemera.AccessUpdate && prep.Entry.Space != "" {
		// An update keeps the file where it is: its pieces share blocks with the base.
		spaceName = prep.Entry.Space
	}
	space, ok := view.Space(spaceName)
	if !ok {
		return hemera.Policy{}, errs.New(errs.NotFound, "policy.Decide", "space "+spaceName, "there is no such space").
			WithRemedy("see `hemera space ls`, or change " + policy.AttrSpace)
	}
	p, err := policy.Decide(prep.Attrs, space, wish, c.Who)
	if err != nil {
		return p, err
	}
	if c.Access == hemera.AccessUpdate && prep.Entry.Layout.Validate() == nil {
		// Pieces of another layout could not begin as copies of the base's pieces.
		p.Layout, p.PiecesMin = prep.Entry.Layout, policy.MinimumOf(space.Policy, prep.Entry.Layout)
		if len(prep.Entry.Checksums) > 0 {
			p.Checksum = prep.Entry.Checksums[0].Kind
		}
		return p, nil
	}
	chosen := prep.Attrs.OwnLayout || wish.Layout != "" || wish.Pieces != 0
	// What an admin set for a directory may be too much for a space that a user chose. What one set for the space itself is not the user's choice.
	if p.Layout.Pieces != space.Policy.Layout.Pieces {
		chosen = chosen || prep.Attrs.OwnSpace || wish.Space != ""
	}
	if !chosen {
		return p, nil
	}
	return p, fits(view, p.Layout, p.Space)
}

// fits fails with Invalid if a layout that a user chose has more pieces than the space has disks: such a file lacks pieces for as long as
// it lives. Without a space it is the one with the most disks. Admins may set what disks are still to come for.
func fits(view *hemera.View, l hemera.Layout, space string) error {
	have, most := map[string]int{}, space
	for _, d := range view.Disks {
		if have[d.Space]++; space == "" && have[d.Space] > have[most] {
			most = d.Space
		}
	}
	if int(l.Pieces) <= have[most] {
		return nil
	}
	where := "space " + most
	if most == "" {
		where = "the cluster"
	}
	return errs.New(errs.Invalid, "manager.Open", l.String(), fmt.Sprintf("it takes %d disks, and %s has %d", l.Pieces, where, have[most])).
		WithRemedy("ask for fewer pieces, for example hem.replicas=1, or change what the directory asks for in sys.forced.layout, sys.forced.nstripes, sys.forced.space or sys.lifecycle.convert")
}

// base records what an update begins from.
func (o *opener) base(c *hemera.Capability, view *hemera.View, e *hemera.Entry) error {
	c.Base = &hemera.Base{Gen: e.Gen, Size: e.Size, Pieces: place.Order(view, e.Pieces, c.Who.Host, nil, c.Nonce)}
	// An update of an empty file begins from nothing.
	if !enough(e.Layout, e.Size, c.Base.Pieces) {
		return o.noReplicas(view, c.Path, e, c.Base.Pieces, nil)
	}
	// Room is chosen for the whole new content, which begins as long as the old one.
	c.Size, c.Sums = max(c.Size, e.Size), e.Checksums
	return nil
}

// without is where a write must not go.
type without struct {
	nodes []hemera.NodeID // that failed this client
	disks []hemera.DiskID // the same, where whole nodes leave nothing
}

// place chooses the targets. An update prefers the disks that have the base: they can share blocks
// with it instead of copying.
func (o *opener) place(c *hemera.Capability, view *hemera.View, p hemera.Policy, not without) error {
	req := place.Request{
		// With fewer targets the file could never be read, so it is not begun.
		Space: c.Space, Want: int(p.Layout.Pieces), Min: max(int(p.PiecesMin), p.Layout.Enough()), Spare: p.Layout.Parity(),
		Size: layout.PieceMax(p.Layout, c.Size), Client: c.Who.Host,
		ExcludeNodes: not.nodes, ExcludeDisks: not.disks, Writers: o.pending.load, Seed: c.Nonce,
	}
	var kept []hemera.Target
	if c.Base != nil {
		kept = reusable(view, c.Base.Pieces, p.Layout, req)
	}
	// Also for an update that keeps all disks of its base: it says how many disks are eligible, and fails like any open.
	choice, err := chooseFor(view, p.Layout, req)
	if err != nil {
		return err
	}
	c.Targets = choice.Targets
	if len(kept) > 0 {
		if c.Targets, err = withMore(view, kept, p.Layout, req); err != nil {
			return err
		}
	}
	c.Head = c.Targets[0].Node
	if head, ok := view.Node(c.Targets[0].Node); ok {
		// A head that was restarted since has lost the write's earlier content: the epoch tells it so.
		c.Epoch = head.Epoch
	}
	c.PiecesMin = layout.Minimum(p.Layout, p.PiecesMin, choice.Eligible)
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

// withMore are the base's places that an update keeps, and new ones for the other pieces. More disks than the base has are
// a bonus where the kept ones are enough to read the file: a write with fewer pieces than wanted is repaired later. NoSpace.
func withMore(view *hemera.View, kept []hemera.Target, l hemera.Layout, req place.Request) ([]hemera.Target, error) {
	// What is chosen keeps away from the nodes and zones of the kept ones, as far as there are others.
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
		return nil, errs.New(errs.NoSpace, "place.Choose", "space "+req.Space, fmt.Sprintf("%d disks can take pieces, which is too few for layout %s", len(kept), l)).
			WithRemedy("see `hemera fs ls` for the disks' states, or add disks with `hemera fs add`")
	}
	return kept, nil
}

// reusable are the base's places that could be chosen for the request, at most as many as wanted.
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

// disks are those of the targets, in their order.
func disks(ts []hemera.Target) []hemera.DiskID {
	ids := make([]hemera.DiskID, len(ts))
	for i, t := range ts {
		ids[i] = t.Disk
	}
	return ids
}

// grant sends the client to the capability's first target. The token is signed when somebody asks for it: an open that
// is served in this process needs none.
func grant(c *hemera.Capability, s hemera.Signer) hemera.Grant {
	return hemera.Grant{Addr: c.Targets[0].Addr, Permit: hemera.NewPermit(*c, s)}
}
