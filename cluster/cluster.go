package cluster

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"hemera/platform/contain"
	"hemera/platform/kv"
	"hemera/platform/pki"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Options configures a cluster. Zero values have working defaults.
type Options struct {
	// ManagerAddr is the manager's xrd door, told to nodes.
	ManagerAddr string
	// Space is the default space that a new cluster begins with; the zero Space has defaults. Its name
	// is [hemera.DefaultSpace] whatever it says.
	Space hemera.Space
	// Grace is shown in views: how long the maintenance waits for a disk. SetGrace changes it.
	Grace time.Duration
	// Approve has new nodes wait until an admin admits them, and DisksOff new disks of nodes until an admin sets them rw.
	Approve, DisksOff bool
	Log               *slog.Logger
	// Panics contains panics of what time brings. May be nil.
	Panics *contain.Panics
	// Now replaces time.Now. Its times must carry a monotonic reading, or leases follow clock jumps.
	Now func() time.Time
}

// Cluster is the nodes, disks and spaces, as named services. Each owns what it alone needs, and all change the records by the turn of
// one state. Their methods may be called concurrently.
type Cluster struct {
	Leases  *Leases  // registration of nodes, and their heartbeats
	Admin   *Admin   // what admins decide
	Keys    *Keys    // that sign capabilities
	Surveys *Surveys // when disks were audited, and backups
	Marks   *Marks   // whether the store is as new as the cluster
	Tokens  *Tokens  // join tokens

	journal *journal
	roster  *roster
	views   *viewer
	panics  *contain.Panics
	swept   time.Time // when records of old were looked for; used by Tick alone
}

// Open loads the cluster and makes what a new one lacks: the default space and a key. The writer
// must be the one that also writes the namespace, if that shares the store. No node is online until
// it registers.
func Open(ctx context.Context, store kv.Reader, writer kv.Writer, o Options) (*Cluster, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := newCluster(newJournal(store, writer, o.Log, o.Now), o)
	c.panics = o.Panics
	var err error
	// Before anything is written: what nodes saw is compared with the store as it was found.
	if c.Marks.since, err = writer.LastSeq(ctx); err != nil {
		return nil, errs.Wrap(err, "cluster.Open", "")
	}
	if err := c.journal.tables.load(ctx, store); err != nil {
		return nil, err
	}
	for _, d := range c.roster.disks.all {
		// Nothing is read from a disk or placed on it before its node has said what it is.
		d.report = absent(d.diskRecord, "its node has not registered since the manager started")
	}
	// One change for all of it: a crash in between leaves no cluster without a space or a key.
	return c, c.journal.update(ctx, func(ch *change) error {
		if len(c.roster.spaces) == 0 {
			ch.put(firstSpace(o.Space))
		}
		c.Marks.begins(ch)
		c.Keys.firstKeys(ch)
		c.Surveys.started(ch)
		return nil
	}, func() {
		c.Marks.awaitNodes()
		c.Keys.refreshRing()
		c.views.publish()
	})
}

// newCluster makes the services of a journal. Each gets the tables that it reads or changes.
func newCluster(j *journal, o Options) *Cluster {
	r := &j.tables.roster
	shown := &viewer{roster: r, surveys: &j.tables.surveys, now: j.now}
	shown.grace.Store(int64(o.Grace))
	k, v := &Keys{journal: j, table: j.tables.keys}, &Surveys{journal: j, table: &j.tables.surveys, roster: r, views: shown}
	m := newMarks(j)
	return &Cluster{
		journal: j, roster: r, views: shown, Keys: k, Surveys: v, Marks: m, Tokens: &Tokens{store: j.store, writer: j.writer, now: j.now},
		Leases: &Leases{journal: j, roster: r, views: shown, keyring: k, surveyor: v, marks: m, manager: o.ManagerAddr, disksOff: o.DisksOff},
		Admin:  &Admin{journal: j, roster: r, views: shown, keyring: k, approve: o.Approve},
	}
}

// View returns the cluster now. It must not be changed.
func (c *Cluster) View() *hemera.View { return c.views.views.Newest() }

