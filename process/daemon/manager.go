package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/doors/admin"
	"hemera/doors/taperest"
	"hemera/doors/xrd"
	"hemera/manager"
	"hemera/measure/nsbench"
	"hemera/namespace"
	"hemera/platform/auth"
	"hemera/platform/kv"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/link"
	"hemera/platform/pki"
	"hemera/platform/poll"
	"hemera/platform/rpc"
	"hemera/process/backup"
	"hemera/process/resources"
	"hemera/process/statedir"
	"hemera/rules/access"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// ManagerOptions has the settings of a manager process, as process/config checked them.
type ManagerOptions struct {
	Dir       string         // state: the namespace and the cluster's authority
	Listen    string         // host:port; port 0 chooses one
	Advertise string         // host:port as nodes and clients reach it; Listen's if empty
	Trusted   []auth.Network // networks whose hosts may name their users
	// Sources are networks from which third-party copies may read, besides the cluster's own doors. If empty, they are
	// the trusted ones, and this machine if the manager serves no other.
	Sources []netip.Prefix
	Metrics []netip.Prefix // whose hosts may read /metrics, besides this machine
	Hosts   []string       // names that HTTP requests may call it by, besides its own
	// CacheBytes bounds the memory of the namespace and of its store; see resources.SplitCache.
	CacheBytes int64
	// RepairGrace is the time that a disk may be out of reach before its files are repaired on other disks.
	RepairGrace time.Duration
	// RemovalHold is the time for which replaced and removed content stays on its disks for readers.
	RemovalHold time.Duration
	// WritesOfUser and WritesOfSession bound the writes that one user and one session may have under way; 0 means the
	// default.
	WritesOfUser, WritesOfSession int
	// HTTPListen is an additional address for HTTP only, or empty; HTTPSocket a unix socket for it, or empty.
	HTTPListen, HTTPSocket string
	// SocketWished reports that a user chose HTTPSocket: then a manager that cannot have it does not start.
	SocketWished bool
	Settings     func() []adminapi.Setting // in force, for the verb Config; secrets are masked
	// Configure changes settings and puts them into force; see [admin.Services].
	Configure func(context.Context, adminapi.ConfigChange) (adminapi.ConfigResult, error)
	// Space is the default space that a new cluster begins with; the zero Space has defaults.
	Space hemera.Space
	// TokenLifetime is the default lifetime of a join token.
	TokenLifetime time.Duration
	// ApproveNodes makes joining nodes wait for an admin. NewDisksOff gives their new disks the configstatus off.
	ApproveNodes, NewDisksOff bool
	// Loop serves the XRootD connections of all ports of a process; nil makes one for this port.
	Loop *poll.Loop
	// WithoutLoop gives each XRootD connection its own goroutine instead; then Loop is nil.
	WithoutLoop bool
	// Bounds are shared by all ports of a process; nil makes new ones.
	Bounds *resources.Bounds
	// Local returns a node of the same process; nil without nodes.
	Local   func(id hemera.NodeID) hemera.Node
	Role    string // for `hemera version` and others: manager, up
	Version string
	Commit  string // the commit of its source; may be empty
	Log     *slog.Logger
}

// Live has the options of a manager that can change while it runs, see [ManagerOptions].
type Live struct {
	Trusted                  []auth.Network
	Sources, Metrics         []netip.Prefix
	Hosts                    []string
	RepairGrace, RemovalHold time.Duration
}

// Live returns the initial values of the live options.
func (o ManagerOptions) Live() Live {
	return Live{Trusted: o.Trusted, Sources: o.Sources, Metrics: o.Metrics, Hosts: o.Hosts, RepairGrace: o.RepairGrace, RemovalHold: o.RemovalHold}
}

// Change puts new options into force, for new connections and requests; sessions that are logged in stay. It may be
// called while the manager serves, and does not block for I/O.
func (m *Manager) Change(l Live) {
	m.policy.SetTrusted(l.Trusted)
	m.web.Store(&web{l.Metrics, namesOf(m.Addr, l.Hosts)})
	m.tree.Pieces.SetHold(l.RemovalHold)
	m.Manager.Change(manager.Live{LostAfter: l.RepairGrace, Sources: m.sources(l)})
}

