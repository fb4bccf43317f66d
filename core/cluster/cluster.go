package cluster

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/platform/kv"
	"hemera/rules/capability"
)

// Options configures a cluster. Zero values have working defaults.
type Options struct {
	// ManagerAddr is the manager's xrd door, told to nodes.
	ManagerAddr string
	// Space is the default space that a new cluster begins with; the zero Space has defaults. Its name
	// is [hemera.DefaultSpace] whatever it says.
	Space hemera.Space
	// Grace is shown in views: how long the maintenance waits for a disk.
	Grace time.Duration
	// Approve has new nodes wait until an admin admits them, and DisksOff new disks of nodes until an admin sets them rw.
	Approve, DisksOff bool
	Log               *slog.Logger
	// Now replaces time.Now. Its times must carry a monotonic reading, or leases follow clock jumps.
	Now func() time.Time
}

// Cluster is the state. Its methods may be called concurrently.
type Cluster struct {
	store             kv.Reader
	writer            kv.Writer
	log               *slog.Logger
	now               func() time.Time
	manager           string
	approve, disksOff bool
	grace             time.Duration
	view              atomic.Pointer[hemera.View]
	ring              capability.Keyring // keys that every node has had time to learn
	told              capability.Keyring // all keys: what nodes are told is made of them

	members sync.Map // NodeID → true, of nodes, to be asked at each call without a lock

	life     uint64     // of this process, in marks
	since    uint64     // the store's sequence number when it was opened
	outdated chan error // has one once a node proved that the store is older than the cluster
	current  current

	mu        sync.Mutex // guards all below, and the order of changes in the store
	nodes     map[hemera.NodeID]*node
	disks     map[hemera.DiskID]*disk
	byUUID    map[string]*disk
	byNode    map[hemera.NodeID]map[hemera.DiskID]*disk
	spaces    map[string]spaceRecord
	attaches  map[string]attachRecord // by key
	keys      map[uint32]keyRecord
	removed   map[hemera.NodeID]removedRecord
	barred    []hemera.NodeID // of removed; not changed in place
	swept     time.Time       // when records of old were looked for
	next      nextRecord
	surveys   map[hemera.DiskID]surveyRecord
	scrubs    []hemera.NodeDisk // reported, not stored yet
	backup    backupRecord
	running   bool   // a manager runs, or did not end in good order
	authority []byte // fingerprint of the cluster's, nil while none is known
	history   []byte // secret of the marks that nodes are given
	lives     []life // of the store, oldest first; the last is this one
	version   uint64
	shown     time.Time      // when the view was made
	dirty     bool           // reports came that no view shows yet
	refused   []attachRecord // wishes that nodes could not fulfil, to be withdrawn
}

// node is what is durable of a node, and what it reported since this process started.
type node struct {
	nodeRecord
	online bool
	last   time.Time     // of the last call under the lease
	skew   time.Duration // of its clock, ahead of ours
	stats  hemera.NodeStats

	stopping bool // as it said last
}

type disk struct {
	diskRecord
	report hemera.NodeDisk // Health gone unless its node reported it
}

// Open loads the cluster and makes what a new one lacks: the default space and a key. The writer
// must be the one that also writes the namespace, if that shares the store. No node is online until
// it registers.
func Open(ctx context.Context, store kv.Reader, writer kv.Writer, o Options) (*Cluster, error) {
	c := &Cluster{
		store: store, writer: writer, log: o.Log, now: o.Now, manager: o.ManagerAddr, approve: o.Approve, disksOff: o.DisksOff,
		removed: map[hemera.NodeID]removedRecord{}, grace: o.Grace,
		nodes: map[hemera.NodeID]*node{}, disks: map[hemera.DiskID]*disk{},
		surveys: map[hemera.DiskID]surveyRecord{},
		byUUID:  map[string]*disk{}, byNode: map[hemera.NodeID]map[hemera.DiskID]*disk{},
		spaces: map[string]spaceRecord{}, attaches: map[string]attachRecord{}, keys: map[uint32]keyRecord{},
		next: nextRecord{Node: 1, Disk: 1}, life: newLife(), outdated: make(chan error, 1), current: current{known: make(chan struct{})},
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	var err error
	if c.since, err = writer.LastSeq(ctx); err != nil {
		return nil, errs.Wrap(err, "cluster.Open", "")
	}
	if err := c.load(ctx, store); err != nil {
		return nil, err
	}
	for _, d := range c.disks {
		d.report = absent(d.diskRecord, "its node has not registered since the manager started")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var ch change
	if len(c.spaces) == 0 {
		ch.put(firstSpace(o.Space))
	}
	c.begins(&ch)
	c.firstKeys(&ch)
	c.started(&ch)
	if err := c.commit(ctx, &ch); err != nil {
		return nil, err
	}
	c.awaitNodes()
	c.refreshRing()
	c.publish()
	return c, nil
}

// View is the cluster now. It must not be changed.
func (c *Cluster) View() *hemera.View { return c.view.Load() }

// Run ends leases, publishes reports and rotates keys until the context ends. It fails with Corrupt when a node proved
// that the store is older than the cluster.
func (c *Cluster) Run(ctx context.Context) error {
	ticker := time.NewTicker(hemera.HeartbeatInterval / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-c.outdated:
			return err
		case <-ticker.C:
			if err := c.Tick(ctx); err != nil {
				c.log.Error("cluster state cannot be written", "error", err)
			}
		}
	}
}

// Tick does what time brings: nodes that fell silent go offline, late reports become a view, keys
// are rotated. An error is of the store; the next Tick tries again.
func (c *Cluster) Tick(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, n := range c.nodes {
		if n.online && now.Sub(n.last) > hemera.HeartbeatTimeout {
			c.endLease(n, now)
		}
	}
	if c.dirty {
		c.publish()
	}
	if err := c.withdraw(ctx); err != nil {
		return err
	}
	if err := c.storeScrubs(ctx); err != nil {
		return err
	}
	if err := c.sweep(ctx, now); err != nil {
		return err
	}
	return c.rotate(ctx)
}

// sweepInterval is how often records are looked for that time has made useless.
const sweepInterval = time.Hour

// sweep forgets removals and join tokens of long ago.
func (c *Cluster) sweep(ctx context.Context, now time.Time) error {
	if age := now.Sub(c.swept); !c.swept.IsZero() && age >= 0 && age < sweepInterval {
		return nil
	}
	c.swept = now
	if err := c.unbar(ctx); err != nil {
		return err
	}
	return c.dropTokens(ctx)
}

// withdraw forgets wishes for disks that their nodes could not use: the admin has seen why.
func (c *Cluster) withdraw(ctx context.Context) error {
	var ch change
	for _, a := range c.refused {
		ch.delete(a)
	}
	c.refused = nil
	return c.commit(ctx, &ch)
}

func (c *Cluster) endLease(n *node, now time.Time) {
	n.online, c.dirty = false, true
	c.log.Warn("node is offline", "node", n.ID, "addr", n.Addr, "silent", now.Sub(n.last).Round(time.Millisecond))
}

func absent(d diskRecord, why string) hemera.NodeDisk {
	return hemera.NodeDisk{UUID: d.UUID, Path: d.Path, ID: d.ID, Health: hemera.HealthGone, Why: why}
}
