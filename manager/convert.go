package manager

import (
	"context"
	"slices"
	"time"

	"hemera/cluster"
	"hemera/maint"
	"hemera/namespace"
	"hemera/rules/layout"
	"hemera/rules/lifecycle"
	"hemera/rules/place"
	"hemera/rules/policy"
	"hemera/rules/quota"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A conversion is a write of the same content that no client opened: the manager permits it to itself, and a node does
// it. It takes no lock of the name, so that it is in nobody's way: the generation that its commit must replace decides.
// So that it does not win against a client that has the file open to write, it is not permitted while there is one, and
// its commit is refused then. An open that comes while such a commit is made waits for it (see converting): else it would
// begin from a generation that is gone.

// grants permits conversions to the maintenance, and reads and recalls to tape servers.
type grants struct {
	tree    namespace.Parts
	cluster *cluster.Cluster
	pending *pending // grants count as writes of their disks
	heads   *heads   // that say what is being written
	placer  placer
	reader  *reader
	nonces  *nonces
	ops     *operations
	now     func() time.Time
}

// GrantConversion implements maint.Granter.
func (gr *grants) GrantConversion(ctx context.Context, id hemera.FileID, gen hemera.Generation, form hemera.Form) (g maint.ConversionGrant, err error) {
	defer gr.ops.begin("Convert").end(&err)
	if err := gr.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return g, err
	}
	if err := gr.heads.await(ctx); err != nil {
		return g, err
	}
	prep, path, err := gr.tree.PrepareConversion(ctx, id, gen)
	if err != nil {
		return g, err
	}
	e := &prep.Entry
	if who, _, _, held := gr.pending.holder(name{e.Parent, e.Name}); held {
		return g, errs.New(errs.Locked, "manager.Convert", path, "it is being written by "+who.Name)
	}
	// The decision was made on a page of a list. The form is applied to the file as it is now.
	view := gr.cluster.View()
	wanted, _ := lifecycle.Wanted(*e, form)
	if err := fitsQuota(&prep, wanted.Layout); err != nil {
		return g, errs.Wrap(err, "manager.Convert", path)
	}
	// From is the file as it is, to is what it becomes; both are for the same head.
	to := gr.converted(&prep, path, wanted)
	from := *to
	from.Access, from.Convert, from.BaseGen = hemera.AccessRead, false, 0
	describe(&from, e)
	if from.Targets = place.Order(view, e.Pieces, "", nil, to.Nonce); !enough(e.Layout, e.Size, from.Targets) {
		return g, gr.reader.broken.noReplicas(view, path, e, from.Targets, nil)
	}
	if err := gr.place(view, to, wanted, from.Targets); err != nil {
		return g, errs.Wrap(err, "manager.Convert", path)
	}
	if g.Order, err = gr.order(to, &from); err != nil {
		return g, errs.Wrap(err, "manager.Convert", path)
	}
	// Counted like a client's write, so that others choose other disks.
	used := disks(to.Targets)
	gr.pending.count(used, 1)
	gr.pending.granted.add(to.Gen)
	g.Node, g.End = to.Head, func() {
		gr.pending.granted.end(to.Gen)
		gr.pending.count(used, -1)
	}
	return g, nil
}

// converted returns the capability to write the content of a file once more, without targets yet. A tree that was moved may have files whose path is
// longer than paths may be; in a piece it is for people only.
func (gr *grants) converted(prep *namespace.Prepared, path string, wanted lifecycle.Stored) *hemera.Capability {
	e := &prep.Entry
	return &hemera.Capability{
		File: e.ID, Gen: prep.Gen, BaseGen: e.Gen, Parent: e.Parent, Name: e.Name, Path: path[max(0, len(path)-hemera.PathMax):], Mode: e.Mode,
		Access: hemera.AccessCreate, Convert: true, Size: e.Size, Checksums: wanted.Checksums, Who: hemera.SystemIdentity(),
		Expires: gr.now().Add(hemera.CapabilityLifetime), Nonce: gr.nonces.next(),
		Owner: &hemera.FileOwner{UID: e.UID, GID: e.GID, Mode: e.Mode}, // a rebuild of the namespace finds the owner in the pieces only
	}
}

// fitsQuota refuses a form that takes more room than the limits of the file leave: OverQuota. The commit asks again.
func fitsQuota(prep *namespace.Prepared, l hemera.Layout) error {
	e := prep.Entry
	want := quota.Want{QuotaAmount: hemera.QuotaAmount{Physical: layout.Physical(l, e.Size) - layout.Used(e.Layout, e.Size, e.Pieces)}}
	if d := quota.Decide(prep.Quota, want); !d.Allowed {
		return errs.New(errs.OverQuota, "quota.Decide", "quota of "+d.Whose, d.Why).WithRemedy(d.Remedy)
	}
	return nil
}

// place decides where the new pieces go: as many as the layout has, as there is no hurry. A content that has no pieces is wanted by
// somebody who waits: it takes as few as a write may have. The head is a node that has a piece of the content already, if there is one:
// then it reads that from its own disk. NotFound, NoSpace.
func (gr *grants) place(view *hemera.View, c *hemera.Capability, wanted lifecycle.Stored, from []hemera.Target) error {
	space, ok := view.Space(wanted.Space)
	if !ok {
		return errs.New(errs.NotFound, "manager.Convert", "space "+string(wanted.Space), "there is no such space").WithRemedy("see `hemera space ls`")
	}
	pol := space.Policy
	least := policy.MinimumOf(pol, wanted.Layout)
	if len(from) > 0 {
		// All pieces, or none: to convert a file into one that lacks pieces would be to repair it next.
		least = wanted.Layout.Pieces
	}
	pol.Space, pol.Layout, pol.PiecesMin = wanted.Space, wanted.Layout, least
	c.Space, c.Layout, c.Sync = pol.Space, pol.Layout, pol.Sync
	if err := gr.placer.place(c, view, pol, without{}); err != nil {
		return err
	}
	// Any target may be the head: pieces of a layout are numbered after that.
	near := slices.IndexFunc(c.Targets, func(t hemera.Target) bool {
		return slices.ContainsFunc(from, func(f hemera.Target) bool { return f.Node == t.Node })
	})
	if near > 0 {
		c.Targets[0], c.Targets[near] = c.Targets[near], c.Targets[0]
		deal(view, c.Targets, c.Layout)
		head, _ := view.Node(c.Targets[0].Node)
		c.Head, c.Epoch = c.Targets[0].Node, head.Epoch
	}
	return nil
}

// order signs both capabilities for the head.
func (gr *grants) order(to, from *hemera.Capability) (o hemera.Order, err error) {
	// The disk names the lane in which the node works on it.
	o = hemera.Order{Kind: hemera.OrderConvert, Disk: to.Targets[0].Disk, Piece: hemera.PieceID{File: to.File, Gen: to.Gen}}
	// The sources know the head by its own read capability; the targets know it by that of the write.
	if o.Token, err = gr.cluster.Keys.Ring().Mint(*to); err != nil {
		return o, err
	}
	o.From, err = gr.cluster.Keys.Ring().MintFor(*from, to.Head)
	return o, err
}
