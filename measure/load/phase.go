package load

import (
	"context"
	"sync"
	"time"

	"hemera/words/errs"
)

// phase is what all clients do at the same time.
type phase struct {
	name string // the label load
	cold bool   // it reads: the page cache is dropped before
	// peak says whether the rate of bytes is limited by the theoretical peak, and write of which direction.
	peak, write bool
	// entries says that it moves no bytes: entries of the namespace are what it works on.
	entries bool
	// do is what one client does. It counts into n.
	do func(ctx context.Context, c *client, n *count) error
}

// outcome is what the clients of one group reached in a phase.
type outcome struct {
	count
	took time.Duration // from the start of all clients to the end of the group's last
}

// cost is the processor time of a phase, of all groups.
type cost struct {
	clients time.Duration // this process, and drivers that ended
	servers time.Duration // those whose PIDs are known
}

// runPhase runs a phase with all clients of the groups. A client that fails ends the phase for all.
func runPhase(ctx context.Context, groups []*group, p phase, pids []int) ([]outcome, cost, error) {
	// One client that fails ends the others, which would work for nothing.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	outcomes := make([]outcome, len(groups))
	place := map[*group]int{}
	for i, g := range groups {
		place[g] = i
	}
	// The clocks of processors are read outside of the time that is measured.
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