// Manager is a manager process. OpenManager sets all its fields; later they are only read.
type Manager struct {
	*manager.Manager
	Addr   string // as clients and nodes reach it
	Socket string // the unix socket of the admin API; empty for none

	options   ManagerOptions       // with Bounds set
	lock      *os.File             // on the state directory
	store     kv.Store             // below tree; closed after it
	tree      *namespace.Namespace // the only writer of the store
	authority *pki.Authority       // admits nodes; its file is in Dir
	keys      statedir.TapeKeys    // of tapes, in Dir
	policy    *auth.ManagerPolicy  // decides who may connect
	web       *webRules            // of HTTP
	port      *port                // the common port, and the other listeners of HTTP
}

// OpenManager opens the state and the port; no request is answered before Run. It fails with Unavailable if another
// process has the directory, Exists if a port is taken, Corrupt if the store is missing beside its authority or a restore
// did not end, and Invalid for a directory of hemera up.
func OpenManager(ctx context.Context, o ManagerOptions) (_ *Manager, err error) {
	// A user who names the wrong directory must not get a new, empty cluster in it.
	if statedir.HasStore(filepath.Join(o.Dir, statedir.UpManager)) && !statedir.HasStore(o.Dir) {
		return nil, errs.New(errs.Invalid, "daemon.OpenManager", o.Dir, "it is one of hemera up, not a manager's").
			WithRemedy("start it with `hemera up " + o.Dir + "`, or name another directory")
	}
	lock, err := statedir.LockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	// hemera up shares one between all its ports.
	if o.Bounds == nil {
		o.Bounds = resources.NewBounds()
	}
	// From here on close releases everything acquired so far: each part may be nil.
	m := &Manager{options: o, lock: lock}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	if err := statedir.CheckRestored(o.Dir); err != nil {
		return nil, err
	}
	// The port comes before the store: a taken port is an error at once, and opening a large store takes seconds.
	if m.port, err = openPort(ctx, o.Listen, o.Loop, o.WithoutLoop, o.Log); err != nil {
		return nil, err
	}
	m.port.bounds = o.Bounds
	if err := m.openMore(ctx); err != nil {
		return nil, err
	}
	// Nodes and clients may be anywhere, so the address is that of the default route.
	m.Addr = advertised(ctx, o.Advertise, m.port.listener, "")
	if len(o.Trusted) == 0 && o.Role == "manager" && !isLoopback(m.port.listener.Addr().String()) {
		o.Log.Warn("no trusted networks: only users of this machine are let in", "listen", m.port.listener.Addr().String(),
			"remedy", "name the clients' networks in auth.trusted_networks or --trusted-networks, such as 10.1.0.0/24")
	}
	// Before the store is opened, which would make a new, empty one.
	if err := statedir.CheckStore(o.Dir); err != nil {
		return nil, err
	}
	if !statedir.HasStore(o.Dir) && o.Role == "manager" {
		o.Log.Warn("new, empty cluster", "dir", o.Dir, "remedy", "if this is not the first start, stop it and name the manager's directory with --data")
	}
	path, share := filepath.Join(o.Dir, statedir.StoreDir), resources.SplitCache(o.CacheBytes)
	if err := statedir.Private(path); err != nil {
		return nil, err
	}
	store, err := pebblekv.Open(path, pebblekv.Options{CacheBytes: share.Blocks, MemTableBytes: int(share.Table), Logger: o.Log})
	if err != nil {
		return nil, err
	}
	m.store = store
	m.tree, err = namespace.Open(ctx, m.store, namespace.Options{CacheBytes: share.Records, Logger: o.Log, Owner: m.Addr, Hold: o.RemovalHold})
	if err != nil {
		return nil, err
	}
	m.keys, err = statedir.OpenTapeKeys(o.Dir)
	if err != nil {
		return nil, err
	}
	m.Manager, err = manager.New(ctx, manager.Options{
		Store: m.store, Writer: m.tree.Writer(), Tree: m.tree.Parts(), Addr: m.Addr, LostAfter: o.RepairGrace, Space: o.Space, Version: o.Version, Sources: m.sources(o.Live()), Log: o.Log,
		WritesOfUser: o.WritesOfUser, WritesOfSession: o.WritesOfSession, TapeSecrets: m.keys,
		ApproveNodes: o.ApproveNodes, NewDisksOff: o.NewDisksOff, Limits: o.Bounds.Reached,
		Sessions: func() []adminapi.SessionInfo { return m.port.xrd.Sessions() }, Connected: func(session string) bool { return m.port.xrd.HasSession(session) },
	})
	if err != nil {
		return nil, err
	}
	o.Bounds.AddUsages(m.LimitUsages)
	m.authority, err = pki.OpenAuthority(ctx, o.Dir, pki.AuthorityOptions{Tokens: m.Cluster.Tokens, NewNode: m.Cluster.Admin.ReserveNode, Record: m.Cluster})
	if err != nil {
		return nil, err
	}
	return m, m.open()
}

