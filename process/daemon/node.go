package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/client/xrootd"
	"hemera/disk"
	"hemera/doors/xrd"
	"hemera/node"
	"hemera/platform/auth"
	"hemera/platform/contain"
	"hemera/platform/link"
	"hemera/platform/pki"
	"hemera/platform/poll"
	"hemera/platform/rpc"
	"hemera/platform/vfs"
	"hemera/process/disks"
	"hemera/process/measuring"
	"hemera/process/resources"
	"hemera/process/statedir"
	"hemera/rules/capability"
	"hemera/transfer/peers"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// NodeOptions has the settings of a storage node process.
type NodeOptions struct {
	Dir       string // state: the node's identity
	Listen    string // host:port; port 0 chooses one
	Advertise string // as in [ManagerOptions]
	Zone      string // failure domain; empty for none
	Disks     []hemera.AttachDisk
	// MakeDisks makes missing directories of Disks that were never a disk.
	MakeDisks bool
	// Elsewhere are the disks of other nodes of the process. This node must not take them over.
	Elsewhere []hemera.AttachDisk
	// Join is a join token; it is needed once, until Dir has the node's certificate.
	Join string
	// AskToken makes a join token. OpenNode calls it if it needs one and Join is empty; nil if the admin has to provide
	// it.
	AskToken func(context.Context) (string, error)
	// Control is the manager if it is in the same process. Then the node needs no certificate.
	Control hemera.Control
	// Copies, Writes and Tapes are the same manager's other services for nodes. Tapes may be nil if the manager has none.
	Copies hemera.CopyRules
	Writes hemera.OpenWrites
	Tapes  tapeapi.Control
	// Memory is shared by the disks of all nodes of a process; nil makes one for this node.
	Memory *disks.Memory
	// Loop serves the XRootD connections of all ports of a process; nil makes one for this port.
	Loop *poll.Loop
	// WithoutLoop: see [ManagerOptions].
	WithoutLoop bool
	// Bounds are shared by all ports of a process; nil makes new ones.
	Bounds *resources.Bounds
	limits func() []hemera.LimitUse // of the node's own bounds
	// WithoutNetwork: another node of the process samples the network for all of them.
	WithoutNetwork bool
	// ScrubRate bounds the bytes of each disk that are read and verified in a second; 0 disables it.
	ScrubRate int64
	// Metrics are networks whose hosts may read /metrics, besides this machine.
	Metrics []netip.Prefix
	// Hosts are names that HTTP requests may call the process by, besides its own.
	Hosts []string
	// Tape is the tape library of this node; nil for none.
	Tape *TapeOptions
	// StopPatience is the time that a stop waits for the writes under way; with 0 they are cancelled.
	StopPatience time.Duration
	// Executable is hemera, for measurements of this machine for the manager; "" refuses them.
	Executable string
	Version    string
	Commit     string // the commit of its source; may be empty
	Log        *slog.Logger
}

// clockSkew is the time by which a node's clock may be ahead of the manager's before it refuses valid capabilities.
const clockSkew = 5 * time.Minute

// Node is a storage node process. OpenNode sets all its fields; later they are only read.
type Node struct {
	*node.Node
	Addr string

	options     NodeOptions
	lock        *os.File         // on the state directory
	peers       *peers.Peers     // pieces at other nodes
	panics      *contain.Panics  // of all work in the process for this node
	pulls       puller           // sources of third-party copies
	credentials *pki.Credentials // nil if the manager is in the same process
	remote      *rpc.Client      // nil if the manager is in the same process
	network     *node.Network    // nil: another node of the process samples the network
	web         *webRules        // of HTTP
	port        *port            // XRootD, and HTTP for monitoring
	tape        *tapeServer      // nil without a library
}