// Views has what View returns, for readers that get it as data. The cluster alone publishes in it.
func (c *Cluster) Views() *hemera.Views { return &c.views.views }

// SetGrace sets what views show as the time that the maintenance waits for a disk.
func (c *Cluster) SetGrace(grace time.Duration) {
	c.views.grace.Store(int64(grace))
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	c.views.publish()
}

// Run ends leases, publishes reports and rotates keys until the context ends. It fails with Corrupt when a node proved
// that the store is older than the cluster. Leases end on time even while the store is slow: what needs the store has a
// goroutine of its own.
func (c *Cluster) Run(ctx context.Context) error {
	ticker := time.NewTicker(hemera.HeartbeatInterval / 2)
	defer ticker.Stop()
	// At most one round of upkeep waits while another is under way: rounds do not pile up behind a slow store.
	due := make(chan struct{}, 1)
	var worker sync.WaitGroup
	defer worker.Wait()
	// The worker ends before Run returns, as deferred calls run in the opposite order.
	defer close(due)
	worker.Go(func() {
		for range due {
			if err := c.panics.Do("cluster.Upkeep", "", func() error { return c.upkeep(ctx) }); err != nil {
				c.journal.log.Error("cluster state cannot be written", "error", err)
			}
		}
	})
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-c.Marks.outdated:
			return err
		case <-ticker.C:
			c.panics.Run("cluster.EndLeases", "", c.Leases.endLeases)
			select {
			case due <- struct{}{}:
			default: // the one before is still under way
			}
		}
	}
}

// Tick does what time brings: nodes that fell silent go offline, late reports become a view, keys are rotated. An error
// is of the store; the next Tick tries again. It must not be called beside [Cluster.Run].
func (c *Cluster) Tick(ctx context.Context) error {
	c.Leases.endLeases()
	return c.upkeep(ctx)
}

// upkeep makes the changes that time brings.
func (c *Cluster) upkeep(ctx context.Context) error {
	if err := c.Leases.dropRefusedAttaches(ctx); err != nil {
		return err
	}
	if err := c.Surveys.storeNoted(ctx); err != nil {
		return err
	}
	if err := c.sweep(ctx, c.journal.now()); err != nil {
		return err
	}
	return c.Keys.rotate(ctx)
}

// sweepInterval is the interval of looks for records that time has made useless.
const sweepInterval = time.Hour

// sweep forgets removals and join tokens of long ago.
func (c *Cluster) sweep(ctx context.Context, now time.Time) error {
	// A clock that went back does not put the sweep off.
	if age := now.Sub(c.swept); !c.swept.IsZero() && age >= 0 && age < sweepInterval {
		return nil
	}
	c.swept = now
	if err := c.Admin.unbar(ctx); err != nil {
		return err
	}
	return c.Tokens.dropTokens(ctx)
}

// Rebuilding returns since when the namespace is being rebuilt; zero if it is not. It does not block.
func (c *Cluster) Rebuilding() time.Time {
	if t := c.roster.rebuild.begun.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

var _ pki.AuthorityRecord = (*Cluster)(nil)

// Authority implements [pki.AuthorityRecord].
func (c *Cluster) Authority() (fingerprint []byte, begun bool) {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	return bytes.Clone(c.journal.tables.authority.fingerprint), len(c.roster.nodes.all) > 0
}

// SetAuthority implements [pki.AuthorityRecord].
func (c *Cluster) SetAuthority(ctx context.Context, fingerprint []byte) error {
	return c.journal.update(ctx, func(ch *change) error {
		ch.put(authorityRecord{bytes.Clone(fingerprint)})
		return nil
	}, nil)
}

// Weigh sets how much of its usual part each node gets of new pieces and of readers; a node that is not named has no weight
// of its own. The next view shows it. Weights are not stored: after a start of the manager they are found out again.
func (c *Cluster) Weigh(weights map[hemera.NodeID]float64) {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	changed := false
	for id, n := range c.roster.nodes.all {
		w := within(weights[id], 1)
		changed, n.weight = changed || n.weight != w, w
	}
	if changed {
		c.views.publishSoon()
	}
}
