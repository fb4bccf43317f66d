package maint

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// watcher ends the orders of nodes that are offline or were removed: their callers decide again.
type watcher struct{ base *base }

func (w *watcher) Name() string { return "watch" }

// Step ends the orders of nodes that are not online. A node that comes back registers and gets new ones.
func (w *watcher) Step(context.Context) (time.Duration, error) {
	view := w.base.Cluster.View() // one picture for all nodes
	for _, id := range w.base.Orders.Busy() {
		if n, ok := view.Node(id); !ok || n.Status != hemera.NodeOnline {
			w.base.Orders.Fail(id)
		}
	}
	return time.Second, nil
}
