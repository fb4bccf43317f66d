package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"hemera/words/errs"
)

// group has the clients of one target, and the files that they have made there.
type group struct {
	at      place
	dir     string      // made by the group, below the target
	data    *content    // of all its files
	tree    tree        // the names that it has made
	clients []*client   // between join and leave
	over    atomic.Bool // reads end early; see Interference
}

// client is one client of a group. In a phase it belongs to its goroutine.
type client struct {
	*group
	id     int        // from 0 on
	target Target     // with connections of its own
	buffer []byte     // aligned, for one transfer, block or vector
	second []byte     // the same, for phases that write and read at once
	dice   *rand.Rand // gives the same places in each run
}

// newGroup makes the directory of a group. It fails with Exists if the directory exists.
func newGroup(ctx context.Context, at place, dir string, seed uint64) (*group, error) {
	g := &group{at: at, dir: dir, data: newContent(seed)}
	t, err := at.open(ctx)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := g.tree.mkdir(ctx, t, dir); err != nil {
		return nil, errs.Wrap(err, "load.Prepare", at.String())
	}
	return g, nil
}

// join opens the clients of the group, with two buffers of bufferSize bytes each. leave closes them.
func (g *group) join(ctx context.Context, n, bufferSize int) error {
	// After an error leave also closes the clients that joined.
	for id := range n {
		t, err := g.at.open(ctx)
		if err != nil {
			return err
		}
		c := &client{group: g, id: id, target: t, dice: rand.New(rand.NewPCG(uint64(id), uint64(n)))}
		g.clients = append(g.clients, c)
		c.buffer, c.second = aligned(bufferSize), aligned(bufferSize)
	}
	return nil
}

// leave closes the clients.
func (g *group) leave() {
	for _, c := range g.clients {
		_ = c.target.Close()
	}
	g.clients = nil
}

// aligned returns memory for direct I/O. Go begins every object of this size at a page.
func aligned(size int) []byte {
	const large = 64 << 10
	return make([]byte, max(size, large))[:size]
}

// targets returns the targets of the clients.
func (g *group) targets() (all []Target) {
	for _, c := range g.clients {
		all = append(all, c.target)
	}
	return all
}

// removeFiles removes the files made so far.
func (g *group) removeFiles(ctx context.Context) error {
	return g.tree.removeFiles(ctx, g.targets())
}

// remove removes everything that the group made, also when ctx has ended.
func (g *group) remove(ctx context.Context) error {
	// The clients may be in an interrupted phase, so these are new ones; more would not be faster.
	const atOnce = 4
	var targets []Target
	for range atOnce {
		t, err := g.at.open(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		defer t.Close()
		targets = append(targets, t)
	}
	return g.tree.removeAll(ctx, targets)
}

// reopen gives the clients new sessions, so that a client's memory of a file does not help its reads.
func (g *group) reopen(ctx context.Context) error {
	for _, c := range g.clients {
		t, err := g.at.open(ctx)
		if err != nil {
			return err
		}
		_ = c.target.Close()
		c.target = t
	}
	return nil
}

// each runs do for all clients of some groups concurrently, and returns one of the errors.
func each(groups []*group, do func(c *client) error) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, g := range groups {
		for _, c := range g.clients {
			all.Go(func() {
				if err := do(c); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = err
				}
			})
		}
	}
	all.Wait()
	return failed
}
