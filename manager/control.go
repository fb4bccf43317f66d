package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"hemera/cluster"
	"hemera/cluster/netwatch"
	"hemera/maint"
	"hemera/maint/orders"
	"hemera/namespace"
	"hemera/namespace/accounts"
	"hemera/rules/access"
	"hemera/rules/layout"
	"hemera/rules/place"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// control implements hemera.Control, hemera.OpenWrites and hemera.CopyRules: what nodes ask of the manager.
type control struct {
	tree    namespace.Parts
	cluster *cluster.Cluster
	orders  *orders.Dispatcher // work for nodes, and its results
	engine  *maint.Engine      // repairs what nodes find bad
	pending *pending           // writes begun and not committed
	pieces  *recorder          // every commit goes through it
	network *netwatch.Watch    // what nodes count of their networks
	writes  *writeAdmin        // asks heads about old writes with heartbeats
	returns returns
	nonces  *nonces
	heads   *heads // which of them have announced their writes
	ops     *operations
	now     func() time.Time
	log     *slog.Logger
	addr    string                         // of the manager's own xrd door
	sources atomic.Pointer[access.Sources] // where third-party copies may read
}

// Register implements hemera.Control.
func (ctl *control) Register(ctx context.Context, hello hemera.NodeHello) (w hemera.NodeWelcome, err error) {
	defer ctl.ops.begin("Register").end(&err)
	news := ctl.heads.registers(hello.ID, hello.Writes)
	w, err = ctl.cluster.Leases.Register(ctx, hello)
	switch {
	case err == nil:
		// A node that registers has forgotten the orders that it was handed. They are handed out once more.
		ctl.orders.Redeliver(w.ID)
		ctl.heads.registered(w.ID, w.Epoch, hello.Writes)
	case news:
		ctl.heads.refused(hello.ID)
	}
	return w, err
}

// Heartbeat implements hemera.Control.
func (ctl *control) Heartbeat(_ context.Context, node hemera.NodeID, epoch hemera.Epoch, report hemera.NodeReport) (reply hemera.HeartbeatReply, err error) {
	defer ctl.ops.begin("Heartbeat").end(&err)
	if reply, err = ctl.cluster.Leases.Heartbeat(node, epoch, report); err != nil {
		return reply, err
	}
	// Only after the lease was checked: a report under an old lease changes nothing here.
	ctl.orders.Progress(node, report.Copies)
	// The report of a node is cut at the bounds of the protocol, as a node may be in bad hands.
	ctl.engine.RepairPieces(report.Bad[:min(len(report.Bad), hemera.BadPiecesMax)]...)
	ctl.writes.reported(node, report.Writes)
	ctl.network.Take(node, report.Network, ctl.now())
	reply.Writes = ctl.writes.asks.take(node) // the node answers with its next heartbeat
	return reply, nil
}

// Exchange implements hemera.Control.
func (ctl *control) Exchange(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, results []hemera.OrderResult) (reply hemera.ExchangeReply, err error) {
	// Not timed as an operation: an Exchange waits most of its time for work, on purpose.
	if err := ctl.cluster.Leases.Check(node, epoch); err != nil {
		return reply, err
	}
	reply.Orders, err = ctl.orders.Exchange(ctx, node, results)
	// After the orders: what they follow from was durable before they were given.
	reply.Seen = ctl.cluster.Marks.Mark()
	return reply, err
}

// Commit implements hemera.Control. The capability may have expired since the write began, and the
// lock may be gone: what decides is the generation it replaces.
func (ctl *control) Commit(ctx context.Context, r hemera.CommitRequest) (seen []byte, err error) {
	defer ctl.ops.begin("Commit").end(&err)
	if err = ctl.commit(ctx, r); err != nil {
		return nil, err
	}
	return ctl.cluster.Marks.Mark(), nil
}

