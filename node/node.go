package node

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/disk"
	"hemera/platform/contain"
	"hemera/rules/capability"
	"hemera/transfer"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Options has the settings and services of a node. Log and Workers have defaults.
type Options struct {
	Control hemera.Control
	// Writes is the manager too: the writes under way are announced to it. Nil: none are.
	Writes hemera.OpenWrites
	Peers  piece.Peers
	// Verify checks a token's signature and expiry and returns its capability.
	Verify func(token string) (hemera.Capability, error)
	// HeadProof returns the proof that this node, as the head of the write with the token, sends to its nodes; VerifyHead
	// checks the proof of another head. Both use the keys of Verify.
	HeadProof  func(token string, node hemera.NodeID) (string, error)
	VerifyHead func(token, proof string) error
	// SetKeys sets the capability keys that Verify uses from now on.
	SetKeys func([]hemera.Key)
	// Bar sets the removed nodes: Verify must refuse capabilities for them. May be nil.
	Bar func([]hemera.NodeID)
	// ID is the node's id in its certificate; zero if it has none and the manager assigns the id.
	ID hemera.NodeID
	// OpenDisk opens the disk at a path. fresh is set only for a path at which the node never had a disk: the path may
	// then become a disk. A known path without its label is a disk that is not mounted.
	OpenDisk func(path string, fresh bool) (disk.Store, error)
	// IsFolder reports whether a path is a directory of the filesystem above it and not yet a disk. It is called for
	// disks that an admin adds; with nil all are accepted.
	IsFolder func(path string) bool
	// Disks are used in addition to those that an admin attached earlier.
	Disks []hemera.AttachDisk
	// Elsewhere has paths of disks that other nodes of this process have now; an earlier start may have given them to
	// this node.
	Elsewhere []string
	// StateDir has node.json: the node's id and its disks.
	StateDir string
	Addr     string // host:port of its xrd door, for clients and peers
	// Address returns the current Addr before each registration, or "" if it is unknown. Nil if Addr does not change.
	Address func() string
	Zone    string
	Version string
	Log     *slog.Logger
	// Panics counts the panics in the node's work; nil: a new counter.
	Panics *contain.Panics
	// Workers is the number of orders that run at once for each disk.
	Workers int
	// SmallBytes bounds the memory of short contents that are being written; 64 MiB if 0, none if negative.
	SmallBytes int64
	// ScrubRate is the greatest number of bytes of each disk that are read and verified per second; no scrub if 0.
	ScrubRate int64
	// Measure replaces the measurements of this machine, for nodes that share one.
	Measure func() hemera.NodeStats
	// Program runs `hemera` with arguments that measure this machine, and returns the JSON output. It refuses other
	// arguments with Denied. Nil: this node runs no measurements. The program ends with ctx.
	Program func(ctx context.Context, command []string) ([]byte, error)
	// Limits returns the bounds of the process that were recently exceeded; may be nil.
	Limits func() []hemera.LimitUse
	// Network samples this machine's network for the heartbeats; nil: no samples.
	Network func() hemera.NetworkSample
}

// Node is one storage node. Its methods may be called concurrently.
type Node struct {
	o       Options
	state   *stateFile
	seen    *seenFile
	disks   *disks
	host    *transfer.Host    // moves data
	pending *transfer.Pending // writes and pieces of writes that have not ended
	meter   *meter
	network networkTurn // of heartbeats
	started time.Time

	addr    atomic.Pointer[string] // address for clients and peers, since the last registration
	id      atomic.Uint32          // zero before the first lease of a node without a certificate
	epoch   atomic.Uint64          // the lease; zero before the first
	born    atomic.Uint64          // epoch of the first lease of this process
	manager atomic.Pointer[string] // its address since the last lease; nil before the first
	orders  *orders
	panics  *contain.Panics // of all work of the node

	stopOnce sync.Once     // for closing stopping
	stopping chan struct{} // closed when the node begins to stop
	toldOnce sync.Once     // for closing told
	told     chan struct{} // closed when the manager knows that the node stops

	joinedOnce sync.Once
	joined     chan struct{}
	refusal    atomic.Pointer[error] // the reason why the node has no lease; nil while it has one, or before the first failure

	working  sync.WaitGroup // background work; its calls to disks return in bounded time
	expiring sync.Map       // by disk.Store: disks with a search for abandoned pieces
	bad      badPieces      // to be reported
	// scrubRate is the greatest number of bytes of each disk that are read and verified per second.
	scrubRate atomic.Int64
	// scrubbing has the disks with a running scrub, by disk.Store.
	scrubbing sync.Map
	unclean   bool // the previous process did not end cleanly, and no manager knows it yet
}

