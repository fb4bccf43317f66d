package sim

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"hemera/test/sim/register"
	"hemera/test/sim/simkv"
	"hemera/test/sim/simnet"
	"hemera/test/sim/simtrace"
	"hemera/transfer/transfertest"
)

// Report is the result of a simulation. A run without failures may still prove nothing: its caller also looks at
// Acknowledged.
type Report struct {
	Failures     []string // one sentence each, empty if all went well
	Trace        []string // for the message of a failure; at most traceMax lines
	Acknowledged int64    // writes that clients were told are durable
	Files        int      // at the end
	Taped        int64    // tape files with contents that were compared at the end; -1 without tape
}

// Run simulates one seed. It must be called inside a testing/synctest bubble, and returns when all
// of the simulation's goroutines have ended.
func Run(o Options) Report {
	w := &world{plan: newPlan(o), oracle: register.New(), device: simkv.New(), managerSkew: new(atomic.Int64), local: transfertest.NewLocalPeers()}
	w.trace = simtrace.New(time.Now())
	w.log = slog.New(w.trace.Handler())
	w.dice = w.plan.random("dice")
	ctx, cancel := context.WithCancel(context.Background())
	w.net = simnet.New(ctx, o.Seed)
	w.trace.Add("plan", "%+v", w.plan)
	if err := w.begin(ctx); err != nil {
		w.fail("the cluster does not start: %v", err)
	} else {
		w.load(ctx)
		judge{w}.settle(ctx)
	}
	// Before the manager dies: afterwards nothing can be listed.
	files := w.files(ctx)
	// Doubles of messages sleep until their time or the end, whichever is first.
	cancel()
	w.net.Wait()
	w.killManager()
	for _, m := range w.hosts() {
		m.kill(false, nil)
	}
	return Report{Failures: w.failures, Trace: w.trace.Lines(), Acknowledged: w.acknowledged.Load(), Files: files, Taped: w.taped}
}

// begin starts everything and waits until the cluster can take files.
func (w *world) begin(ctx context.Context) error {
	// The manager first: a node that joins needs it.
	if err := w.startManager(w.dice); err != nil {
		return err
	}
	for i := range w.plan.machines {
		m, err := newMachine(w, i, w.plan.drives)
		if err != nil {
			return err
		}
		w.machines = append(w.machines, m)
		if err := m.start(); err != nil {
			return err
		}
		// One after the other, so that node numbers follow the machines' (see drive).
		<-m.life.Load().node.Joined()
	}
	h := w.head.Load()
	// With the command's own keys and words, so that the parsing is tested too.
	if err := h.Admin.SetSpace(ctx, "default", "policy.nstripes", strconv.Itoa(w.plan.replicas)); err != nil {
		return err
	}
	if err := h.Admin.SetSpace(ctx, "default", "policy.minpieces", w.plan.minPieces); err != nil {
		return err
	}
	if w.plan.uneven {
		for _, s := range [][2]string{{"balancer.threshold", "1"}, {"balancer.rate", "1G"}} {
			if err := h.Admin.SetSpace(ctx, "default", s[0], s[1]); err != nil {
				return err
			}
		}
	}
	if err := h.Admin.SetSpace(ctx, "default", "policy.blocksize", "64k"); err != nil { // several rows in files of some 100 KiB
		return err
	}
	if err := addTapes(ctx, w); err != nil {
		return err
	}
	for i := range w.plan.clients {
		c := newClient(w, i)
		w.clients = append(w.clients, c)
		if err := c.setUp(ctx); err != nil {
			return err
		}
	}
	if w.plan.rogue {
		var err error
		if w.rogue, err = newRogue(ctx, w); err != nil {
			return err
		}
	}
	// Nodes report their disks within that time, and placement knows the space.
	simnet.Rest(ctx, 2*time.Second)
	return nil
}

// load has the clients work while the nemesis does.
// It returns when all of them have ended and every fault is over, with the cluster running.
func (w *world) load(ctx context.Context) {
	w.net.Set(w.plan.weather)
	working, cancel := context.WithTimeout(ctx, w.plan.load)
	defer cancel()
	w.straining.Store(true)
	defer w.straining.Store(false)
	var clients sync.WaitGroup
	for _, c := range w.clients {
		clients.Go(func() { c.run(working) })
	}
	if w.rogue != nil {
		clients.Go(func() { w.rogue.run(working) })
	}
	if w.plan.stale {
		w.copyStore()
	}
	// The nemesis runs in this goroutine: faults end before the clients' last operations do.
	n := &nemesis{w: w, rng: w.plan.random("nemesis")}
	n.run(working)
	n.heal(ctx)
	clients.Wait()
}
