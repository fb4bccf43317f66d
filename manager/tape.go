package manager

import (
	"cmp"
	"context"

	"hemera/namespace"
	"hemera/rules/lifecycle"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A tape server reads and writes files as any client does, with a capability that the manager gives it.

// GrantArchive implements tier.Granter.
func (gr *grants) GrantArchive(_ context.Context, e hemera.Entry, path string) (out tapeapi.Grant, err error) {
	c := hemera.Capability{Path: path, Access: hemera.AccessRead, Who: hemera.SystemIdentity(), Expires: gr.now().Add(hemera.CapabilityLifetime)}
	grant, err := gr.reader.grant(&c, &namespace.Prepared{Entry: e}, hemera.OpenRequest{Path: path})
	if err != nil {
		return out, err
	}
	out = tapeapi.Grant{Addr: grant.Addr, Path: path, Size: e.Size}
	out.Token, err = grant.Permit.Token()
	return out, err
}

// GrantRecall implements tier.Granter. The content is written as a conversion of what is on
// tape: its commit has to have the size and all checksums of the file.
func (gr *grants) GrantRecall(ctx context.Context, id hemera.FileID, gen hemera.Generation) (out tapeapi.Grant, end func(), err error) {
	prep, path, err := gr.tree.PrepareConversion(ctx, id, gen)
	if err != nil {
		return out, nil, err
	}
	wanted, _ := lifecycle.Wanted(prep.Entry, hemera.Form{})
	to := gr.converted(&prep, path, wanted)
	if err := cmp.Or(fitsQuota(&prep, prep.Entry.Layout), gr.place(gr.cluster.View(), to, wanted, nil)); err != nil {
		return out, nil, errs.Wrap(err, "manager.Recall", path)
	}
	token, err := gr.cluster.Keys.Ring().Mint(*to)
	if err != nil {
		return out, nil, errs.Wrap(err, "manager.Recall", path)
	}
	// Counted like a client's write, so that others choose other disks.
	end = gr.pending.recalls.begin(gr.pending, id, disks(to.Targets))
	return tapeapi.Grant{Addr: to.Targets[0].Addr, Token: token, Path: path, Size: to.Size}, end, nil
}
