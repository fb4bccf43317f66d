package manager

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/cluster"
	"hemera/cluster/netwatch"
	"hemera/maint"
	"hemera/maint/exposed"
	"hemera/maint/orders"
	"hemera/maint/requests"
	"hemera/manager/reads"
	"hemera/manager/sums"
	"hemera/namespace"
	"hemera/platform/contain"
	"hemera/platform/kv"
	"hemera/platform/turns"
	"hemera/rules/access"
	"hemera/tape/tier"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Options is what a manager is made of. Store, Writer and Tree are required.
type Options struct {
	Store  kv.Store        // read when the cluster's records are loaded
	Writer kv.Writer       // the one the tree writes with
	Tree   namespace.Parts // the namespace, open; its owner closes it
	// Addr is the manager's xrd door as nodes tell it to clients.
	Addr string
	// LostAfter is how long a disk is out of reach before its files are repaired elsewhere; zero
	// is [maint.LostAfter].
	LostAfter time.Duration
	// BalanceDelay is as in [maint.Options].
	BalanceDelay time.Duration
	// Version is the program's, to compare the nodes' with; may be empty.
	Version string
	// Space is the default space that a new cluster begins with; the zero Space has defaults.
	Space hemera.Space
	// Sources says where third-party copies may read from, besides the cluster's own doors.
	Sources access.Sources
	// ApproveNodes has nodes that join wait until an admin admits them; NewDisksOff takes their new disks in as off.
	ApproveNodes, NewDisksOff bool
	// WritesOfUser and WritesOfSession bound the writes under way of one user and of one session who are no admins; 0 is
	// [PendingUser] and [PendingSession].
	WritesOfUser, WritesOfSession int
	// TapeSecrets keeps the secrets of tape keys; nil: tapes are not encrypted.
	TapeSecrets tier.Secrets
	// Now replaces time.Now; its times must carry a monotonic reading.
	Now func() time.Time
	Log *slog.Logger
	// Limits are the bounds of the process that refused somebody a short time ago; nil tells of none.
	Limits func() []hemera.LimitUse
}

// Manager implements the manager's interfaces of package hemera. Each is a service of its own, embedded here.
type Manager struct {
	hemera.Names
	hemera.Directories
	hemera.Attributes
	*opener
	*ownWrites
	*locator
	*control
	*clusterAdmin
	*maintAdmin
	*observer
	*quotaAdmin
	*reporter
	*writeAdmin
	*rebuilder
	*converter
	notes *reads.Writer // of days on which files were read
	*recycler
	tier.Control
	hemera.TapeAdmin
	hemera.TapeSessions
	hemera.TapeKeys
	hemera.Staging
	*parts
}

// parts are what the services share. [New] sets them; they are not changed after.
type parts struct {
	tree    namespace.Parts    // entries, quotas and pieces
	cluster *cluster.Cluster   // nodes, disks, spaces and keys
	orders  *orders.Dispatcher // work for nodes, and its results
	engine  *maint.Engine      // drain, repair, audit, removal
	pending *pending           // writes begun and not committed
	pieces  *recorder          // every change that records pieces goes through it
	network *netwatch.Watch    // what nodes count of their networks
	exposed *exposed.Finder    // files with too many pieces in one place
	ops     *operations        // counts and latencies, by operation
	now     func() time.Time   // Options.Now
	log     *slog.Logger
	panics  *contain.Panics
	turns   *turns.Limiter // of users that read much of the namespace
	tier    *tier.Tier     // set once, in New
	started time.Time      // nodes that were there before have returnTime from here
	nonce   atomic.Uint64  // the last one given to a capability; also the seed of random choices
}