// OpenNode joins the cluster if needed, and opens disks and port. It fails with Unavailable if another process has the
// directory, with Exists if the port is taken, with NotFound if the node has neither a certificate nor a token, and with
// the kind of an error of AskToken or of the manager.
func OpenNode(ctx context.Context, o NodeOptions) (_ *Node, err error) {
	lock, err := statedir.LockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	// hemera up shares both between its nodes.
	if o.Memory == nil {
		o.Memory = disks.NewMemory()
	}
	if o.Bounds == nil { // the manager reports shared bounds
		o.Bounds = resources.NewBounds()
		o.limits = o.Bounds.Reached
	}
	n := &Node{options: o, lock: lock}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	if n.port, err = openPort(ctx, o.Listen, o.Loop, o.WithoutLoop, o.Log); err != nil {
		return nil, err
	}
	n.port.bounds = o.Bounds
	control, copies, writes, tapes, id, managerAddr := o.Control, o.Copies, o.Writes, o.Tapes, hemera.NodeID(0), ""
	if control == nil {
		if err := n.join(ctx); err != nil {
			return nil, err
		}
		control, copies, writes, tapes, id, managerAddr = n.remote, n.remote, n.remote, n.remote, n.credentials.Node(), n.credentials.Addrs()[0]
	}
	// The route to the manager decides: clients that can reach the manager probably use the same network.
	n.Addr = advertised(ctx, o.Advertise, n.port.listener, managerAddr)
	if err := checkReach(n.Addr, managerAddr); err != nil {
		return nil, err
	}
	// In hemera up several nodes write one log.
	o.Log = o.Log.With("at", n.Addr)
	n.options.Log, n.port.log = o.Log, o.Log
	keys := capability.NewVerifier()
	n.panics = contain.New(o.Log)
	n.pulls = newPuller(copies, func() hemera.NodeID { return n.ID() }, xrootd.Options{Log: o.Log, Panics: n.panics})
	n.peers = peers.New(xrootd.Options{App: "hemera-node", Log: o.Log, Panics: n.panics})
	var sample func() hemera.NetworkSample
	if !o.WithoutNetwork {
		n.network = node.NewNetwork(o.Log)
		sample = n.network.Sample
	}
	n.Node, err = node.New(node.Options{
		ID: id, Control: control, Writes: writes, Peers: n.peers, Disks: o.Disks, Elsewhere: paths(o.Elsewhere), StateDir: o.Dir, Addr: n.Addr, ScrubRate: o.ScrubRate, Address: n.addressNow(ctx, managerAddr), Zone: o.Zone, Version: o.Version, Log: o.Log,
		HeadProof: keys.HeadProof, VerifyHead: keys.VerifyHead,
		Verify:   func(token string) (hemera.Capability, error) { return keys.Verify(token, time.Now().Add(-clockSkew)) },
		SetKeys:  keys.Set,
		Bar:      keys.Bar,
		OpenDisk: n.openDisk,
		IsFolder: n.folder(),
		Limits:   o.limits,
		Panics:   n.panics,
		Program:  n.program(),
		Network:  sample,
	})
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(n.Addr)
	n.port.xrd, err = xrd.New(xrd.Options{
		Node:        &xrd.NodeOptions{Node: n.Node, Puller: n.pulls, Resolve: control.Resolve, Link: n.Link},
		ManagerAddr: n.ManagerAddr, Policy: auth.NodePolicy{}, Loop: n.port.loop, Host: host, Version: o.Version, Log: o.Log, Panics: n.Panics(),
		Budgets: n.options.Bounds.Doors,
	})
	n.web = newWebRules(web{o.Metrics, namesOf(n.Addr, o.Hosts)})
	n.port.web = containWeb(n.Panics(), guardWeb(n.web, monitorNode(n.Node, o)))
	if err == nil && o.Tape != nil {
		n.tape, err = openTape(ctx, n.Node, tapes, o)
	}
	return n, err
}

// NodeLive has the options of a node that can change while it runs, see [NodeOptions].
type NodeLive struct {
	Metrics   []netip.Prefix
	Hosts     []string
	ScrubRate int64
}

// Change puts new options into force. It may be called while the node serves, and does not block.
func (n *Node) Change(l NodeLive) {
	n.web.Store(&web{l.Metrics, namesOf(n.Addr, l.Hosts)})
	n.SetScrubRate(l.ScrubRate)
}

// program returns the function that runs measurements of this machine for the manager; nil without an executable.
func (n *Node) program() func(context.Context, []string) ([]byte, error) {
	if n.options.Executable == "" {
		return nil
	}
	r := measuring.Runner{Executable: n.options.Executable, Manager: func() string { return n.ManagerAddr() }, Disks: func() (list []string) {
		for _, d := range n.Status().Disks {
			list = append(list, d.Path)
		}
		return list
	}}
	return r.Run
}

// addressNow returns the function with which the node determines its address again; nil if the address is configured, or
// if the node listens on that one alone. So a machine that gets another address by DHCP is found again. An address from
// the admin never changes by itself.
func (n *Node) addressNow(ctx context.Context, managerAddr string) func() string {
	if n.options.Advertise != "" || !listensEverywhere(n.port.listener) {
		return nil
	}
	return func() string {
		addr := advertised(context.WithoutCancel(ctx), "", n.port.listener, managerAddr)
		if checkReach(addr, managerAddr) != nil {
			return "" // no network now
		}
		return addr
	}
}

// paths returns the paths of disks.
func paths(disks []hemera.AttachDisk) (list []string) {
	for _, d := range disks {
		list = append(list, d.Path)
	}
	return list
}

// openDisk opens a disk of this node; node.Options says when. It makes a directory only with MakeDisks, and only if that
// was never a disk: a missing directory that was a disk is a filesystem that is not mounted.
func (n *Node) openDisk(path string, fresh bool) (disk.Store, error) {
	o := n.options
	given := func(d hemera.AttachDisk) bool { return filepath.Clean(d.Path) == path }
	if fresh && o.MakeDisks && slices.ContainsFunc(o.Disks, given) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, errs.Wrap(err, "daemon.OpenDisk", path)
		}
	}
	if err := disks.CheckOwner(path); err != nil {
		return nil, err
	}
	store, err := o.Memory.OpenDisk(path, fresh, o.Log, n.panics)
	if err == nil && fresh && !o.MakeDisks && disks.IsFolder(path) {
		o.Log.Warn("new disk is a folder, not a filesystem of its own: is it mounted?", "path", path)
	}
	return store, err
}

