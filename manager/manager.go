package manager

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/cluster"
	"hemera/cluster/netwatch"
	"hemera/maint"
	"hemera/namespace"
	"hemera/platform/contain"
	"hemera/platform/fairshare"
	"hemera/platform/kv"
	"hemera/rules/access"
	"hemera/rules/limits"
	"hemera/tape/tier"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Options has the parts and settings of a manager. Store, Writer and Tree are required.
type Options struct {
	Store  kv.Store        // read when the cluster's records are loaded
	Writer kv.Writer       // the one the tree writes with
	Tree   namespace.Parts // the namespace, open; its owner closes it
	// Addr is the manager's xrd door as nodes tell it to clients.
	Addr string
	// LostAfter is the time for which a disk is out of reach before its files are repaired elsewhere; zero is
	// [maint.LostAfter].
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
	// Limits returns the bounds of the process that refused a client a short time ago; nil tells of none.
	Limits func() []hemera.LimitUse
	// Sessions are the sessions at the doors, and Connected reports whether a session is at one of them. Both are called from any
	// goroutine. Nil: there are no doors, and it is not known.
	Sessions  func() []adminapi.SessionInfo
	Connected func(session string) bool
}

// Manager is the services of a manager. Each owns its state, and a door gets those that it serves.
type Manager struct {
	Names       hemera.Names
	Directories hemera.Directories
	Attributes  hemera.Attributes
	Files       *files        // hemera.Files: opens, places, checksums
	Control     *control      // hemera.Control, hemera.OpenWrites and hemera.CopyRules: what nodes ask
	Admin       *clusterAdmin // adminapi.ClusterAdmin and adminapi.TrustAdmin
	Maint       *maintAdmin   // adminapi.MaintAdmin: jobs and checks
	Observer    *observer     // adminapi.Observer: measurements
	Quotas      *quotaAdmin   // adminapi.QuotaAdmin, and the room of a user
	Status      *reporter     // adminapi.StatusAdmin: conditions and explanations
	Writes      *writeAdmin   // adminapi.WriteAdmin: writes under way
	Rebuild     *rebuilder    // adminapi.Rebuilder
	Conversions *conversions  // adminapi.ConvertAdmin
	Recycle     *recycler     // adminapi.RecycleBin
	// The tape tier, as tape servers, admins, drives and users see it.
	TapeControl  tapeapi.Control
	Tape         adminapi.TapeAdmin
	TapeSessions adminapi.TapeSessions
	TapeKeys     adminapi.TapeKeys
	Staging      tapeapi.Staging
	// Cluster is the cluster's state, for what admits nodes.
	Cluster *cluster.Cluster
	// Panics counts the panics that were contained in the manager's work. The doors in front of it add theirs.
	Panics *contain.Panics
	// Turns are those that users take who read much of the namespace. The doors in front of the manager share them.
	Turns *fairshare.Limiter

	tree    namespace.Parts // counts the usage of quotas in the background
	engine  *maint.Engine   // drain, repair, audit, removal
	tier    *tier.Tier
	network *netwatch.Watch // what nodes count of their networks
	notes   *noteWriter     // of days on which files were read
	now     func() time.Time
	log     *slog.Logger
}

var (
	_ hemera.Files          = (*files)(nil)
	_ hemera.Control        = (*control)(nil)
	_ hemera.OpenWrites     = (*control)(nil)
	_ hemera.CopyRules      = (*control)(nil)
	_ adminapi.ClusterAdmin = (*clusterAdmin)(nil)
	_ adminapi.TrustAdmin   = (*clusterAdmin)(nil)
	_ adminapi.MaintAdmin   = (*maintAdmin)(nil)
	_ adminapi.Observer     = (*observer)(nil)
	_ adminapi.QuotaAdmin   = (*quotaAdmin)(nil)
	_ adminapi.WriteAdmin   = (*writeAdmin)(nil)
	_ adminapi.StatusAdmin  = (*reporter)(nil)
	_ adminapi.Rebuilder    = (*rebuilder)(nil)
	_ adminapi.ConvertAdmin = (*conversions)(nil)
	_ adminapi.RecycleBin   = (*recycler)(nil)
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
	b, err := newBuilder(ctx, o)
	if err != nil {
		return nil, errs.Wrap(err, "manager.New", "")
	}
	if err := b.background(ctx); err != nil {
		return nil, errs.Wrap(err, "manager.New", "")
	}
	// The pieces that are known to be broken are durable; all else of the engine follows from the namespace and the view.
	if err := b.engine.Load(ctx); err != nil {
		return nil, errs.Wrap(err, "manager.New", "")
	}
	b.loaded()
	return b.services(), nil
}

// Run does the background work until the context ends.
func (m *Manager) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(loop(ctx, m.Panics, "cluster", m.Cluster.Run))
	g.Go(func() error { return m.engine.Run(ctx) })
	g.Go(loop(ctx, m.Panics, "writes", m.Writes.sweep))
	g.Go(loop(ctx, m.Panics, "network", m.watchNetwork))
	g.Go(loop(ctx, m.Panics, "quotas", m.tree.RunQuotas))
	g.Go(loop(ctx, m.Panics, "reads", m.notes.run))
	g.Go(loop(ctx, m.Panics, "recycle bins", m.Recycle.expire))
	g.Go(loop(ctx, m.Panics, "tape", m.tier.Sweeper.Run))
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
	if err := m.Cluster.Surveys.Stopped(ctx); err != nil {
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
	m.Control.sources.Store(&l.Sources)
	grace := cmp.Or(l.LostAfter, maint.LostAfter)
	m.Cluster.SetGrace(grace)
	m.engine.SetLostAfter(grace)
}

// LimitUsages returns the bounds of writes under way and of requests to stage, and what is used of them.
func (m *Manager) LimitUsages() []limits.Usage {
	return append(m.Writes.limitUsages(), m.tier.Stager.LimitUsages()...)
}