// commit does what Commit does, without the mark.
func (ctl *control) commit(ctx context.Context, r hemera.CommitRequest) error {
	permit, err := ctl.verifyWrite(ctx, "manager.Commit", r.Permit)
	if err != nil {
		return err
	}
	c := permit.Capability
	if err := checkPieces(c, r); err != nil {
		return err
	}
	if err := checkXattrs(c, r.Xattrs, r.XattrsGone); err != nil {
		return err
	}
	if ctl.now().After(c.Expires.Add(hemera.CommitLifetime)) {
		return ctl.late(ctx, &c)
	}
	if r.Left {
		if err := ctl.pending.leaves(name{c.Parent, c.Name}, c.Nonce); err != nil {
			return errs.Wrap(err, "manager.Commit", c.Path)
		}
	}
	mtime := r.Mtime
	// The client set no time, so the manager's clock counts: nodes' clocks differ.
	if mtime.IsZero() {
		mtime = ctl.now()
	}
	// Name and space become the entry's, which outlives the token that they are parts of.
	commit := ctl.pieces.commit
	if c.Convert {
		commit = ctl.commitConversion
	}
	e, err := commit(ctx, namespace.Commit{
		ID: c.File, Gen: c.Gen, BaseGen: c.BaseGen, Replaces: c.Replaces, Force: c.Force, Convert: c.Convert, Parent: c.Parent, Name: strings.Clone(c.Name),
		Mode: c.Mode, UID: c.Who.UID, GID: c.Who.GID, Size: r.Size, Layout: c.Layout, Space: hemera.SpaceName(strings.Clone(string(c.Space))),
		Sums: r.Checksums, Pieces: r.Pieces, Mtime: mtime, Xattrs: r.Xattrs, XattrsGone: r.XattrsGone, Who: c.Who.Name, Again: r.Left,
		Claim: accounts.ClaimID(c.Nonce), Promised: ctl.promised(&c),
	}, layout.Required(c.Layout, r.Size, c.PiecesMin))
	if err == nil || !errs.Undecided(err) && !r.Left {
		// While the outcome is undecided the lock stays: the head asks again, and may hear that the commit was made. After the
		// refusal of a write that nobody closed the head keeps it, and says so.
		ctl.pending.end(name{c.Parent, c.Name}, c.Nonce)
	}
	if err == nil && e.Name != c.Name {
		// The write was renamed, so the name that it made is not the one of the lock that was just freed.
		ctl.pending.made(name{e.Parent, e.Name})
	}
	if err == nil && (c.BaseGen != 0 || c.Force || len(e.Pieces) < layout.Count(e.Layout, e.Size)) {
		ctl.engine.Wake() // there are pieces to remove, or to make
	}
	return errs.Wrap(err, "manager.Commit", c.Path)
}

// lostClaim reports whether a claim that is not known was given back in this life: then its room may be promised to others. Claims of an earlier
// life that were not announced are not known, and were not given back.
func (ctl *control) lostClaim(nonce uint64) bool {
	_, resumed := ctl.pending.settled.has(nonce)
	return resumed || ctl.nonces.gave(nonce)
}

// promised returns the size up to which no quota refuses a commit whose claim is not known; -1 if nothing is promised.
func (ctl *control) promised(c *hemera.Capability) int64 {
	// The room of a conversion was not claimed, so it is counted with all others. A write of this life, or one that was announced to it, has its
	// claim, never had one, or has lost it to another write: then the room is promised to others.
	if c.Convert || ctl.lostClaim(c.Nonce) {
		return -1
	}
	// The claims of an earlier life are forgotten: the capability says what was promised.
	return c.Size
}

// late answers a commit that comes so late that the namespace may have forgotten whether pieces of the write were
// removed. It is refused, unless it was made before.
func (ctl *control) late(ctx context.Context, c *hemera.Capability) error {
	e, _, err := ctl.tree.Resolve(ctx, c.File)
	switch {
	case err == nil && e.Gen == c.Gen:
		// This very content is committed: the head lost the answer and asks again.
		return nil
	case err != nil && !errors.Is(err, errs.NotFound):
		return err
	}
	return errs.New(errs.Conflict, "manager.Commit", c.Path, fmt.Sprintf("the right to write it ended more than %s ago", hemera.CommitLifetime)).
		WithRemedy("write the file again")
}