// aheadBytes bounds the memory with which a node reads coded files ahead of their readers.
const aheadBytes = 128 << 20

// workersPerDisk is the number of orders that run at once for each disk. It is greater than the number of large copies
// that the manager starts for a disk: small ones mostly wait for the device, whose journal makes many of them durable at
// once.
const workersPerDisk = 16

// New makes a node and opens its disks. It reports a disk that cannot be opened as gone, and tries it again later; it
// fails only if the state directory cannot be used.
func New(o Options) (*Node, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Workers <= 0 {
		o.Workers = workersPerDisk
	}
	state, err := openState(o.StateDir)
	if err != nil {
		return nil, err
	}
	seen, err := openSeen(o.StateDir, o.Log)
	if err != nil {
		return nil, err
	}
	n := &Node{o: o, state: state, seen: seen, meter: newMeter(o.Measure), network: networkTurn{sample: o.Network}, started: time.Now(), joined: make(chan struct{}), stopping: make(chan struct{}), told: make(chan struct{})}
	if o.ID != 0 {
		state.ID = o.ID
	}
	// load, below, makes it durable that a process uses the directory.
	n.unclean, state.Running = state.Running, true
	n.id.Store(uint32(state.ID))
	n.scrubRate.Store(o.ScrubRate)
	n.addr.Store(&o.Addr)
	if n.panics = o.Panics; n.panics == nil {
		n.panics = contain.New(o.Log)
	}
	n.disks = newDisks(state, seen, o.OpenDisk, o.Log)
	n.disks.panics = n.panics
	n.disks.folder = o.IsFolder
	state.Disks = slices.DeleteFunc(state.Disks, func(k knownDisk) bool { return slices.Contains(o.Elsewhere, k.Path) })
	if err := n.disks.load(o.Disks); err != nil {
		return nil, err
	}
	n.host = &transfer.Host{
		Node:   piece.Node{Self: n.ID, Disk: n.disks.find, Peers: o.Peers, HeadProof: o.HeadProof, Log: o.Log, Bad: n.bad.add, Panics: n.panics},
		Born:   func() hemera.Epoch { return hemera.Epoch(n.born.Load()) },
		Writes: transfer.Writes{Control: committer{o.Control, seen}, Kept: keptFiles{filepath.Join(o.StateDir, "kept")}, SmallBytes: o.SmallBytes},
	}
	n.host.Reads.Ahead.Max = aheadBytes
	n.pending = transfer.NewPending(n.host)
	if n.pending.Restore(capability.Peek) > 0 {
		n.unclean = true // the audit removes those that are never committed
	}
	n.orders = &orders{program: o.Program, disks: n.disks, host: n.host, pending: n.pending, verify: func(token string) (hemera.Capability, error) { return n.o.Verify(token) }, log: o.Log, panics: n.panics, workers: o.Workers,
		running: &n.working, lanes: map[lane]chan job{}}
	return n, nil
}

// ID returns the node's id; zero before it first joined.
func (n *Node) ID() hemera.NodeID { return hemera.NodeID(n.id.Load()) }

// Panics returns the counter of panics in the node's work. Other services of the process add theirs.
func (n *Node) Panics() *contain.Panics { return n.panics }

// Lease returns the node's id and the epoch of its lease; zero before the first one.
func (n *Node) Lease() (hemera.NodeID, hemera.Epoch) { return n.ID(), hemera.Epoch(n.epoch.Load()) }

// address returns the node's address for clients and peers.
func (n *Node) address() string { return *n.addr.Load() }

// Joined returns a channel that is closed when the node has its first lease.
func (n *Node) Joined() <-chan struct{} { return n.joined }

// Refusal returns the reason why the node has no lease: the error of its last session or registration. It returns nil
// while the node has a lease, and before its first attempt has failed.
func (n *Node) Refusal() error {
	if p := n.refusal.Load(); p != nil {
		return *p
	}
	return nil
}

// ManagerAddr returns the address of the manager's xrd door; "" before the node joined.
func (n *Node) ManagerAddr() string {
	if p := n.manager.Load(); p != nil {
		return *p
	}
	return ""
}

// Open implements hemera.Node.
func (n *Node) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	p, err := n.verifyOpen(ctx, p, o.Path)
	if err != nil {
		return nil, err
	}
	return n.open(ctx, p, o)
}

