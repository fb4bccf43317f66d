package load

import (
	"context"
	"sync"
	"time"

	"hemera/words/errs"
)

// phase is work that all clients do at the same time.
type phase struct {
	name string // the label load
	cold bool   // it reads: the page cache is dropped before
	// peak states that the theoretical peak bounds the byte rate, and write in which direction.
	peak, write bool
	// entries states that it transfers no bytes, but uses entries of the namespace.
	entries bool
	// do is the work of one client. It counts into n.
	do func(ctx context.Context, c *client, n *count) error
}

// outcome has the results of the clients of one group in a phase.
type outcome struct {
	count
	took time.Duration // from the start of all clients to the end of the group's last
}

// cost is the processor time of a phase, of all groups.
type cost struct {
	clients time.Duration // this process, and drivers that have ended
	servers time.Duration // those with known PIDs
}

// runPhase runs a phase with all clients of the groups. A client that fails ends the phase for all.
func runPhase(ctx context.Context, groups []*group, p phase, pids []int) ([]outcome, cost, error) {
	// A client that fails ends the others, whose work would be useless.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	outcomes := make([]outcome, len(groups))
	place := map[*group]int{}
	for i, g := range groups {
		place[g] = i
	}
	// Processor times are read outside of the measured time.
	before, err := serverCPU(pids)
	if err != nil {
		return nil, cost{}, err
	}
	own := clientCPU()
	start := time.Now()
	var mu sync.Mutex
	err = each(groups, func(c *client) error {
		var n count
		if err := p.do(ctx, c, &n); err != nil {
			cancel(err) // the first one is the cause of the others
			return err
		}
		// The phase of a group ends with its last client.
		took := time.Since(start)
		mu.Lock()
		defer mu.Unlock()
		o := &outcomes[place[c.group]]
		o.merge(&n)
		o.took = max(o.took, took)
		return nil
	})
	if err != nil {
		return nil, cost{}, errs.Wrap(context.Cause(ctx), "load.Run", p.name)
	}
	spent := cost{clients: clientCPU() - own}
	after, err := serverCPU(pids)
	spent.servers = after - before
	return outcomes, spent, err
}
