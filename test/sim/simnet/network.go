// Package simnet is the network of a simulation: it delays, loses and doubles calls between hosts, from a seed.
package simnet

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"hemera/words/errs"
)

// Host is a machine on the simulated network.
// A host may have several processes in its life; the network does not tell them apart.
type Host string

// chance is a probability in thousandths.
type chance int

// Weather has the probabilities of faults in the network. The fields are probabilities of one call, which has one request
// and one answer.
type Weather struct {
	LostRequest, LostReply, Doubled, Slow chance
	// Delay bounds the time a message takes, SlowDelay that of a slow one, Late that of a double.
	Delay, SlowDelay, Late time.Duration
}

// Calm returns the weather without faults.
func Calm() Weather { return Weather{Delay: 2 * time.Millisecond, SlowDelay: time.Millisecond} }

// Network carries calls between hosts and decides what happens to each.
//
// Each pair of hosts and direction has its own dice, from the seed: what two hosts say decides nothing for others.
// A call is lost, delayed or doubled as a whole. There is no order between calls, even of one pair.
type Network struct {
	done context.Context // ends with the simulation
	late sync.WaitGroup  // doubles on their way

	mu      sync.Mutex             // guards everything below; never held while a call goes on
	rng     map[[2]Host]*rand.Rand // by caller and callee; made at the first call
	seed    uint64
	weather Weather
	cut     map[Host]bool    // hosts that reach nobody
	pairs   map[[2]Host]bool // pairs that do not reach each other, in either order of names
	deaf    map[[2]Host]bool // the first hears nothing from the second
}

// New makes a network that ends with done.
func New(done context.Context, seed uint64) *Network {
	return &Network{done: done, seed: seed, rng: map[[2]Host]*rand.Rand{}, weather: Calm(), cut: map[Host]bool{}, pairs: map[[2]Host]bool{}, deaf: map[[2]Host]bool{}}
}

// fate is the course of one call. Each field is decided in advance, also where it then does not matter, so that the dice
// stay in step.
type fate struct {
	before, after, again                      time.Duration // delays: of the request, of the answer, of the double
	unreachable, lostRequest, lostReply, twin bool          // unreachable and lostRequest: it never arrives; lostReply: it was done; twin: it is done twice
}

// fate decides what happens to one message.
func (n *Network) fate(from, to Host) fate {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := [2]Host{from, to}
	r := n.rng[key]
	if r == nil {
		h := n.seed
		for _, c := range []byte(from + ">" + to) {
			// FNV's prime, so that each direction has its own stream.
			h = h*1099511628211 + uint64(c)
		}
		r = rand.New(rand.NewPCG(n.seed, h))
		n.rng[key] = r
	}
	w := n.weather
	hit := func(c chance) bool { return r.IntN(1000) < int(c) }
	within := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }
	f := fate{before: within(w.Delay), after: within(w.Delay), again: within(w.Late)}
	if hit(w.Slow) {
		f.before += within(w.SlowDelay)
	}
	f.lostRequest, f.lostReply, f.twin = hit(w.LostRequest), hit(w.LostReply), hit(w.Doubled)
	// Deafness is a loss of every message in one direction.
	f.lostReply = f.lostReply || n.deaf[key]
	f.lostRequest = f.lostRequest || n.deaf[[2]Host{to, from}]
	f.unreachable = n.cut[from] || n.cut[to] || n.pairs[key] || n.pairs[[2]Host{to, from}]
	return f
}

// Set changes the weather, for calls that begin later.
func (n *Network) Set(w Weather) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.weather = w
}

// Isolate cuts a host off from all others, or connects it again.
// A call under way goes on: its fate was decided before.
func (n *Network) Isolate(h Host, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[h] = cut
}

// Separate cuts two hosts off from each other, or connects them again.
func (n *Network) Separate(a, b Host, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pairs[[2]Host{a, b}] = cut
}

// Deafen cuts messages in one direction: h no longer hears to.
func (n *Network) Deafen(h, to Host, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.deaf[[2]Host{h, to}] = on
}

// Connect ends all cuts.
func (n *Network) Connect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	clear(n.pairs)
	clear(n.deaf)
}

// ErrLost is a call whose request or answer was lost.
// It has the kind by which callers know that the outcome is open.
var ErrLost = errs.New(errs.Unavailable, "sim.Network", "", "the connection was lost")

// Lost reports whether the caller of a call that failed does not know what happened.
// Such a caller retries, or asks what became of it.
func Lost(err error) bool {
	return errs.Undecided(err)
}

// Rest sleeps unless the context ends first.
// A time of zero or less returns at once, without giving others a turn.
func Rest(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Send makes one call over the network. twice says whether the call may reach its goal again later,
// as a request does that was sent again because its answer was late.
// do runs in the caller's goroutine. A double runs in another, possibly after the caller has its answer.
func Send[T any](ctx context.Context, n *Network, from, to Host, twice bool, do func(context.Context) (T, error)) (T, error) {
	var none T
	f := n.fate(from, to)
	Rest(ctx, f.before)
	// The caller waits as long for nothing as it would for an answer.
	if f.unreachable || f.lostRequest {
		Rest(ctx, f.after)
		return none, ErrLost
	}
	if ctx.Err() != nil {
		return none, errs.Wrap(ctx.Err(), "sim.Network", string(to))
	}
	// From here on the callee has done the work, whatever the caller hears.
	out, err := do(ctx)
	if twice && f.twin {
		n.late.Go(func() {
			Rest(n.done, f.again)
			// Not after the end: the process it would reach is gone.
			if n.done.Err() == nil {
				_, _ = do(n.done)
			}
		})
	}
	Rest(ctx, f.after)
	// The error hides what do returned: that is the point.
	if f.lostReply {
		return none, ErrLost
	}
	return out, err
}

// Wait returns when all doubles on their way have arrived, or have ended with the simulation.
func (n *Network) Wait() { n.late.Wait() }
