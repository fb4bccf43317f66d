package xrd

import (
	"context"
	"log/slog"
	"time"

	"hemera/platform/auth"
	"hemera/platform/contain"
	"hemera/platform/poll"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Options is what a [Server] is built from. Manager or Node is set: that is its role.
type Options struct {
	Manager *ManagerOptions
	Node    *NodeOptions

	// ManagerAddr returns the manager's door as clients reach it, host:port, or "" while no manager is known. A node
	// sends clients there that ask for names, or have to restart a copy.
	ManagerAddr func() string
	// Loop takes over the TCP connections that are served. With nil, and for any other kind of connection, each has a
	// goroutine of its own.
	Loop   *poll.Loop
	Policy auth.Policy
	Log    *slog.Logger
	// Panics counts requests that failed by a panic. May be nil.
	Panics *contain.Panics
	// Recorder counts operations; nil counts nothing.
	Recorder Recorder
	// Host is the name clients reach this server by, for those that ask for a name. Without one they get the address
	// they connected to.
	Host    string
	Site    string
	Version string
	Limits  Limits
	// Budgets are shared by the doors of one process; nil makes new ones, for a large machine.
	Budgets *Budgets
}

// ManagerOptions are a manager's services.
type ManagerOptions struct {
	Names      hemera.Names
	Attributes hemera.Attributes
	Files      hemera.Files
	// Staging brings files from tape and releases them; nil: every file is on disk.
	Staging hemera.Staging
	// Calls answers calls of the admin API from clients that have logged in; nil refuses them.
	Calls hemera.Calls
	// View returns the cluster as it is now, for clients that ask for all servers; nil shows this one alone.
	View func() *hemera.View
	// First says that the cluster never had a manager's door before this one.
	First bool
	// Local finds a node of this process, nil for others. The manager's door opens small files itself whose head is
	// such a node, and serves them on the client's connection. May be nil.
	Local func(id hemera.NodeID) hemera.Node
	// Resolve is as in [NodeOptions], for files that the door opens itself.
	Resolve func(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)
	// Space answers a client's questions about room below a path, "" for all room; nil answers zeros.
	Space func(ctx context.Context, who hemera.Identity, path string) (hemera.PathRoom, error)
}

// NodeOptions are a node's services.
type NodeOptions struct {
	Node hemera.Node
	// Resolve finds the committed entry of an open file, for its attributes; nil shows none.
	Resolve func(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)
	// Puller runs third-party copies into this node; nil refuses them.
	Puller Puller
	// Link is what the node knows of its network link; nil tells nothing. It must not wait.
	Link func() hemera.NetworkLink
}

// role returns the answer to `query config role`.
func (o *Options) role() string {
	if o.Manager != nil {
		return "manager"
	}
	return "server"
}

// Recorder counts operations.
type Recorder interface {
	// Record is called once for each request, from many goroutines.
	Record(op string, d time.Duration, err error)
}

// Puller copies a remote file into an open one.
type Puller interface {
	// Pull copies the whole source into dst, verified page by page, and calls progress with the bytes
	// done so far. It returns when dst has accepted all; the caller closes dst.
	Pull(ctx context.Context, source PullSource, dst hemera.Handle, progress func(done int64)) error
}

// PullSource is the file a third-party copy reads.
type PullSource struct {
	Addr    string // host:port
	Path    string
	Key     string      // tpc.key: the source gives the file to a client that shows it
	Origins []string    // tpc.org: user.pid@host of the client that arranged the copy, likeliest first
	Opaque  wire.Opaque // what the client wants the source to see besides
}

// Limits bound what clients can use. A zero field means its default.
type Limits struct {
	Connections   int           // open at once; 65,536
	Handles       int           // of one session; 65,536
	LoginTimeout  time.Duration // from accept to the end of authentication; 30 s
	IdleTimeout   time.Duration // between requests, and within the data of a file; 2 h
	RequestTime   time.Duration // within a request without such data, and a second more for each 100 KiB; 30 s
	WriteStall    time.Duration // a client that takes no byte for so long is dropped; 2 min
	SlowAnswer    time.Duration // work longer than this is promised and answered later; 10 s
	RendezvousTTL time.Duration // how long a third-party copy's key waits for its destination; 90 s
}

func (l Limits) withDefaults() Limits {
	def := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	if l.Connections == 0 {
		l.Connections = 65536
	}
	if l.Handles == 0 {
		l.Handles = 65536
	}
	def(&l.LoginTimeout, 30*time.Second)
	def(&l.IdleTimeout, 2*time.Hour)
	def(&l.RequestTime, 30*time.Second)
	def(&l.WriteStall, 2*time.Minute)
	def(&l.SlowAnswer, 10*time.Second)
	def(&l.RendezvousTTL, 90*time.Second)
	return l
}

func (o Options) check() (Options, error) {
	missing := ""
	switch {
	case (o.Manager != nil) == (o.Node != nil):
		missing = "one role"
	case o.Manager != nil && (o.Manager.Names == nil || o.Manager.Attributes == nil || o.Manager.Files == nil):
		missing = "the manager's services"
	case o.Node != nil && o.Node.Node == nil:
		missing = "the node's service"
	case o.ManagerAddr == nil:
		missing = "the manager's address"
	case o.Policy == nil:
		missing = "an authentication policy"
	}
	if missing != "" {
		return o, errs.New(errs.Invalid, "xrd.New", "", "the door needs "+missing)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Panics == nil {
		o.Panics = contain.New(o.Log)
	}
	if o.Site == "" {
		o.Site = "hemera"
	}
	if o.Version == "" {
		o.Version = "hemera"
	}
	if o.Budgets == nil {
		o.Budgets = NewBudgets(1<<20, 1<<40)
	}
	o.Limits = o.Limits.withDefaults()
	return o, nil
}