// verifyWrite verifies a permit that must be for writing, shown by the head of that write; it may have expired.
func (ctl *control) verifyWrite(ctx context.Context, op string, p *hemera.Permit) (*hemera.Permit, error) {
	// The zero time leaves out the expiry: a write may take longer than its capability. Commit bounds that by CommitLifetime.
	p, err := p.Verify(func(token string) (hemera.Capability, error) {
		return ctl.cluster.Keys.Ring().Verify(token, time.Time{})
	})
	if err != nil {
		return nil, errs.Wrap(err, op, "")
	}
	if p.Access != hemera.AccessCreate && p.Access != hemera.AccessUpdate {
		return nil, errs.New(errs.Denied, op, p.Path, "the capability does not permit writing")
	}
	return p, ctl.fromHead(ctx, op, &p.Capability)
}

// update has a target say where its disk is now, if that is known.
func (ctl *control) update(t *hemera.Target) {
	view := ctl.cluster.View()
	d, ok := view.Disk(t.Disk)
	if !ok {
		return
	}
	if n, ok := view.Node(d.Node); ok {
		t.Node, t.Addr = n.ID, n.Addr
	}
}

// checkPieces holds a commit against its capability: enough pieces, each where it was permitted.
func checkPieces(c hemera.Capability, r hemera.CommitRequest) error {
	invalid := func(text string) error { return errs.New(errs.Invalid, "manager.Commit", c.Path, text) }
	if r.Size < 0 || r.Size > hemera.FileSizeMax {
		return invalid(fmt.Sprintf("%d is no size", r.Size))
	}
	if c.SizeMax > 0 && r.Size > c.SizeMax {
		return errs.New(errs.OverQuota, "manager.Commit", c.Path, fmt.Sprintf("%d bytes were written, and quotas let this write have %d", r.Size, c.SizeMax)).
			WithRemedy("remove files, or have an admin raise the limit with `hemera quota set`")
	}
	// An empty file has no pieces: there is nothing to read, and nothing to repair.
	if len(r.Pieces) == 0 && r.Size == 0 {
		return nil
	}
	if required := layout.Required(c.Layout, r.Size, c.PiecesMin); len(r.Pieces) < required {
		return invalid(fmt.Sprintf("%d pieces, %d needed", len(r.Pieces), required))
	}
	seen := map[uint8]bool{}
	for _, p := range r.Pieces {
		// A node must not make the namespace record a piece where no piece was placed.
		ok := slices.ContainsFunc(c.Targets, func(t hemera.Target) bool { return t.Index == p.Index && t.Disk == p.Disk })
		if !ok || seen[p.Index] {
			return invalid(fmt.Sprintf("piece %d on disk %d was not permitted", p.Index, p.Disk))
		}
		seen[p.Index] = true
	}
	// Whatever the capability asks for: of a code with local groups not every choice of as many pieces as it has data is enough.
	if !layout.Readable(c.Layout, r.Size, layout.Indexes(r.Pieces)) {
		return invalid("the file could not be read from pieces " + layout.Indexes(r.Pieces).String())
	}
	return nil
}

// checkXattrs refuses what a client may not set beside the content: the right to write a file is not
// that to change the system's attributes, which takes the directory's owner and is asked by path.
func checkXattrs(c hemera.Capability, set map[string][]byte, gone []string) error {
	for _, name := range slices.AppendSeq(slices.Clone(gone), maps.Keys(set)) {
		if strings.HasPrefix(name, "sys.") && !c.Who.Admin {
			return errs.New(errs.Denied, "manager.Commit", c.Path, "attribute "+name+" cannot be set through an open file").
				WithRemedy("set it by the file's path, as the owner of its directory")
		}
	}
	return nil
}