// folder returns a function that distinguishes folders from mount points; nil in `up`, where all disks are folders. A
// folder with a label was a disk before.
func (n *Node) folder() func(string) bool {
	if n.options.MakeDisks {
		return nil
	}
	return func(path string) bool {
		_, err := disk.ReadLabel(vfs.OS{}, path)
		return disks.IsFolder(path) && err != nil
	}
}

// join gets the node's certificate, from its state directory or with the token, and dials the manager. A node with a
// valid certificate does not need the manager here: it starts, and connects when the manager answers.
func (n *Node) join(ctx context.Context) error {
	o := n.options
	// Four cases: joined before, or not; with a token, or without.
	credentials, err := pki.LoadCredentials(o.Dir)
	switch {
	case errors.Is(err, errs.NotFound) && (o.Join != "" || o.AskToken != nil):
		credentials, err = enrol(ctx, o)
	case err == nil && o.Join != "" && credentials.Expired(time.Now()):
		credentials = joinAgain(ctx, credentials, o)
	case err == nil && o.Join != "":
		learn(credentials, o)
	}
	if err != nil {
		return err
	}
	n.credentials = credentials
	n.remote, err = rpc.Dial(rpc.ClientOptions{Addrs: credentials.Addrs(), TLS: credentials.TLS(), DialContext: dialManager})
	return err
}

// joinAgain joins again with the token after the node's certificate has expired. If the token does not help, the old
// certificate stays: this machine's clock may be wrong.
func joinAgain(ctx context.Context, old *pki.Credentials, o NodeOptions) *pki.Credentials {
	credentials, err := enrol(ctx, o)
	if err != nil {
		o.Log.Warn("the node's certificate has expired, and it cannot join again", "error", err, "remedy", errs.RemedyOf(err))
		return old
	}
	o.Log.Info("the node's certificate had expired: it has joined again", "node", credentials.Node(), "was", old.Node())
	return credentials
}

// learn adds the addresses in the token of a node that has joined already. The token may be years old, in a unit file.
func learn(credentials *pki.Credentials, o NodeOptions) {
	token, err := pki.ParseToken(o.Join)
	if err == nil {
		err = credentials.Learn(token)
	}
	if err != nil {
		o.Log.Warn("the join token is not used", "error", err, "remedy", errs.RemedyOf(err))
	}
}

// dialManager dials with options that detect a dead manager.
func dialManager(ctx context.Context, addr string) (net.Conn, error) {
	return link.Dial(ctx, addr, link.DefaultOptions())
}

// enrol joins a cluster with the token, or with one from AskToken: it verifies the manager by the token's fingerprint and
// gets a certificate. It blocks until the manager answers or the context ends.
func enrol(ctx context.Context, o NodeOptions) (*pki.Credentials, error) {
	text := o.Join
	if text == "" {
		var err error
		if text, err = o.AskToken(ctx); err != nil {
			return nil, err
		}
	}
	token, err := pki.ParseToken(text)
	if err != nil {
		return nil, err
	}
	manager, err := rpc.Dial(rpc.ClientOptions{Addrs: token.Addrs, TLS: token.TLS(), DialContext: dialManager})
	if err != nil {
		return nil, err
	}
	defer manager.Close()
	return pki.Enrol(ctx, o.Dir, token, manager)
}

// Run serves until the context ends, then closes everything. When the context ends, writes get StopPatience to end while
// all parts still serve. Then all parts end.
func (n *Node) Run(ctx context.Context) error {
	// The parts serve on while the writes under way end.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, serving := errgroup.WithContext(serving)
	group.Go(func() error {
		select {
		case <-ctx.Done():
			if n.options.StopPatience > 0 {
				n.Finish(serving, n.options.StopPatience)
			}
			stop()
		case <-serving.Done():
		}
		return nil
	})
	group.Go(func() error { return n.port.serve(serving) })
	group.Go(func() error { return ended(serving, n.Node.Run(serving)) })
	if n.tape != nil {
		// Sessions end before the node does: the files written to tape are reported while the manager still answers.
		group.Go(func() error { return n.tape.Run(ctx) })
	}
	if n.credentials != nil {
		group.Go(func() error { n.credentials.Keep(serving, n.remote, n.options.Log); return nil })
	}
	err := group.Wait()
	n.close()
	return err
}

// close releases everything that OpenNode acquired, also if a part of it failed. It releases the lock last, so that no
// second process becomes this node while this one is still ending.
func (n *Node) close() {
	if n.port != nil {
		n.port.close()
	}
	if n.peers != nil {
		_ = n.peers.Close()
	}
	if n.pulls.client != nil {
		_ = n.pulls.client.Close()
	}
	if n.remote != nil {
		_ = n.remote.Close()
	}
	if n.network != nil {
		n.network.Close()
	}
	if n.tape != nil {
		n.tape.close()
	}
	_ = n.lock.Close()
}
