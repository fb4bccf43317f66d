package manager

import (
	"context"

	"hemera"
	"hemera/errs"
	"hemera/rules/lifecycle"
	"hemera/rules/place"
)

// tapeControl is hemera.TapeControl: the tape tier behind the leases of its servers, which are
// nodes.
type tapeControl struct{ *parts }

// ReportLibrary implements hemera.TapeControl.
func (c *tapeControl) ReportLibrary(_ context.Context, node hemera.NodeID, epoch uint64, l hemera.TapeLibrary) error {
	if err := c.cluster.Check(node, epoch); err != nil {
		return err
	}
	c.tier.ReportLibrary(node, l)
	return nil
}

// NextMount implements hemera.TapeControl.
func (c *tapeControl) NextMount(ctx context.Context, node hemera.NodeID, epoch uint64, drive string) (m hemera.TapeMount, err error) {
	if err := c.cluster.Check(node, epoch); err != nil {
		return m, err
	}
	// A manager over an older copy of the store would have tapes written over.
	if err := c.cluster.AwaitCurrent(ctx); err != nil {
		return m, err
	}
	return c.tier.NextMount(ctx, node, drive)
}

// TapeJobs implements hemera.TapeControl.
func (c *tapeControl) TapeJobs(ctx context.Context, node hemera.NodeID, epoch uint64, want hemera.TapeJobsRequest) (r hemera.TapeJobsReply, err error) {
	if err := c.cluster.Check(node, epoch); err != nil {
		return r, err
	}
	return c.tier.TapeJobs(ctx, node, want)
}

// TapeGrant implements hemera.TapeControl.
func (c *tapeControl) TapeGrant(ctx context.Context, node hemera.NodeID, epoch uint64, mount uint64, job hemera.TapeJobKey) (g hemera.TapeGrant, err error) {
	if err := c.cluster.Check(node, epoch); err != nil {
		return g, err
	}
	return c.tier.TapeGrant(ctx, node, mount, job)
}

// TapeDone implements hemera.TapeControl.
func (c *tapeControl) TapeDone(ctx context.Context, node hemera.NodeID, epoch uint64, r hemera.TapeResults) (err error) {
	defer c.ops.begin("TapeDone").end(&err)
	if err := c.cluster.Check(node, epoch); err != nil {
		return err
	}
	if err := c.cluster.AwaitCurrent(ctx); err != nil {
		return err
	}
	return c.tier.TapeDone(ctx, node, r)
}

// tapeGrants is tapetier.Granter: a tape server reads and writes files as any client does, with a
// capability that the manager gives it.
type tapeGrants struct{ *converter }

// GrantArchive implements tapetier.Granter.
func (g tapeGrants) GrantArchive(_ context.Context, e hemera.Entry, path string) (out hemera.TapeGrant, err error) {
	view := g.cluster.View()
	c := hemera.Capability{Path: path, Access: hemera.AccessRead, Who: hemera.SystemIdentity(), Expires: g.now().Add(hemera.CapabilityLifetime)}
	describe(&c, &e)
	if c.Targets = place.Order(view, e.Pieces, "", nil, g.nonce.Add(1)); !enough(e.Layout, e.Size, c.Targets) {
		return out, noReplicas(view, path, &e, c.Targets, nil)
	}
	if c.Layout.Coded() {
		place.Lead(view, c.Targets, c.Layout.Data, "")
	}
	token, err := g.cluster.Ring().Mint(c)
	return hemera.TapeGrant{Addr: c.Targets[0].Addr, Token: token, Path: path, Size: e.Size}, err
}

// GrantRecall implements tapetier.Granter. The content is written as a conversion of what is on
// tape: its commit has to have the size and all checksums of the file.
func (g tapeGrants) GrantRecall(ctx context.Context, id hemera.FileID, gen hemera.Generation) (out hemera.TapeGrant, err error) {
	if err := g.cluster.AwaitCurrent(ctx); err != nil {
		return out, err
	}
	prep, path, err := g.tree.PrepareConversion(ctx, id, gen)
	if err != nil {
		return out, err
	}
	e := &prep.Entry
	if err := fitsQuota(&prep, e.Layout); err != nil {
		return out, errs.Wrap(err, "manager.Recall", path)
	}
	wanted, _ := lifecycle.Wanted(*e, hemera.Form{})
	to := &hemera.Capability{
		File: e.ID, Gen: prep.Gen, BaseGen: e.Gen, Parent: e.Parent, Name: e.Name, Path: path[max(0, len(path)-hemera.PathMax):], Mode: e.Mode,
		Access: hemera.AccessCreate, Convert: true, Size: e.Size, Checksums: wanted.Checksums, Who: hemera.SystemIdentity(),
		Expires: g.now().Add(hemera.CapabilityLifetime), Nonce: g.nonce.Add(1),
	}
	if err := g.place(g.cluster.View(), to, wanted, nil); err != nil {
		return out, errs.Wrap(err, "manager.Recall", path)
	}
	token, err := g.cluster.Ring().Mint(*to)
	return hemera.TapeGrant{Addr: to.Targets[0].Addr, Token: token, Path: path, Size: e.Size}, err
}

// offline is the error for who opens a file that is on tape only, nil for any other file. Its
// recall begins; clients wait and ask again.
func (o *opener) offline(ctx context.Context, who hemera.Identity, e *hemera.Entry, path string) error {
	if !e.Evicted() || o.tier == nil {
		return nil
	}
	return o.tier.OnOpen(ctx, who, *e, path)
}
