package daemon

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"

	"hemera/client/xrootd"
	"hemera/doors/xrd"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// puller lets the door of a node fetch the source of a third-party copy. It logs in at the source as nobody, so that the
// copy gets only data that the source gives for the client's key, and nothing that only the node could read.
type puller struct {
	client *xrootd.Client // logs in without a name, calls Permit at each connection
	log    *slog.Logger   // gets the real cause of a failure
}

// newPuller makes a puller whose client has the options plus those that make it safe. The rule checks the address that is
// really dialled: a name may have meant another one when the copy was ordered. node is called late, because a new node
// has no id before it joined.
func newPuller(rules hemera.CopyRules, node func() hemera.NodeID, o xrootd.Options) puller {
	o.App, o.Anonymous = "hemera-tpc", true
	o.Permit = func(ctx context.Context, e xrootd.Endpoint, to netip.AddrPort) error {
		return rules.MayFetch(ctx, hemera.CopySource{Node: node(), Name: e.Addr(), Addr: to.String()})
	}
	return puller{client: xrootd.New(o), log: o.Log}
}

// Pull implements xrd.Puller. The client gets the same error for any problem with the source, so that it cannot find out
// what a node can reach. The log has the cause.
func (p puller) Pull(ctx context.Context, source xrd.PullSource, dst hemera.Handle, progress func(int64)) error {
	into := &into{Handle: dst}
	opened := false
	_, err := p.pull(ctx, source, into, &opened, progress)
	kind := errs.KindOf(err)
	// Errors that do not reveal whether the source can be reached are passed on: of the destination, of a cancelled copy,
	// or of bytes that arrived damaged.
	if err == nil || into.failed || ctx.Err() != nil || opened && (kind == errs.Corrupt || kind == errs.IO) {
		return err
	}
	p.log.Warn("the source of a third-party copy cannot be read", "source", source.Addr, "path", source.Path, "into", dst.Info().Path,
		"trace", hemera.TraceID(ctx), "error", err, "remedy", errs.RemedyOf(err))
	return errs.New(errs.Unavailable, "daemon.ThirdPartyCopy", source.Path, "the source cannot be read from here").
		WithRemedy("check that the source can be opened, and that it lets hosts read without a name; the admin finds the cause in the log of the node under this trace, and the networks that copies may read from in tpc.allow")
}

// pull copies from the source; it sets opened once the source was opened. It refuses a source that names a user: the node
// would act for a user that it cannot verify.
func (p puller) pull(ctx context.Context, source xrd.PullSource, dst hemera.Handle, opened *bool, progress func(int64)) (int64, error) {
	if strings.Contains(source.Addr, "@") {
		return 0, errs.New(errs.Denied, "daemon.ThirdPartyCopy", source.Addr, "the source names a user")
	}
	endpoint, err := xrootd.ParseEndpoint(source.Addr)
	if err != nil {
		return 0, err
	}
	return xrootd.Pull(ctx, p.client, xrootd.PullRequest{
		Source: endpoint, Path: source.Path, Key: source.Key, Origins: source.Origins, Opaque: source.Opaque,
		Opened: func() { *opened = true },
	}, dst, progress)
}

// into is the file that a copy writes. It records whether this end failed. Only the goroutine of the copy uses it.
type into struct {
	hemera.Handle
	failed bool
}

// WritePages implements hemera.Handle.
func (f *into) WritePages(p []byte, sums []uint32, off int64) error {
	err := f.Handle.WritePages(p, sums, off)
	f.failed = f.failed || err != nil
	return err
}
