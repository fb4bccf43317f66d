package storm

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"hemera/test/fixture/rig"
)

// nemesis makes things go wrong, several at a time.
type nemesis struct {
	c     *cluster
	rng   *rand.Rand
	done  map[string]int // faults, by kind
	hit   classes
	under sync.WaitGroup // faults that have not ended

	mu   sync.Mutex
	busy map[int]bool // servers that a fault is about
}

// busyMax bounds the servers that suffer at a time. With more nothing could be written at all.
const busyMax = 3

// run lets it storm until the context ends, and returns when all is as it was: but for what was damaged.
func (n *nemesis) run(ctx context.Context, damage *damager) {
	for ctx.Err() == nil {
		wait(ctx, n.between(100*time.Millisecond, 900*time.Millisecond))
		if n.rng.IntN(2) == 0 {
			damage.strike(n.hit)
			n.done["damage"]++
			continue
		}
		host := 1 + n.rng.IntN(nodes)
		if n.rng.IntN(12) == 0 {
			host = 0
		}
		if !n.acquire(host) {
			continue
		}
		what, fault := n.choose(host)
		n.done[what]++
		n.under.Go(func() { fault(ctx); n.release(host) })
	}
	n.under.Wait()
}

// choose returns a fault of a server, which blocks until it is over.
func (n *nemesis) choose(host int) (string, func(ctx context.Context)) {
	s, long := n.c.Servers()[host], n.between(time.Second, 12*time.Second)
	if host == 0 { // clients cannot do anything without the manager, so it is away for a short while
		return "manager killed", func(ctx context.Context) { s.Kill(); wait(ctx, long/4); s.Start() }
	}
	switch n.rng.IntN(5) {
	case 0:
		return "hung", func(ctx context.Context) { s.Freeze(); wait(ctx, long); s.Thaw() }
	case 1:
		return "slow", func(ctx context.Context) { n.slow(ctx, s, long) }
	case 2:
		return "full", func(ctx context.Context) { n.fill(ctx, host-1, long) }
	case 3:
		stop := n.c.lan.LoseSent(host, 0.05) // by the test's goroutine, as it may skip the test
		return "losing packets", func(ctx context.Context) { wait(ctx, long); stop() }
	}
	return "killed", func(ctx context.Context) { s.Kill(); wait(ctx, long); s.Start() }
}

// slow lets a process run a tenth of the time.
func (n *nemesis) slow(ctx context.Context, s *rig.Server, long time.Duration) {
	for end := time.Now().Add(long); time.Now().Before(end) && ctx.Err() == nil; {
		s.Freeze()
		wait(ctx, 90*time.Millisecond)
		s.Thaw()
		wait(ctx, 10*time.Millisecond)
	}
}

// fill takes all room of a disk's filesystem.
func (n *nemesis) fill(ctx context.Context, disk int, long time.Duration) {
	name := filepath.Join(n.c.disk(disk), "filler")
	f, err := os.Create(name)
	if err != nil {
		return // full already
	}
	defer os.Remove(name)
	defer f.Close()
	for block := make([]byte, 1<<20); !errors.Is(err, syscall.ENOSPC); {
		_, err = f.Write(block)
	}
	wait(ctx, long)
}

// acquire reports whether a server may suffer.
func (n *nemesis) acquire(host int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy[host] || len(n.busy) >= busyMax {
		return false
	}
	n.busy[host] = true
	return true
}

func (n *nemesis) release(host int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.busy, host)
}

// between returns a random time.
func (n *nemesis) between(least, most time.Duration) time.Duration {
	return least + time.Duration(n.rng.Int64N(int64(most-least)))
}

// wait returns after a time, or when the storm is over.
func wait(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}
