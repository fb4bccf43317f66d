package sim

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"hemera/test/sim/register"
	"hemera/test/sim/simkv"
	"hemera/test/sim/simnet"
	"hemera/test/sim/simtape"
	"hemera/test/sim/simtrace"
	"hemera/transfer/transfertest"
	"hemera/words/hemera"
)

// world is one simulation.
// Fields without a lock are set before the load begins and only read by the actors. Exceptions say so.
type world struct {
	plan   plan         // drawn from the seed; constant
	log    *slog.Logger // of all servers; writes into the trace
	trace  *simtrace.Trace
	oracle *register.Oracle // what clients may see
	net    *simnet.Network  // between clients, manager and nodes

	device      *simkv.Device            // under the manager's store; outlives every manager
	head        atomic.Pointer[head]     // the manager's present life; nil while there is none
	managerSkew *atomic.Int64            // nanoseconds, of the manager's clock
	machines    []*machine               // in the order of their node ids; appended to before the load only
	local       *transfertest.LocalPeers // by address, the nodes that live
	clients     []*client                // one goroutine each
	rogue       *rogue                   // nil in most simulations
	tapes       *machine                 // the tape server's; nil in most simulations
	taped       int64                    // of the judge: see Report
	ledger      *simtape.Ledger          // of requests to stage; nil without tape
	overheard   overheard                // grants the rogue may misuse
	stalled     stalled                  // commits that arrive hours late
	keeper      keeper                   // older copies of the manager's store
	lost        map[hemera.FileID]bool   // of the judge: files that too many lost drives had

	acknowledged atomic.Int64 // writes
	straining    atomic.Bool  // while clients work

	mu       sync.Mutex
	dice     *rand.Rand // choices of calls that no single actor makes; under mu
	failures []string   // at most failuresMax; under mu
}

// Report is how a simulation went.
// A run without failures may still prove nothing: its caller also looks at Acknowledged.
type Report struct {
	Failures     []string // one sentence each, empty if all went well
	Trace        []string // for the message of a failure; at most traceMax lines
	Acknowledged int64    // writes that clients were told are durable
	Files        int      // at the end
	Taped        int64    // tape files with contents that were compared at the end; -1 without tape
}

// failuresMax bounds the failures spelled out.
const failuresMax = 20

// fail reports a violation once, with the trace.
// The trace has every failure; the list is cut, because one broken rule often shows at hundreds of paths.
func (w *world) fail(format string, args ...any) {
	w.trace.Add("FAIL", format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.failures) < failuresMax {
		w.failures = append(w.failures, fmt.Sprintf(format, args...))
	}
}

// failed reports whether there is a failure.
// One is enough: what is found after it may follow from it.
func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.failures) > 0
}

// coin is true once in n times.
// Goroutines share these dice, so which call hits depends on how they interleave.
func (w *world) coin(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.IntN(n) == 0
}

// clock is the wall clock of a process, off by a skew.
// The skew is read at each call: it may change while the process lives.
func (w *world) clock(skew *atomic.Int64) func() time.Time {
	return func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
}

// machine is the machine with an address.
func (w *world) machine(addr string) *machine {
	// Empty files may be read at the tape server, as at every node.
	for _, m := range w.hosts() {
		if m.addr == addr {
			return m
		}
	}
	return nil
}

// hosts are all machines: those with drives, and that of the tape server.
// The rogue's is none of them: it has no process that is killed.
func (w *world) hosts() []*machine {
	if w.tapes == nil {
		return w.machines
	}
	return append(slices.Clone(w.machines), w.tapes)
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

// files counts the files that are there.
func (w *world) files(ctx context.Context) int {
	_, count, _ := w.tree(ctx)
	return count
}

// tree lists every file by path.
// It lists with the rights of the system, past the network. While clients work, the picture is not of one instant.
func (w *world) tree(ctx context.Context) (files map[string]hemera.Entry, count int, err error) {
	h := w.head.Load()
	files = map[string]hemera.Entry{}
	if h == nil {
		return files, 0, simnet.ErrLost
	}
	var walk func(string) error
	walk = func(dir string) error {
		var below []string
		err := h.Names.List(ctx, hemera.SystemIdentity(), cmp.Or(dir, "/"), func(e hemera.Entry) error {
			if e.IsDir() {
				below = append(below, dir+"/"+e.Name)
			} else {
				files[dir+"/"+e.Name] = e
			}
			return nil
		})
		for _, d := range below {
			if err == nil {
				err = walk(d)
			}
		}
		return err
	}
	err = walk("")
	// The error is that of the first directory that could not be listed.
	return files, len(files), err
}

// drive is what a disk is on. The machines joined one after the other, so that their numbers are
// those of the nodes.
func (w *world) drive(d hemera.Disk) *drive {
	return w.machines[d.Node-1].drive(d.Path)
}

// victim reports whether the drive is one that may lose data.
// All other drives keep what they acknowledged, whatever happens to their machine.
func (w *world) victim(d *drive) bool {
	return w.plan.cruel && slices.ContainsFunc(w.plan.victims, func(at [2]int) bool { return d == w.machines[at[0]].drives[at[1]] })
}

// eachDrive does something with all drives.
// Those that are gone are among them: faults do them no harm.
func (w *world) eachDrive(do func(d *drive)) {
	for _, m := range w.machines {
		for _, d := range m.drives {
			do(d)
		}
	}
}
