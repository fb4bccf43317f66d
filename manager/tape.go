package manager

import (
	"cmp"
	"context"

	"hemera/namespace"
	"hemera/rules/lifecycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// tapeGrants is tier.Granter: a tape server reads and writes files as any client does, with a
// capability that the manager gives it.
type tapeGrants struct{ *converter }

// GrantArchive implements tier.Granter.
func (g tapeGrants) GrantArchive(_ context.Context, e hemera.Entry, path string) (out hemera.TapeGrant, err error) {
	c := hemera.Capability{Path: path, Access: hemera.AccessRead, Who: hemera.SystemIdentity(), Expires: g.now().Add(hemera.CapabilityLifetime)}
	grant, err := g.opener.openRead(&c, &namespace.Prepared{Entry: e}, hemera.OpenRequest{Path: path})
	if err != nil {
		return out, err
	}
	out = hemera.TapeGrant{Addr: grant.Addr, Path: path, Size: e.Size}
	out.Token, err = grant.Permit.Token()
	return out, err
}

// GrantRecall implements tier.Granter. The content is written as a conversion of what is on
// tape: its commit has to have the size and all checksums of the file.
func (g tapeGrants) GrantRecall(ctx context.Context, id hemera.FileID, gen hemera.Generation) (out hemera.TapeGrant, end func(), err error) {
	prep, path, err := g.tree.PrepareConversion(ctx, id, gen)
	if err != nil {
		return out, nil, err
	}
	wanted, _ := lifecycle.Wanted(prep.Entry, hemera.Form{})
	to := g.converted(&prep, path, wanted)
	if err := cmp.Or(fitsQuota(&prep, prep.Entry.Layout), g.place(g.cluster.View(), to, wanted, nil)); err != nil {
		return out, nil, errs.Wrap(err, "manager.Recall", path)
	}
	token, err := g.cluster.Ring().Mint(*to)
	if err != nil {
		return out, nil, errs.Wrap(err, "manager.Recall", path)
	}
	// Counted like a client's write, so that others choose other disks.
	end = g.pending.recalls.begin(g.pending, id, disks(to.Targets))
	return hemera.TapeGrant{Addr: to.Targets[0].Addr, Token: token, Path: path, Size: to.Size}, end, nil
}
