package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/platform/poll"
	"hemera/process/disks"
	"hemera/process/resources"
	"hemera/process/statedir"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// UpOptions has the settings of a cluster in one process.
type UpOptions struct {
	Manager ManagerOptions // Dir is the directory of the whole cluster
	Nodes   int            // on the ports after the manager's
	Disks   int            // folders DIR/disk<n>, distributed to the nodes in turn
	Zone    string
	// ScrubRate bounds the bytes of each disk that are read and verified in a second; 0 disables it.
	ScrubRate int64
	// StopPatience: see [NodeOptions].
	StopPatience time.Duration
	Executable   string // see [NodeOptions]
	// Tape is a library of the first node; nil for none. Its tapes are added to a pool if the cluster has none.
	Tape *TapeOptions
}

// Up is a manager and its nodes in one process.
type Up struct {
	Manager *Manager
	Nodes   []*Node
	log     *slog.Logger
	loop    *poll.Loop // shared, closed after all of them; nil if each connection has a goroutine
}

// OpenUp opens the manager and the nodes below its directory. It fails as OpenManager and OpenNode do. If a port of a
// node is taken, the error names all ports of the cluster. If no disk can be used, it fails with Invalid and the reason
// for the first: such a cluster would take no files.
func OpenUp(ctx context.Context, o UpOptions) (_ *Up, err error) {
	dir := o.Manager.Dir
	o.Manager.Dir = filepath.Join(dir, statedir.UpManager)
	if statedir.HasStore(dir) && !statedir.HasStore(o.Manager.Dir) {
		return nil, errs.New(errs.Invalid, "daemon.OpenUp", dir, "it is a manager's, not one of hemera up").
			WithRemedy("start it with `hemera manager --data " + dir + "`, or name another directory")
	}
	u := &Up{log: o.Manager.Log}
	o.Manager.Local = u.node
	defer func() {
		if err != nil {
			u.close()
		}
	}()
	if !o.Manager.WithoutLoop {
		u.loop, err = poll.NewLoop()
	}
	if err != nil {
		return nil, err
	}
	if o.Manager.Loop = u.loop; o.Manager.Bounds == nil {
		o.Manager.Bounds = resources.NewBounds()
	}
	if u.Manager, err = OpenManager(ctx, o.Manager); err != nil {
		return nil, err
	}
	host, first, err := splitPort(o.Manager.Listen)
	if err != nil {
		return nil, err
	}
	// All nodes share it, because its bounds are those of the process.
	memory := disks.NewMemory()
	for i := 1; i <= o.Nodes; i++ {
		// If the manager has port 0, every node chooses its own, too.
		port := 0
		if first != 0 {
			port = first + i
		}
		name := fmt.Sprintf("node%d", i)
		var library *TapeOptions
		if i == 1 {
			library = o.Tape
		}
		n, err := OpenNode(ctx, NodeOptions{
			Dir: filepath.Join(dir, name), Listen: net.JoinHostPort(host, strconv.Itoa(port)),
			Advertise: hostOf(u.Manager.Addr), Zone: o.Zone, Control: u.Manager.Control, Copies: u.Manager.Control, Writes: u.Manager.Control, Tapes: u.Manager.TapeControl,
			Disks: disksOf(dir, i, o.Nodes, o.Disks), Elsewhere: disksOfOthers(dir, i, o.Nodes, o.Disks), MakeDisks: true, WithoutNetwork: i > 1, StopPatience: o.StopPatience, ScrubRate: o.ScrubRate, Memory: memory, Loop: u.loop, WithoutLoop: o.Manager.WithoutLoop, Bounds: o.Manager.Bounds, Metrics: o.Manager.Metrics, Hosts: o.Manager.Hosts,
			Executable: o.Executable, Tape: library, Version: o.Manager.Version, Commit: o.Manager.Commit, Log: o.Manager.Log,
		})
		if errors.Is(err, errs.Exists) && first != 0 {
			return nil, &errs.Error{Kind: errs.Exists, Op: "daemon.OpenUp", Subject: name, Cause: err,
				Remedy: fmt.Sprintf("this cluster takes the ports %d to %d: stop the other process, or choose another --port", first, first+o.Nodes)}
		}
		if err != nil {
			return nil, err
		}
		u.Nodes = append(u.Nodes, n)
	}
	if there, refused := u.Disks(); there == 0 && len(refused) > 0 {
		err = errs.New(errs.Invalid, "daemon.OpenUp", refused[0].Path, "no disk can be used: "+refused[0].Why).WithRemedy(refused[0].Remedy)
		return nil, err
	}
	return u, nil
}

