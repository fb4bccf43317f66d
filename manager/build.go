package manager

import (
	"cmp"
	"context"
	"time"

	"hemera/cluster"
	"hemera/cluster/netwatch"
	"hemera/maint"
	"hemera/maint/exposed"
	"hemera/maint/orders"
	"hemera/maint/requests"
	"hemera/manager/sums"
	"hemera/platform/contain"
	"hemera/platform/fairshare"
	"hemera/platform/turn"
	"hemera/tape/tier"
	"hemera/words/hemera"
)

// builder has all that the services of a manager are made of. Only [New] uses it: a service keeps what it takes from here.
type builder struct {
	Options
	cluster  *cluster.Cluster
	requests *requests.Store    // of conversions and rules
	orders   *orders.Dispatcher // work for nodes
	pending  *pending
	pieces   *recorder
	network  *netwatch.Watch
	exposed  *exposed.Finder
	ops      *operations
	panics   *contain.Panics
	turns    *fairshare.Limiter
	nonces   *nonces
	started  time.Time
	heads    *heads // which of them have announced their writes

	// The background work, and what it and the opens have in common.
	placer  placer
	reader  *reader
	notes   *readNotes
	rules   *ruleKeeper
	rescuer *rescuer
	tier    *tier.Tier
	engine  *maint.Engine
}

