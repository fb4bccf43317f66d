package sim

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"hemera/errs"
)

// host is a machine on the simulated network.
type host string

// chance is a probability in thousandths.
type chance int

// weather is how bad the network is.
type weather struct {
	lostRequest, lostReply, doubled, slow chance
	// delay bounds the time a message takes, slowDelay that of a slow one, late that of a double.
	delay, slowDelay, late time.Duration
}

// calm is the weather without faults.
func calm() weather { return weather{delay: 2 * time.Millisecond, slowDelay: time.Millisecond} }

// network carries calls between hosts and decides what happens to each.
type network struct {
	done context.Context // ends with the simulation
	late sync.WaitGroup  // doubles on their way

	mu      sync.Mutex
	rng     map[[2]host]*rand.Rand
	seed    uint64
	weather weather
	cut     map[host]bool // hosts that reach nobody
	pairs   map[[2]host]bool
	deaf    map[[2]host]bool // the first hears nothing from the second
}

// newNetwork makes a network that ends with done.
func newNetwork(done context.Context, seed uint64) *network {
	return &network{done: done, seed: seed, rng: map[[2]host]*rand.Rand{}, weather: calm(), cut: map[host]bool{}, pairs: map[[2]host]bool{}, deaf: map[[2]host]bool{}}
}

// fate is what happens to one call.
type fate struct {
	before, after, again                      time.Duration
	unreachable, lostRequest, lostReply, twin bool
}

// fate decides what happens to one message.
func (n *network) fate(from, to host) fate {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := [2]host{from, to}
	r := n.rng[key]
	if r == nil {
		h := n.seed
		for _, c := range []byte(from + ">" + to) {
			h = h*1099511628211 + uint64(c)
		}
		r = rand.New(rand.NewPCG(n.seed, h))
		n.rng[key] = r
	}
	w := n.weather
	hit := func(c chance) bool { return r.IntN(1000) < int(c) }
	within := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }
	f := fate{before: within(w.delay), after: within(w.delay), again: within(w.late)}
	if hit(w.slow) {
		f.before += within(w.slowDelay)
	}
	f.lostRequest, f.lostReply, f.twin = hit(w.lostRequest), hit(w.lostReply), hit(w.doubled)
	f.lostReply = f.lostReply || n.deaf[key]
	f.lostRequest = f.lostRequest || n.deaf[[2]host{to, from}]
	f.unreachable = n.cut[from] || n.cut[to] || n.pairs[key] || n.pairs[[2]host{to, from}]
	return f
}

// set changes the weather; connect ends every partition.
func (n *network) set(w weather) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.weather = w
}

// isolate cuts a host off from all others, or connects it again.
func (n *network) isolate(h host, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[h] = cut
}

// separate cuts two hosts off from each other, or connects them again.
func (n *network) separate(a, b host, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pairs[[2]host{a, b}] = cut
}

// deafen cuts messages in one direction: h no longer hears to.
func (n *network) deafen(h, to host, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.deaf[[2]host{h, to}] = on
}

// connect ends all cuts.
func (n *network) connect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	clear(n.pairs)
	clear(n.deaf)
}

// errLost is a call whose request or answer was lost.
var errLost = errs.New(errs.Unavailable, "sim.Network", "", "the connection was lost")

// lost reports whether the caller of a call that failed does not know what happened.
func lost(err error) bool {
	return errs.Undecided(err)
}

// rest sleeps unless the context ends first.
func rest(ctx context.Context, d time.Duration) {
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

// send makes one call over the network. twice says whether the call may reach its goal again later,
// as a request does that was sent again because its answer was late.
func send[T any](ctx context.Context, n *network, from, to host, twice bool, do func(context.Context) (T, error)) (T, error) {
	var none T
	f := n.fate(from, to)
	rest(ctx, f.before)
	if f.unreachable || f.lostRequest {
		rest(ctx, f.after)
		return none, errLost
	}
	if ctx.Err() != nil {
		return none, errs.Wrap(ctx.Err(), "sim.Network", string(to))
	}
	out, err := do(ctx)
	if twice && f.twin {
		n.late.Go(func() {
			rest(n.done, f.again)
			if n.done.Err() == nil {
				_, _ = do(n.done)
			}
		})
	}
	rest(ctx, f.after)
	if f.lostReply {
		return none, errLost
	}
	return out, err
}
