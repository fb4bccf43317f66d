package ns

import (
	"context"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/nsbench"
	"hemera/words/hemera"
)

// nodeSessionsMax bounds the sessions with each storage node, which all threads share. With the manager each thread has
// one. A session for each thread at each node would measure the nodes' memory.
const nodeSessionsMax = 64

// wireOptions has the flags of a run through the door.
type wireOptions struct {
	on, full bool // --wire, --full
	depth    int  // requests in flight in a session
	locks    bool // writing ends at the manager and leaves a lock, which is freed later
}

// locksMax bounds the files for which writing may end at the manager, which keeps a lock for each. Beyond it every write
// continues at the node, whose close frees the lock.
const locksMax = 500_000

// throughDoor runs the phases with clients of this process, one session for each thread. It needs the rights of a user
// who may write below the prefix, not those of an admin.
func throughDoor(ctx context.Context, e *cli.Env, m *admin.Client, t *benchmarkTeller) error {
	shape, err := nsbench.ShapeOf(t.request)
	if err != nil {
		return err
	}
	u, err := e.DataURL()
	if err != nil {
		return err
	}
	shape.Depth = t.wire.depth
	t.wire.locks = !t.wire.full && shape.Threads*shape.Subdirs*shape.Files <= locksMax
	defer whenInterrupted(ctx, e, t)()
	if v, err := m.Cluster.View(ctx); err == nil { // without an admin's rights the setup is left out
		t.setup = *nsbench.Setup(v)
	}
	nodes := xrootd.New(xrootd.Options{App: "ns-benchmark", Sessions: min(shape.Threads, nodeSessionsMax), PoolMax: 1024 * nodeSessionsMax})
	defer nodes.Close() // after the run: targets use it
	// Each request makes its own trace id.
	ctx = hemera.WithTrace(ctx, "") // one id for all would say nothing
	return nsbench.Run(ctx, nsbench.Options{
		Shape: shape, Visit: t.update, Keep: t.request.Keep, Series: t.request.Series,
		Open: func(ctx context.Context, _ int) (nsbench.Target, error) {
			w := &wireTarget{xrootd.New(xrootd.Options{App: "ns-benchmark", InFlight: shape.Depth + 2}), nodes, u.Endpoint, t.wire}
			return w, w.manager.Ping(ctx, u.Endpoint)
		},
	})
}

// wireTarget is one thread: a client with one session with the manager, and the nodes' client that all threads share.
type wireTarget struct {
	manager, nodes *xrootd.Client
	at             xrootd.Endpoint
	options        wireOptions // the same for all threads
}

// url returns the URL of a path at the manager.
func (w *wireTarget) url(path string) xrootd.URL { return xrootd.URL{Endpoint: w.at, Path: path} }

// Mkdir implements nsbench.Target. Parents exist: the run makes them first.
func (w *wireTarget) Mkdir(ctx context.Context, path string) error {
	return w.manager.Mkdir(ctx, w.url(path), 0o755, false)
}

// Create implements nsbench.Target: an open at the manager, one at the node of the redirect, and a close there, which
// commits.
func (w *wireTarget) Create(ctx context.Context, path string) error {
	return w.open(ctx, path, xrootd.OpenOptions{Write: true, Create: true, Exclusive: true, Mode: 0o644}, true)
}

// Read implements nsbench.Target: an open at the manager, which answers with the node.
func (w *wireTarget) Read(ctx context.Context, path string) error {
	return w.open(ctx, path, xrootd.OpenOptions{}, w.options.full)
}

// Write implements nsbench.Target. It works like Read, but the manager also chooses disks and takes the lock.
func (w *wireTarget) Write(ctx context.Context, path string) error {
	return w.open(ctx, path, xrootd.OpenOptions{Write: true}, !w.options.locks)
}

// Release implements nsbench.Releaser. The same client may open the file in spite of its own lock; the close at the node,
// of an update without changes, frees it.
func (w *wireTarget) Release(ctx context.Context, path string) error {
	if !w.options.locks {
		return nil
	}
	return w.open(ctx, path, xrootd.OpenOptions{Write: true}, true)
}

// open asks the manager where to open a file and, if follow is set, opens and closes it at that node. It counts as one
// operation.
func (w *wireTarget) open(ctx context.Context, path string, o xrootd.OpenOptions, follow bool) error {
	to, err := w.manager.Where(ctx, w.url(path), o)
	if err != nil || !follow {
		return err
	}
	f, err := w.nodes.Open(ctx, to, o)
	if err != nil {
		return err
	}
	return f.Close(ctx)
}

// Remove implements nsbench.Target.
func (w *wireTarget) Remove(ctx context.Context, path string) error {
	return w.manager.Remove(ctx, w.url(path))
}

// Rmdir implements nsbench.Target.
func (w *wireTarget) Rmdir(ctx context.Context, path string) error {
	return w.manager.Rmdir(ctx, w.url(path))
}

// Close ends the thread's session.
func (w *wireTarget) Close() error { return w.manager.Close() }
