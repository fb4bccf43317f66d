package xrd

import (
	"context"
	"log/slog"
	"time"

	"hemera/platform/auth"
	"hemera/platform/contain"
	"hemera/platform/poll"
	"hemera/rules/wire"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Options has the settings of a [Server]. Either Manager or Node is set and decides its role.
type Options struct {
	Manager *ManagerOptions
	Node    *NodeOptions

	// ManagerAddr returns the host:port of the manager's door for clients, or "" while no manager is known. A node
	// redirects clients there that ask for names or must restart a copy.
	ManagerAddr func() string
	// Loop serves TCP connections. With nil, and for other kinds of connections, each has a goroutine of its own.
	Loop   *poll.Loop
	Policy auth.Policy
	Log    *slog.Logger
	// Panics counts requests that failed by a panic. May be nil.
	Panics *contain.Panics
	// Recorder counts operations; may be nil.
	Recorder Recorder
	// Host is the name of this server for clients that ask for a name. With "" they get the address to which they
	// connected.
	Host    string
	Site    string
	Version string
	Limits  Limits
	// Budgets are shared by the doors of one process. With nil the door makes its own, for a large machine.
	Budgets *Budgets
}

// ManagerOptions has a manager's services.
type ManagerOptions struct {
	Names      hemera.Names
	Attributes hemera.Attributes
	Files      hemera.Files
	// Staging brings files from tape and releases them. With nil every file is on disk.
	Staging tapeapi.Staging
	// Calls answers calls of the admin API of authenticated clients. With nil they are refused.
	Calls adminapi.Calls
	// View returns the current view of the cluster, for clients that ask for all servers. With nil they get this one
	// only.
	View func() *hemera.View
	// First states that the cluster had no manager's door before this one.
	First bool
	// Local finds a node of this process. It returns nil for others. If a small file's head is such a node, the manager's
	// door opens the file itself and serves it on the client's connection. May be nil.
	Local func(id hemera.NodeID) hemera.Node
	// Resolve works as in [NodeOptions], for files that the door opens itself.
	Resolve func(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)
	// Space returns the space below a path, or all space for "". With nil clients get zeros.
	Space func(ctx context.Context, who hemera.Identity, path string) (hemera.PathRoom, error)
}

// NodeOptions has a node's services.
type NodeOptions struct {
	Node hemera.Node
	// Resolve finds the committed entry of an open file, for its attributes. With nil only the attributes of the handle
	// are shown.
	Resolve func(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)
	// Puller runs third-party copies into this node. With nil they are refused.
	Puller Puller
	// Link returns what the node knows of its network link. It must not block. May be nil.
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
	// Record is called once for each request, concurrently.
	Record(op string, d time.Duration, err error)
}

// Puller copies a remote file into an open one.
type Puller interface {
	// Pull copies the whole source into dst, verified page by page, and calls progress with the bytes copied so far. It
	// returns when dst has accepted all; the caller closes dst.
	Pull(ctx context.Context, source PullSource, dst hemera.Handle, progress func(done int64)) error
}

// PullSource is the source of a third-party copy.
type PullSource struct {
	Addr    string // host:port
	Path    string
	Key     string      // tpc.key: the source opens the file for a client that shows it
	Origins []string    // tpc.org: user.pid@host of the client that arranged the copy, most likely first
	Opaque  wire.Opaque // opaque data of the client for the source
}

// Limits bounds the resources of clients. A zero field means its default.
type Limits struct {
	Connections   int           // open at once; 65,536
	Handles       int           // of one session; 65,536
	LoginTimeout  time.Duration // from accept to the end of authentication; 30 s
	IdleTimeout   time.Duration // between requests, and within the data of a file; 2 h
	RequestTime   time.Duration // for a request without such data, plus a second for each 100 KiB; 30 s
	WriteStall    time.Duration // a client that takes no byte for this time is disconnected; 2 min
	HoldTime      time.Duration // for an open that is held until nodes have come back; 10 s
	SlowAnswer    time.Duration // longer work is promised and answered later; 10 s
	RendezvousTTL time.Duration // time that a third-party copy's key waits for its destination; 90 s
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
	def(&l.HoldTime, 10*time.Second)
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
