package scale

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hemera/process/daemon"
	"hemera/words/hemera"
)

// nodes are the goroutines that send heartbeats.
type nodes struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// joinNodes registers three nodes that only send heartbeats, with two large disks each, so that the manager has
// something to place on.
func joinNodes(ctx context.Context, m *daemon.Manager) (*nodes, error) {
	ctx, cancel := context.WithCancel(ctx)
	all := &nodes{cancel: cancel}
	for i := range 3 { // six disks, as the loaded trees name them
		hello := hemera.NodeHello{ID: hemera.NodeID(i + 1), Addr: fmt.Sprintf("node%d:1095", i+1)}
		if view, err := m.Admin.View(ctx); err != nil || len(view.Nodes) <= i {
			hello.ID = 0 // the store is new, and the manager gives the id
		}
		for d := range 2 {
			hello.Disks = append(hello.Disks, hemera.NodeDisk{
				UUID: fmt.Sprintf("bench-%d-%d", i, d), Path: fmt.Sprintf("/disk%d", d),
				Health: hemera.HealthOK, DiskStats: hemera.DiskStats{Capacity: 1 << 50, Free: 1 << 49},
			})
		}
		welcome, err := m.Control.Register(ctx, hello)
		if err != nil {
			cancel()
			return nil, err
		}
		all.wg.Go(func() {
			tick := time.NewTicker(hemera.HeartbeatInterval)
			defer tick.Stop()
			// Errors do not matter: a lease that ends shows as failed creates.
			for {
				_, _ = m.Control.Heartbeat(ctx, welcome.ID, welcome.Epoch, hemera.NodeReport{Disks: hello.Disks})
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	return all, nil
}

// stop ends the nodes.
// It returns when no heartbeat is under way.
func (n *nodes) stop() {
	n.cancel()
	n.wg.Wait()
}