// newBuilder loads the cluster's records.
func newBuilder(ctx context.Context, o Options) (*builder, error) {
	panics := contain.New(o.Log)
	c, err := cluster.Open(ctx, o.Store, o.Writer, cluster.Options{
		Panics:  panics,
		Approve: o.ApproveNodes, DisksOff: o.NewDisksOff,
		ManagerAddr: o.Addr, Space: o.Space, Grace: cmp.Or(o.LostAfter, maint.LostAfter), Log: o.Log, Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	b := &builder{
		Options: o, cluster: c, orders: orders.New(), pending: newPending(o.Tree.Claims, o.WritesOfUser, o.WritesOfSession), pieces: &recorder{tree: o.Tree, view: c.View},
		network: netwatch.New(o.Log), exposed: exposed.New(o.Tree, c.View, o.Now), ops: newOperations(o.Now), panics: panics, turns: fairshare.New(),
		nonces: newNonces(o.Now()), started: o.Now(), notes: new(readNotes),
	}
	b.pending.settled.gave = b.nonces.gave
	b.heads = newHeads(c.View(), b.nonces, b.started, b.Now)
	b.requests, err = requests.Open(ctx, o.Store, o.Writer)
	return b, err
}

// background makes the tape tier and the engine of the maintenance.
func (b *builder) background(ctx context.Context) (err error) {
	// The engine is made last, of what asks it: nothing calls these before New returns.
	broken := brokenList(func() ([]hemera.BadPiece, uint64) { return b.engine.Broken() })
	wake := func() { b.engine.Wake() }
	rebuilds := func() bool { return !b.cluster.Rebuilding().IsZero() }
	b.placer = placer{b.pending.load}
	b.reader = &reader{cluster: b.cluster, nonces: b.nonces, broken: broken}
	granter := &grants{
		tree: b.Tree, cluster: b.cluster, pending: b.pending, placer: b.placer, reader: b.reader, heads: b.heads, nonces: b.nonces, ops: b.ops, now: b.Now,
	}
	b.rules = &ruleKeeper{tree: b.Tree, cluster: b.cluster, pending: b.pending, heads: b.heads, requests: b.requests, notes: b.notes, wake: wake, ops: b.ops, now: b.Now}
	b.tier, err = tier.Open(ctx, tier.Options{
		Tree: b.Tree, Grants: granter, Secrets: b.TapeSecrets, Removed: wake, View: b.cluster.View, Paused: rebuilds, Panics: b.panics, Turns: b.turns,
		Now: b.Now, Log: b.Log,
	})
	if err != nil {
		return err
	}
	b.rescuer = &rescuer{tree: b.Tree, view: b.cluster.View, tier: b.tier, broken: broken, now: b.Now, started: b.started}
	b.engine = maint.New(maint.Options{
		Files: keptFiles{b.Tree, b.Tree, b.pieces}, Removals: b.Tree, Findings: b.Tree, Cluster: keptDisks{b.cluster.Admin, b.cluster.Surveys, b.cluster.View}, Orders: b.orders, Signer: b.cluster.Keys.Ring(),
		Writers: b.pending.load, LostAfter: b.LostAfter, BalanceDelay: b.BalanceDelay, Now: b.Now, Log: b.Log, Lifecycle: b.rules.options(),
		Conversions: maint.Conversions{Grants: granter, Requests: b.requests, Tree: b.Tree}, Panics: b.panics, Paused: rebuilds,
		Workers: []maint.Worker{b.rescuer, b.exposed},
	})
	return nil
}

// loaded begins the times that nodes have to come back: they can reach the manager from now on.
func (b *builder) loaded() {
	b.started = b.Now()
	b.heads.started, b.rescuer.started = b.started, b.started
	b.cluster.Marks.Loaded()
}

// services makes the services that doors, nodes and admins call.
func (b *builder) services() *Manager {
	names := &names{
		tree: b.Tree, ops: b.ops, await: b.cluster.Marks.AwaitCurrent, turns: b.turns, tell: b.tier.Copies.Tell, wake: b.engine.Wake,
		absent: func(who hemera.Identity, err error) error { return unknownYet(b.cluster, who, err) },
	}
	b.Tree.FollowSpaces(b.cluster.Views())
	writes := b.writes()
	m := &Manager{
		Names:       names,
		Directories: names,
		Attributes:  &attributes{b.Tree, b.ops, b.cluster.Marks.AwaitCurrent, b.cluster.View, b.rules, b.tier.Config.CheckClass},
		Files:       b.files(names, &writes.asks),
		Control:     b.control(writes),
		Observer: &observer{
			tree: b.Tree, cluster: b.cluster, orders: b.orders, pending: b.pending, nodes: b.broadcast(), ops: b.ops, began: processStats().virtual, sessions: b.Sessions,
		},
		Quotas: &quotaAdmin{tree: b.Tree, cluster: b.cluster, pending: b.pending, ops: b.ops},
		Writes: writes,
		Rebuild: &rebuilder{
			tree: b.Tree, cluster: b.cluster, engine: b.engine, tier: b.tier, orders: b.orders, nodes: b.broadcast(), pieces: b.pieces, panics: b.panics,
			ops: b.ops, now: b.Now, log: b.Log, running: turn.New(),
		},
		Conversions:  &conversions{tree: b.Tree, cluster: b.cluster, engine: b.engine, requests: b.requests, now: b.Now},
		Recycle:      &recycler{tree: b.Tree, cluster: b.cluster, engine: b.engine, turns: b.turns, ops: b.ops, log: b.Log},
		TapeControl:  tier.Control{Tier: b.tier, Leases: tapeLeases{b.cluster.Leases, b.cluster.Marks}},
		Tape:         b.tier.Admin,
		TapeSessions: b.tier.Reports,
		TapeKeys:     b.tier.Config,
		Staging:      b.tier.Stager,
		Cluster:      b.cluster,
		Panics:       b.panics,
		Turns:        b.turns,
		tree:         b.Tree,
		engine:       b.engine,
		tier:         b.tier,
		network:      b.network,
		notes:        &noteWriter{notes: b.notes, await: b.cluster.Marks.AwaitCurrent, store: b.Tree.NoteAccess, log: b.Log},
		now:          b.Now,
		log:          b.Log,
	}
	b.admins(m)
	return m
}

// admins makes the services that judge files and disks.
func (b *builder) admins(m *Manager) {
	judge := &judge{tree: b.Tree, view: b.cluster.View, engine: b.engine, tier: b.tier}
	m.Maint = &maintAdmin{tree: b.Tree, cluster: b.cluster, engine: b.engine, tier: b.tier, judge: judge, ops: b.ops}
	m.Status = &reporter{
		tree: b.Tree, cluster: b.cluster, engine: b.engine, tier: b.tier, pending: b.pending, network: b.network, exposed: b.exposed, judge: judge,
		observer: m.Observer, ops: b.ops, now: b.Now, version: b.Version, limits: b.Limits, quotas: aged[[]hemera.QuotaRow]{now: b.Now},
		census: &census{files: b.Tree, tapes: b.tier.Queue.TapeFiles, now: b.Now, broken: b.engine.Broken},
	}
	m.Admin = &clusterAdmin{
		clusterSettings: settings{b.cluster.Admin, b.cluster.Keys}, tree: b.Tree, cluster: b.cluster, engine: b.engine, tier: b.tier, orders: b.orders, pieces: b.pieces, judge: judge,
		log: b.Log, impact: m.Status.Impact,
	}
}

// broadcast returns what asks all nodes.
func (b *builder) broadcast() *broadcast {
	return &broadcast{view: b.cluster.View, orders: b.orders, panics: b.panics}
}

// returns returns what has clients wait for nodes that may come back.
func (b *builder) returns() returns { return returns{b.cluster.Views(), b.Now, b.started} }

// writes makes the service of writes under way.
func (b *builder) writes() *writeAdmin {
	return &writeAdmin{pending: b.pending, view: b.cluster.View, orders: b.orders, nodes: b.broadcast(), ops: b.ops, now: b.Now, log: b.Log}
}

// files makes the service that opens files. names changes what is committed, and asks takes questions to heads.
func (b *builder) files(names hemera.Names, asks *asks) *files {
	own := &ownWrites{tree: b.Tree, cluster: b.cluster, pending: b.pending, names: names, ops: b.ops}
	return &files{
		ownWrites: own,
		opener: &opener{
			tree: b.Tree, cluster: b.cluster, engine: b.engine, tier: b.tier, pending: b.pending, own: own, asks: asks, heads: b.heads, placer: b.placer, reader: b.reader,
			rescuer: b.rescuer, returns: b.returns(), notes: b.notes, connected: b.Connected, turns: b.turns, nonces: b.nonces, ops: b.ops, now: b.Now,
		},
		locator: &locator{
			tree: b.Tree, cluster: b.cluster, orders: b.orders, sums: sums.New(b.panics), broken: b.reader.broken, nonces: b.nonces, ops: b.ops, now: b.Now,
		},
	}
}

// control makes the service of nodes.
func (b *builder) control(writes *writeAdmin) *control {
	ctl := &control{
		tree: b.Tree, cluster: b.cluster, orders: b.orders, engine: b.engine, pending: b.pending, pieces: b.pieces, network: b.network, writes: writes,
		returns: b.returns(), heads: b.heads, nonces: b.nonces, ops: b.ops, now: b.Now, log: b.Log, addr: b.Addr,
	}
	ctl.sources.Store(&b.Sources)
	return ctl
}

// keptDisks is the cluster as the maintenance asks it.
type keptDisks struct {
	*cluster.Admin
	*cluster.Surveys
	view func() *hemera.View
}

// View implements maint.Cluster.
func (k keptDisks) View() *hemera.View { return k.view() }

// tapeLeases is the cluster as the tape tier asks it: whether a tape server has its lease, and whether the store is current.
type tapeLeases struct {
	*cluster.Leases
	*cluster.Marks
}

// settings is the cluster as admins change it.
type settings struct {
	*cluster.Admin
	*cluster.Keys
}
