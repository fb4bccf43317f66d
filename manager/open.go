package manager

import (
	"cmp"
	"context"
	"errors"
	"path"
	"time"

	"hemera/cluster"
	"hemera/maint"
	"hemera/namespace"
	"hemera/platform/fairshare"
	"hemera/rules/place"
	"hemera/rules/policy"
	"hemera/tape/tier"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// opener grants opens: the part of hemera.Files that decides where files are read and written.
type opener struct {
	tree      namespace.Parts
	cluster   *cluster.Cluster
	engine    *maint.Engine // makes room
	tier      *tier.Tier    // brings files to disk
	pending   *pending      // where the lock of a name is taken
	own       *ownWrites    // the writes of the process that asks
	asks      *asks         // questions to heads, of writers that seem to be gone
	heads     *heads        // those that tell what is being written after a start
	placer    placer
	reader    *reader
	rescuer   *rescuer // recalls files whose disks are lost
	returns   returns
	notes     *readNotes                // of files that are read
	connected func(session string) bool // reports whether a session is at a door; nil: not known
	turns     *fairshare.Limiter
	nonces    *nonces
	ops       *operations
	now       func() time.Time
}

// files implements hemera.Files.
type files struct {
	*opener
	*ownWrites
	*locator
}

// Open implements hemera.Files: access and names by the tree, policy by layout, disks by place, and
// a permit that carries all of it to the node. It is signed when another process must see it.
func (o *opener) Open(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (g hemera.Grant, err error) {
	op := "OpenWrite"
	if r.Access == hemera.AccessRead {
		op = "OpenRead"
	}
	began := o.ops.begin(op)
	defer began.end(&err)
	o.turns.Seen(who)
	if r.Access != hemera.AccessRead {
		if err := current(o.cluster.Marks); err != nil { // so that clients wait, as for a disk
			return g, err
		}
	}
	// Reads never get errOutdated but after they waited for a write of their own process.
	for range claimTries { // what the open read may have changed before it took the lock
		if g, err = o.tryOpen(ctx, began.at, who, r); !errors.Is(err, errOutdated) {
			break
		}
	}
	return g, o.returns.defers(unknownYet(o.cluster, who, err), r.Tried)
}

// claimTries bounds the looks of an open at quotas that change meanwhile, near their limit.
const claimTries = 16

// tryOpen makes one attempt of an open. errOutdated means that something it read changed meanwhile: the caller tries
// again.
func (o *opener) tryOpen(ctx context.Context, now time.Time, who hemera.Identity, r hemera.OpenRequest) (hemera.Grant, error) {
	// Before the first look at the namespace: what ends after this line may not be seen by it.
	since := before{o.pending.claims.Returned(), o.pending.ends.Load()}
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
			return hemera.Grant{}, cmp.Or[error](o.tier.Stager.OnOpen(ctx, who, prep.Entry, r.Path), errOutdated)
		}
	}
	if r.Access == hemera.AccessRead {
		o.notes.note(&prep.Entry, now)
		c.OnTape = len(prep.Entry.Tape) > 0
		view := o.cluster.View() // no newer than the one that the grant is made of
		g, err := o.reader.grant(&c, &prep, r)
		err = o.returns.lacking(o.rescuer.onOpen(ctx, who, prep.Entry, err), view, r.Tried, hasPieces(&prep.Entry, r.Tried))
		if err == nil && !r.NoPiece.IsZero() {
			err = o.rescuer.onNoPiece(ctx, who, &prep.Entry, r)
		}
		return g, err
	}
	g, err := o.openWrite(ctx, &c, &prep, since, r)
	if r.Access == hemera.AccessUpdate && prep.Existing {
		err = o.rescuer.onOpen(ctx, who, prep.Entry, err)
	}
	return g, err
}

// ownerOf returns the owner of the file that the pieces of a write will name: the user that makes the file, or has it.
func ownerOf(prep *namespace.Prepared, c *hemera.Capability) *hemera.FileOwner {
	if prep.Existing {
		return &hemera.FileOwner{UID: prep.Entry.UID, GID: prep.Entry.GID, Mode: c.Mode}
	}
	return &hemera.FileOwner{UID: c.Who.UID, GID: c.Who.GID, Mode: c.Mode}
}