// Abort implements hemera.Control. It frees the lock only: should the write commit after all, it is
// judged by its generation like any other.
func (ctl *control) Abort(ctx context.Context, permit *hemera.Permit) (err error) {
	defer ctl.ops.begin("Abort").end(&err)
	permit, err = ctl.verifyWrite(ctx, "manager.Abort", permit)
	if err != nil {
		return err
	}
	ctl.pending.end(name{permit.Parent, permit.Name}, permit.Nonce)
	return nil
}

// Replace implements hemera.Control.
func (ctl *control) Replace(ctx context.Context, permit *hemera.Permit, failed []hemera.DiskID) (g hemera.Grant, err error) {
	defer ctl.ops.begin("Replace").end(&err)
	permit, err = ctl.verifyWrite(ctx, "manager.Replace", permit)
	if err != nil {
		return hemera.Grant{}, err
	}
	c := permit.Capability
	// The new capability is good for as long as any other, so a write that was barred must not have it.
	barred, err := ctl.tree.Barred(ctx, namespace.Commit{ID: c.File, Gen: c.Gen, BaseGen: c.BaseGen, Replaces: c.Replaces, Name: c.Name})
	if err != nil {
		return hemera.Grant{}, errs.Wrap(err, "manager.Replace", c.Path)
	}
	if barred {
		return hemera.Grant{}, errs.New(errs.Conflict, "manager.Replace", c.Path, "the write was refused before, or its pieces were removed").
			WithRemedy("write the file again")
	}
	// It may outlive what the namespace remembers of a new name, so it says that itself.
	if c.Name, err = ctl.tree.NameOf(ctx, namespace.Commit{ID: c.File, BaseGen: c.BaseGen, Name: c.Name}); err != nil {
		return hemera.Grant{}, errs.Wrap(err, "manager.Replace", c.Path)
	}
	var lost []int           // indexes in Targets
	var kept []hemera.DiskID // no second piece may go there
	for i, t := range c.Targets {
		if slices.Contains(failed, t.Disk) {
			lost = append(lost, i)
		} else {
			kept = append(kept, t.Disk)
		}
	}
	if len(lost) == 0 && len(failed) > 0 {
		return hemera.Grant{}, errs.New(errs.Invalid, "manager.Replace", c.Path, "none of the disks that failed belongs to the write")
	}
	var choice place.Choice
	if len(lost) > 0 {
		// failed names all disks that failed this write so far. Its head remembers them, as this manager may have been
		// started since: a piece that came back to one of them could meet its own removal there.
		choice, err = place.Choose(ctl.cluster.View(), place.Request{
			Space: c.Space, Want: len(lost), Min: len(lost), Spare: c.Layout.Parity(), Size: layout.PieceMax(c.Layout, c.Size), Client: c.Who.Host,
			Have: kept, ExcludeDisks: failed, Writers: ctl.pending.load, Seed: cmp.Or(c.Nonce, 1),
		})
	}
	if err != nil {
		return hemera.Grant{}, ctl.returns.defers(errs.Wrap(err, "manager.Replace", c.Path), nil)
	}
	c.Head = c.HeadNode() // it stays, even when the first piece goes elsewhere
	c.Targets = slices.Clone(c.Targets)
	// Nodes may have other addresses since it was granted, and disks other nodes.
	for i := range c.Targets {
		ctl.update(&c.Targets[i])
	}
	for i, at := range lost {
		t := choice.Targets[i]
		// The new disk takes over the index, so that heads and commits find the piece in the same place.
		t.Index = c.Targets[at].Index
		c.Targets[at] = t
	}
	if c.Base != nil {
		base := *c.Base
		// Only nodes that are members now: a capability that names another is refused.
		base.Pieces = ctl.trusted(base.Pieces)
		c.Base = &base
	}
	c.Expires = ctl.now().Add(hemera.CapabilityLifetime)
	g = grant(&c, ctl.cluster.Keys.Ring())
	_, err = g.Permit.Token() // the head is in another process, most often: it hears of a failure now
	return g, errs.Wrap(err, "manager.Replace", c.Path)
}