var (
	_ hemera.Files        = (*Manager)(nil)
	_ hemera.Control      = (*Manager)(nil)
	_ hemera.CopyRules    = (*Manager)(nil)
	_ hemera.ClusterAdmin = (*Manager)(nil)
	_ hemera.MaintAdmin   = (*Manager)(nil)
	_ hemera.Observer     = (*Manager)(nil)
	_ hemera.QuotaAdmin   = (*Manager)(nil)
	_ hemera.TrustAdmin   = (*Manager)(nil)
	_ hemera.WriteAdmin   = (*Manager)(nil)
	_ hemera.StatusAdmin  = (*Manager)(nil)
	_ hemera.Rebuilder    = (*Manager)(nil)
	_ hemera.ConvertAdmin = (*Manager)(nil)
	_ hemera.RecycleBin   = (*Manager)(nil)
)

// New loads the cluster's state and returns a manager that can be called; background work begins
// with Run.
func New(ctx context.Context, o Options) (*Manager, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	panics := contain.New(o.Log)
	c, err := cluster.Open(ctx, o.Store, o.Writer, cluster.Options{
		Panics:  panics,
		Approve: o.ApproveNodes, DisksOff: o.NewDisksOff,
		ManagerAddr: o.Addr, Space: o.Space, Grace: cmp.Or(o.LostAfter, maint.LostAfter), Log: o.Log, Now: o.Now,
	})
	if err != nil {
		return nil, errs.Wrap(err, "manager.New", "")
	}
	p := &parts{
		tree: o.Tree, cluster: c, orders: orders.New(), pending: newPending(o.WritesOfUser, o.WritesOfSession),
		pieces: &recorder{tree: o.Tree, view: c.View}, network: netwatch.New(o.Log), exposed: exposed.New(o.Tree, c.View, o.Now), ops: newOperations(o.Now), now: o.Now, log: o.Log, panics: panics, turns: turns.New(), started: o.Now(),
	}
	asked, err := requests.Open(ctx, o.Store, o.Writer)
	if err != nil {
		return nil, errs.Wrap(err, "manager.New", "")
	}
	rebuilds := func() bool { return !c.Rebuilding().IsZero() }
	// It is asked by the engine, and asks it: the engine is one of the parts.
	convert := &converter{parts: p, opener: &opener{parts: p}, requests: asked}
	rules := &ruleKeeper{parts: p, requests: asked, reads: new(reads.Notes)}
	p.engine = maint.New(maint.Options{
		Files: keptFiles{o.Tree, p.pieces}, Removals: o.Tree, Findings: o.Tree, Cluster: c, Orders: p.orders, Signer: c.Ring(), Writers: p.pending.load,
		LostAfter: o.LostAfter, BalanceDelay: o.BalanceDelay, Now: o.Now, Log: o.Log, Lifecycle: rules.options(), Conversions: maint.Conversions{Grants: convert, Requests: asked, Tree: o.Tree},
		Panics: panics, Paused: rebuilds,
		Workers: []maint.Worker{&rescuer{p}, p.exposed},
	})
	p.tier, err = tier.Open(ctx, tier.Options{Tree: o.Tree, Grants: tapeGrants{convert}, Secrets: o.TapeSecrets, Removed: p.engine.Wake, View: c.View, Paused: rebuilds, Panics: panics, Turns: p.turns, Now: o.Now, Log: o.Log})
	if err != nil {
		return nil, errs.Wrap(err, "manager.New", "")
	}
	// From the clock and not from 1: a capability of the process before this one can still be committed, and must not
	// name a write of this process.
	p.nonce.Store(uint64(o.Now().UnixNano()))
	m := newManager(p, convert, rules, o)
	// The pieces that are known to be broken are durable; all else of the engine follows from the namespace and the view.
	if err := m.engine.Load(ctx); err != nil {
		return nil, errs.Wrap(err, "manager.New", "")
	}
	return m, nil
}

