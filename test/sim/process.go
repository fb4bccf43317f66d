package sim

import (
	"context"
	"hemera/test/sim/simnet"
	"sync"
)

// process is one life of a manager or a node: calls into it are counted, and none begins once it is
// dead. What it still does after its death reaches nothing.
//
// Go cannot end goroutines. So every way in and out of a process checks whether it is dead: calls into it (enter, into),
// its calls to others (askAs, over), its drive (mount) and its store (session).
type process struct {
	ctx  context.Context // ends with its death
	kill context.CancelFunc
	done chan struct{} // closed when its goroutines have ended

	mu    sync.Mutex // guards dead, and orders it with the counting of calls
	dead  bool
	calls sync.WaitGroup // calls from other processes under way
}

// newProcess makes a live process.
func newProcess() *process {
	p := &process{done: make(chan struct{})}
	p.ctx, p.kill = context.WithCancel(context.Background())
	return p
}

// enter begins a call into the process; leave must follow unless it is refused.
// A call that entered may go on after the death; its answer is dropped.
func (p *process) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return false
	}
	p.calls.Add(1)
	return true
}

// leave ends a call that enter began.
// It never blocks.
func (p *process) leave() { p.calls.Done() }

// die marks the process dead: sleeping callers of it wake, and its own calls fail from now on.
// It does not wait for calls: see calls.Wait in the two kills.
func (p *process) die() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.kill()
}

// isDead reports whether the process was killed. Its goroutines may still run; their actions have no effect.
func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// into makes a call into the process, lost when it dies meanwhile.
// A call that died with the process may have taken effect.
func into[T any](ctx context.Context, p *process, do func(context.Context) (T, error)) (T, error) {
	var none T
	if p == nil || !p.enter() {
		return none, simnet.ErrLost
	}
	defer p.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	out, err := do(ctx)
	if p.isDead() {
		return none, simnet.ErrLost
	}
	return out, err
}