// openMore opens the other listeners of HTTP. If the default unix socket is not possible (a long path, a filesystem
// without sockets), a manager starts without it. These listeners answer HTTP only, so that an admin can open them to
// networks without XRootD clients.
func (m *Manager) openMore(ctx context.Context) error {
	o := m.options
	if o.HTTPListen != "" {
		l, err := link.Listen(ctx, o.HTTPListen, link.DefaultOptions())
		if err != nil {
			return err
		}
		m.port.extra = append(m.port.extra, l)
	}
	if o.HTTPSocket == "" {
		return nil
	}
	l, err := link.ListenUnix(o.HTTPSocket)
	if err != nil && !o.SocketWished {
		o.Log.Warn("no unix socket for the admin API", "error", err, "remedy", "name another path in http.socket, or an empty one for none")
		return nil
	}
	if err != nil {
		return err
	}
	m.Socket, m.port.extra = o.HTTPSocket, append(m.port.extra, l)
	return nil
}

// sources returns the rule of third-party copies. A client of a manager that listens on loopback is a process of this
// machine, which can read there itself.
func (m *Manager) sources(l Live) access.Sources {
	rule := access.Sources{Allow: l.Sources}
	if len(rule.Allow) == 0 {
		for _, n := range l.Trusted {
			rule.Allow = append(rule.Allow, n.Prefix)
		}
		if isLoopback(m.Addr) {
			rule.Allow = append(rule.Allow, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
		}
	}
	if m.options.HTTPListen != "" {
		// The additional HTTP port is the first of extra: a copy must not read from it.
		rule.Never = []string{m.port.extra[0].Addr().String()}
	}
	return rule
}

// backups returns the source of archives of the manager's state; see package backup.
func (m *Manager) backups() adminapi.Backups {
	return backup.Live{
		Store: m.store, Epoch: m.tree.Writer().Epoch(), Authority: m.authority, Keys: m.keys, Addr: m.Addr, Program: "hemera " + m.options.Version,
		Taken: m.Cluster.Surveys.BackupTaken, Log: m.options.Log,
	}
}

// Dir returns the state directory.
func (m *Manager) Dir() string { return m.options.Dir }

// open makes the doors. The admin API is one handler, for its own port and for calls over XRootD sessions. The XRootD
// door counts sessions, so the manager gets its counts here, after both exist.
func (m *Manager) open() (err error) {
	o := m.options
	// The same facts identify XRootD clients and callers of the admin API.
	policy := auth.NewManagerPolicy(o.Trusted)
	m.policy = policy
	known := socketOwner(policy.Owners, policy.Users)
	host, _, _ := net.SplitHostPort(m.Addr)
	verbs := admin.NewHandler(admin.Services{
		Cluster: m.Admin, Tokens: tokens{m.authority, m.Addr, o.TokenLifetime}, Trust: m.Admin, Maint: m.Maint, Observe: m.Observer, Quota: m.Quotas, Recycle: m.Recycle,
		Tape: m.Tape, TapeKeys: m.TapeKeys, Sessions: m.TapeSessions, Staging: m.Staging, Writes: m.Writes, Convert: m.Conversions, Status: m.Status,
		Benchmark: nsbench.NewService(nsbench.ServiceOptions{
			Names: m.Names, Files: m.Files, Control: m.Control, View: m.Admin.View, Relaxed: namespace.Relaxed,
		}),
		Names: m.Names, Directories: m.Directories, Attributes: m.Attributes,
		Backups: m.backups(), Rebuild: m.Rebuild,
		Config: o.Settings, Configure: o.Configure, Limits: o.Bounds.Usages, Log: o.Log, Panics: m.Panics, Turns: m.Turns,
		Version: versionInfo(o.Version, o.Commit, o.Role),
	}, known)
	tape := taperest.Options{Staging: m.Staging, Authorize: taperest.Authorizer(known), Addr: m.Addr, Log: o.Log}
	m.web = newWebRules(web{o.Metrics, namesOf(m.Addr, o.Hosts)})
	m.port.web = containWeb(m.Panics, guardWeb(m.web, addTapeAPI(tape, verbs)))
	m.port.xrd, err = xrd.New(xrd.Options{
		Manager: &xrd.ManagerOptions{
			Names: m.Names, Attributes: m.Attributes, Files: m.Files, Staging: m.Staging, Local: o.Local, Calls: admin.NewCalls(verbs), Space: m.Quotas.RoomBelow,
			Resolve: m.Control.Resolve, View: m.Cluster.View, First: m.tree.Writer().Epoch() == 1,
		},
		ManagerAddr: func() string { return m.Addr }, Policy: policy, Loop: m.port.loop, Host: host, Version: o.Version, Log: o.Log, Panics: m.Panics,
		Budgets: o.Bounds.Doors,
	})
	if err != nil {
		return err
	}
	m.port.control, err = rpc.NewServer(m.Control, rpc.ServerOptions{Node: m.authority.Node, Member: m.Cluster.Leases.Member, Issuer: m.authority, Copies: m.Control, Writes: m.Control, Tapes: m.TapeControl, Log: o.Log, Panics: m.Panics})
	m.port.tls = m.authority.ServerTLS()
	return err
}

// Run serves until the context ends or the store fails, and then closes everything. After a failed store the supervisor
// of the process restarts it. It may be called once. The error is nil after an orderly end.
func (m *Manager) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		// After a failed fsync it is unknown whether the data read is durable.
		case <-m.tree.Failed():
			return errs.New(errs.Unavailable, "daemon.Run", m.options.Dir, "its store failed").
				WithRemedy("see the log for the cause, and check the disk under it; then start it again")
		}
	})
	group.Go(func() error { return m.port.serve(ctx) })
	group.Go(func() error { return ended(ctx, m.Manager.Run(ctx)) })
	err := group.Wait()
	m.close()
	return err
}

// close releases everything that OpenManager acquired, also if a part of it failed. It closes the port first, so that no
// request meets a closed store, and the lock last, so that no other process opens the store while it is still being
// closed.
func (m *Manager) close() {
	if m.port != nil {
		m.port.close()
	}
	// A store that does not close in time loses nothing: acknowledged changes are in its log.
	runWithin(storeTime, m.closeStore)
	_ = m.lock.Close()
}

// storeTime bounds the time that a manager waits at its end for its store, which may have to finish a compaction.
const storeTime = 30 * time.Second

// closeStore closes the namespace before the store below it.
func (m *Manager) closeStore() {
	if m.tree != nil {
		_ = m.tree.Close()
	}
	if m.store != nil {
		_ = m.store.Close()
	}
}