// left reports whether a session is connected to no door any more. Where that is not known it is not so.
func (o *opener) left(session string) bool {
	return session != "" && o.connected != nil && !o.connected(session)
}

// before has the facts that an open must know of the moment before its first look.
type before struct {
	returned hemera.QuotaAmount // see accounts.Claims
	ends     uint64             // see pending
}

// openWrite grants a write: policy, placement, what quotas leave, and the lock of the name, in this order. Nothing is
// durable before the commit but the range of ids.
func (o *opener) openWrite(ctx context.Context, c *hemera.Capability, prep *namespace.Prepared, since before, r hemera.OpenRequest) (hemera.Grant, error) {
	view := o.cluster.View()
	// After the view: the open is not sent to a node that is back, and still tells what is being written there.
	if err := o.heads.quiet(); err != nil {
		return hemera.Grant{}, err
	}
	e := &prep.Entry
	c.File, c.Gen, c.Parent, c.Name, c.Mode = prep.ID, prep.Gen, prep.Parent.ID, path.Base(r.Path), prep.Mode
	c.Size, c.Force, c.Nonce = r.Size, r.Force, o.nonces.next()
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
			return hemera.Grant{}, o.returns.lacking(err, view, r.Tried, hasPieces(e, nil))
		}
	}
	// Nodes that failed this client are left out first. Only if nothing is left, their other disks are tried.
	err = o.placer.place(c, view, pol, without{nodes: r.Tried})
	if errs.KindOf(err) == errs.NoSpace && len(r.Avoid) > 0 {
		if o.placer.place(c, view, pol, without{disks: r.Avoid}) == nil {
			err = nil
		}
	}
	if missing := o.returns.gather(view, c, pol.Layout, r.Tried, err); missing != nil {
		return hemera.Grant{}, errs.Wrap(missing, "manager.Open", r.Path)
	}
	if errs.KindOf(err) == errs.NoSpace {
		least := max(int(pol.PiecesMin), pol.Layout.Enough())
		err = o.returns.lacking(o.makeRoom(ctx, view, c, err), view, r.Tried, hasDisks(c.Space, least, r.Tried))
	}
	if err != nil {
		return hemera.Grant{}, errs.Wrap(err, "manager.Open", r.Path)
	}
	// After the placement, as what a byte costs depends on the layout.
	c.SizeMax = o.sizeMax(prep, c) // nodes hold the write to it
	g := grant(c, o.cluster.Keys.Ring())
	now := o.now()
	// From here on the lock decides. Nothing has to be undone before it, and nothing can fail after it.
	t := &taker{
		force: r.Force, exclusive: r.Exclusive, ended: r.Ended, tried: r.Tried, since: since.ends, left: o.left, claim: claimFor(prep, since.returned, r, c),
		write: &write{
			nonce: c.Nonce, file: c.File, gen: c.Gen, path: r.Path, who: c.Who, session: r.Session, head: c.Targets[0].Node,
			size: r.Size, began: now, expires: lockUntil(c), permit: g.Permit,
			process: r.Process, mode: c.Mode, disks: disks(c.Targets),
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
		return hemera.Policy{}, errs.New(errs.NotFound, "policy.Decide", "space "+string(spaceName), "there is no such space").
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

// base records what an update begins from.
func (o *opener) base(c *hemera.Capability, view *hemera.View, e *hemera.Entry) error {
	c.Base = &hemera.Base{Gen: e.Gen, Size: e.Size, Pieces: place.Order(view, e.Pieces, c.Who.Host, nil, c.Nonce)}
	// An update of an empty file begins from nothing.
	if !enough(e.Layout, e.Size, c.Base.Pieces) {
		return o.reader.broken.noReplicas(view, c.Path, e, c.Base.Pieces, nil)
	}
	// Room is chosen for the whole new content, which begins as long as the old one.
	c.Size, c.Sums = max(c.Size, e.Size), e.Checksums
	return nil
}