// Change puts new options of the manager, and the rate of scrubs, into force.
func (u *Up) Change(l Live, scrubRate int64) {
	u.Manager.Change(l)
	for _, n := range u.Nodes {
		n.Change(NodeLive{Metrics: l.Metrics, Hosts: l.Hosts, ScrubRate: scrubRate})
	}
}

// Disks returns the number of disks of the nodes, including absent ones, and the paths that none of them can use.
func (u *Up) Disks() (there int, refused []hemera.UnusableDisk) {
	for _, n := range u.Nodes {
		s := n.Status()
		there += len(s.Disks)
		refused = append(refused, s.Stats.Unusable...)
	}
	return there, refused
}

// node returns a node of this process, or nil.
func (u *Up) node(id hemera.NodeID) hemera.Node {
	for _, n := range u.Nodes {
		if id != 0 && n.ID() == id {
			return n
		}
	}
	return nil
}

// disksOf returns node i's share of the disks; both count from 1. Disk d belongs to node d modulo the number of nodes, so
// a start with the same numbers gives every node its disks again.
func disksOf(dir string, i, nodes, disks int) (share []hemera.AttachDisk) {
	for d := i; d <= disks; d += nodes {
		share = append(share, hemera.AttachDisk{Path: filepath.Join(dir, fmt.Sprintf("disk%d", d))})
	}
	return share
}

// disksOfOthers returns the disks of all other nodes. After a start with another number of nodes a disk may belong to
// another node.
func disksOfOthers(dir string, i, nodes, disks int) (share []hemera.AttachDisk) {
	for other := 1; other <= nodes; other++ {
		if other != i {
			share = append(share, disksOf(dir, other, nodes, disks)...)
		}
	}
	return share
}

// Run serves until the context ends. It calls ready, if not nil, once every node has joined. It returns the error of the
// nodes or, if they ended without one, of the manager. A manager that fails ends the nodes.
func (u *Up) Run(ctx context.Context, ready func()) error {
	// Nodes end first, so that they can finish pending work while the manager still answers. The manager's context is not
	// a child of ctx, because it must outlive the nodes.
	managerCtx, stopManager := context.WithCancel(context.WithoutCancel(ctx))
	defer stopManager()
	var manager errgroup.Group
	ctx, stopNodes := context.WithCancel(ctx)
	defer stopNodes()
	nodes, nodesCtx := errgroup.WithContext(ctx)
	manager.Go(func() error {
		defer stopNodes()
		return u.Manager.Run(managerCtx)
	})
	u.start(nodesCtx, nodes)
	u.supplyTapes(nodesCtx, nodes)
	if ready != nil && nodesCtx.Err() == nil {
		ready()
	}
	err := nodes.Wait()
	stopManager()
	if managerErr := manager.Wait(); err == nil {
		err = managerErr
	}
	u.closeLoop()
	return err
}

// joinNotice is the time after which the log says that the start waits for a node to join. Joining takes some
// milliseconds.
const joinNotice = 5 * time.Second

// start runs the nodes, each after the one before has joined: so in a new cluster ids follow the order.
func (u *Up) start(ctx context.Context, nodes *errgroup.Group) {
	for i, n := range u.Nodes {
		nodes.Go(func() error { return n.Run(ctx) })
		late := time.AfterFunc(joinNotice, func() {
			why := n.Refusal()
			u.log.Warn("the start waits for a node that has not joined yet", "node", fmt.Sprintf("%d of %d", i+1, len(u.Nodes)), "addr", n.Addr, "error", why,
				"remedy", errs.RemedyOf(why))
		})
		select {
		case <-n.Joined():
		case <-ctx.Done():
		}
		late.Stop()
	}
}

// close releases everything that OpenUp acquired. It closes nodes first.
func (u *Up) close() {
	for _, n := range u.Nodes {
		n.close()
	}
	if u.Manager != nil {
		u.Manager.close()
	}
	u.closeLoop()
}

// closeLoop closes the event loop, after all connections. It does nothing without one.
func (u *Up) closeLoop() {
	if u.loop != nil {
		runWithin(closeTime, u.loop.Close)
	}
}

// splitPort splits host:port. A port that is a name, such as xrootd, is Invalid: the ports of nodes are counted from it.
func splitPort(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	return host, port, errs.As(err, errs.Invalid, "daemon.OpenUp", addr)
}

// hostOf returns the host of an address; an address without a port is returned as it is.
func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}