// OpenPiece implements hemera.Node.
func (n *Node) OpenPiece(ctx context.Context, p *hemera.Permit, o hemera.PieceOpen) (hemera.PieceHandle, error) {
	p, err := n.verifyOpen(ctx, p, "")
	if err != nil {
		return nil, err
	}
	if path := p.WholePath(); path != "" && o.Path != path {
		return nil, otherPath(o.Path)
	}
	head := o.Head != "" && n.o.VerifyHead != nil
	if head {
		token, err := p.Token()
		if err == nil {
			err = n.o.VerifyHead(token, o.Head)
		}
		if err != nil {
			return nil, errs.As(err, errs.Denied, "node.OpenPiece", p.Path)
		}
	}
	return n.pending.OpenPiece(p.Capability, o, head)
}

// otherPath returns the error for an open of another path than the capability's.
func otherPath(path string) error {
	return errs.New(errs.Denied, "node.Open", path, "the capability is for another path").WithRemedy("open the file at the manager")
}

// User implements hemera.Node.
func (n *Node) User(ctx context.Context, p *hemera.Permit) (hemera.Identity, error) {
	p, err := n.verify(ctx, p, "")
	if err != nil {
		return hemera.Identity{}, err
	}
	return p.Who, nil
}

// verifyOpen verifies a permit for an open: a permit of this process must not have expired either.
func (n *Node) verifyOpen(ctx context.Context, p *hemera.Permit, path string) (*hemera.Permit, error) {
	p, err := n.verify(ctx, p, path)
	if err == nil && p.Local() && time.Now().After(p.Expires) { // verify has checked the expiry of other permits
		return nil, errs.New(errs.Denied, "node.Open", p.Path, "the capability has expired").WithRemedy("open the file again")
	}
	return p, err
}

// verify returns the permit with its verified capability. The capability must be for the path, unless that is "".
func (n *Node) verify(ctx context.Context, p *hemera.Permit, path string) (*hemera.Permit, error) {
	if err := n.awaitJoin(ctx); err != nil {
		return nil, err
	}
	p, err := p.Verify(n.o.Verify)
	switch {
	case err != nil:
		return nil, errs.As(err, errs.Denied, "node.Open", "")
	case path != "" && path != p.Path:
		return nil, otherPath(path)
	}
	return p, nil
}

// Written implements hemera.Node.
func (n *Node) Written(ctx context.Context, p *hemera.Permit, path string) (hemera.FileInfo, error) {
	p, err := n.verify(ctx, p, path)
	if err != nil {
		return hemera.FileInfo{}, err
	}
	if p.Access == hemera.AccessRead {
		return hemera.FileInfo{}, errs.New(errs.Denied, "node.Written", path, "the capability is for reading")
	}
	return n.pending.Written(&p.Capability), nil
}

// open opens a whole file.
func (n *Node) open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	if p.Access != hemera.AccessRead && (len(p.Targets) == 0 || p.HeadNode() != n.ID()) {
		return nil, errs.New(errs.Denied, "node.Open", p.Path, "another node is the head of this write")
	}
	if p.Access != hemera.AccessRead && n.stops() && !n.pending.Known(&p.Capability) {
		return nil, errs.New(errs.Unavailable, "node.Open", p.Path, "the node is about to stop, and takes no new writes").
			WithRemedy("open the file again: the manager knows other nodes")
	}
	return n.pending.Open(ctx, p, o)
}

// awaitJoin waits for the first lease, which brings the keys: a client may return to a node that has just restarted,
// before the manager has answered the node.
func (n *Node) awaitJoin(ctx context.Context) error {
	select {
	case <-n.joined:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	select {
	case <-n.joined:
		return nil
	case <-ctx.Done():
		return errs.New(errs.Unavailable, "node.Open", n.address(), "the node has not reached the manager since it started").
			WithRemedy("try again; `hemera node ls` shows when it is online")
	}
}

// Status is the state of a node, for display on its machine.
type Status struct {
	ID      hemera.NodeID
	Epoch   hemera.Epoch // of the lease; zero before the first
	Addr    string
	Manager string // its address; "" before the first lease
	Disks   []hemera.NodeDisk
	Stats   hemera.NodeStats
	Pending int   // writes and pieces of writes that have not ended
	Orders  int64 // done since the start
}

// Status describes the node now.
func (n *Node) Status() Status {
	stats := n.meter.last(n.started)
	stats.Unusable = n.disks.unusable()
	return Status{
		ID: n.ID(), Epoch: hemera.Epoch(n.epoch.Load()), Addr: n.address(), Manager: n.ManagerAddr(),
		Disks: n.disks.report(), Stats: stats, Pending: n.pending.Len(), Orders: n.orders.done.Load(),
	}
}

// Counters returns the node's transfer counters.
func (n *Node) Counters() *piece.Counters { return &n.host.Counters }

var _ hemera.Node = (*Node)(nil)