// newManager makes the services of the parts.
func newManager(p *parts, convert *converter, rules *ruleKeeper, o Options) *Manager {
	names := &names{
		tree: p.tree, ops: p.ops, await: p.cluster.AwaitCurrent, turns: p.turns, tell: p.tier.Tell, wake: p.engine.Wake, absent: p.unknownYet,
	}
	writes := &writeAdmin{parts: p}
	observes := &observer{parts: p, began: processStats().virtual}
	own := &ownWrites{parts: p, names: names}
	recycles := &recycler{p}
	p.tree.UseSpaceRules(recycles.ruleOfSpace)
	p.tree.UseClaims(p.pending.claims.left, p.pending.claims.hold)
	reports := &reporter{
		parts: p, observer: observes, version: o.Version, limits: o.Limits, quotas: aged[[]hemera.QuotaRow]{now: p.now},
		census: &census{files: p.tree, tapes: p.tier.TapeFiles, now: p.now, broken: p.engine.Broken},
	}
	return &Manager{
		Names:        names,
		Directories:  names,
		Attributes:   &attributes{p.tree, p.ops, p.cluster.AwaitCurrent, p.cluster.View, rules, p.tier.CheckClass},
		opener:       &opener{parts: p, own: own, reads: rules.reads, asks: &writes.asks, left: observes.left},
		ownWrites:    own,
		locator:      &locator{parts: p, sums: sums.New(p.panics)},
		control:      newControl(p, writes, o),
		clusterAdmin: &clusterAdmin{clusterSettings: p.cluster, parts: p, impact: reports.Impact},
		maintAdmin:   &maintAdmin{p},
		observer:     observes,
		quotaAdmin:   &quotaAdmin{p},
		reporter:     reports,
		writeAdmin:   writes,
		rebuilder:    &rebuilder{parts: p, running: make(chan struct{}, 1)},
		converter:    convert,
		notes:        &reads.Writer{Notes: rules.reads, Await: p.cluster.AwaitCurrent, Write: p.tree.NoteAccess, Log: p.log},
		recycler:     recycles,
		Control:      tier.Control{Tier: p.tier, Leases: p.cluster},
		TapeAdmin:    p.tier,
		TapeSessions: p.tier,
		TapeKeys:     p.tier,
		Staging:      p.tier,
		parts:        p,
	}
}

// Run does the background work until the context ends.
func (m *Manager) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(m.loop(ctx, "cluster", m.cluster.Run))
	g.Go(func() error { return m.engine.Run(ctx) })
	g.Go(m.loop(ctx, "writes", m.sweep))
	g.Go(m.loop(ctx, "network", m.watchNetwork))
	g.Go(m.loop(ctx, "quotas", m.tree.RunQuotas))
	g.Go(m.loop(ctx, "reads", m.notes.Run))
	g.Go(m.loop(ctx, "recycle bins", m.recycler.expire))
	g.Go(m.loop(ctx, "tape", m.tier.Run))
	err := g.Wait()
	// A manager that fails says nothing: its next start then audits the disks.
	if err == nil {
		m.stopped()
	}
	return err
}

// stopTime bounds how long a manager that ends notes that it did so in good order.
const stopTime = 5 * time.Second

// stopped notes that the manager ends in good order, so that its next start audits no disk for it.
func (m *Manager) stopped() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if err := m.cluster.Stopped(ctx); err != nil {
		m.log.Warn("that the manager ends in good order is not stored; disks will be audited after its next start", "error", err)
	}
}

// Live are the options of a manager that can change while it runs.
type Live struct {
	LostAfter time.Duration  // as in [Options]
	Sources   access.Sources // as in [Options]
}

// Change puts new options into force, for what begins from now on and for disks that are away already.
func (m *Manager) Change(l Live) {
	m.control.sources.Store(&l.Sources)
	grace := cmp.Or(l.LostAfter, maint.LostAfter)
	m.cluster.SetGrace(grace)
	m.engine.SetLostAfter(grace)
}

// Panics counts the panics that were contained in the manager's work. The doors in front of it add theirs.
func (m *Manager) Panics() *contain.Panics { return m.panics }

// Turns are those that users take who read much of the namespace. The doors in front of the manager share them.
func (m *Manager) Turns() *turns.Limiter { return m.turns }

// Cluster is the cluster's state, for what admits nodes.
func (m *Manager) Cluster() *cluster.Cluster { return m.cluster }
