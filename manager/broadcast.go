package manager

import (
	"context"
	"slices"
	"sync"
	"time"

	"hemera/maint/orders"
	"hemera/platform/contain"
	"hemera/words/hemera"
)

const (
	// usesLimit bounds the open files that each node lists, and usesPatience the time that it has for that. 1000 files
	// are more than an admin reads, and keep an answer of one node within some hundred kilobytes.
	usesLimit    = 1000
	usesPatience = 2 * time.Second
)

// broadcast gives one order to all nodes that are online.
type broadcast struct {
	view   func() *hemera.View
	orders *orders.Dispatcher
	panics *contain.Panics
}

// ask gives an order to every node that is online, and each answer to take, one after the other. It returns the nodes that have
// not answered within usesPatience.
func (b *broadcast) ask(ctx context.Context, order hemera.Order, take func(hemera.NodeInfo, hemera.OrderResult)) (silent []hemera.NodeID) {
	ctx, cancel := context.WithTimeout(ctx, usesPatience)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, n := range b.view().Nodes {
		if n.Status != hemera.NodeOnline {
			continue
		}
		// One goroutine for each node, all under the same deadline: a node that hangs costs its own answer only.
		b.panics.Go(&asked, "manager.Ask", n.Addr, func() {
			r, err := b.orders.Do(ctx, n.ID, order)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				// Its error is not the call's: the answer says whose files are missing.
				silent = append(silent, n.ID)
				return
			}
			take(n, r)
		})
	}
	asked.Wait()
	slices.Sort(silent)
	return silent
}
