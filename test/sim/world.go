package sim

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
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
	announced   announced                // writes under way, for the check of what the manager has of them
	stalled     stalled                  // commits that arrive hours late
	keeper      keeper                   // older copies of the manager's store
	lost        map[hemera.FileID]bool   // of the judge: files that too many lost drives had

	acknowledged atomic.Int64 // writes
	straining    atomic.Bool  // while clients work

	mu       sync.Mutex
	dice     *rand.Rand // choices of calls that no single actor makes; under mu
	failures []string   // at most failuresMax; under mu
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

// coin returns true once in n times. Goroutines share these dice, so which call hits depends on how they interleave.
func (w *world) coin(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.IntN(n) == 0
}

// clock returns the wall clock of a process, off by a skew.
// The skew is read at each call: it may change while the process lives.
func (w *world) clock(skew *atomic.Int64) func() time.Time {
	return func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
}

// machine returns the machine with an address.
func (w *world) machine(addr string) *machine {
	// Empty files may be read at the tape server, as at every node.
	for _, m := range w.hosts() {
		if m.addr == addr {
			return m
		}
	}
	return nil
}

// hosts returns all machines: those with drives, and that of the tape server.
// The rogue's is none of them: it has no process that is killed.
func (w *world) hosts() []*machine {
	if w.tapes == nil {
		return w.machines
	}
	return append(slices.Clone(w.machines), w.tapes)
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

// drive returns the drive of a disk. The machines joined one after the other, so that their numbers are those of the
// nodes.
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

// upTo returns a time below most.
// most must be positive.
func (w *world) upTo(most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.dice.Int64N(int64(most)))
}
