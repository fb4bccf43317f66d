package netwatch

import (
	"log/slog"
	"maps"
	"sync"
	"time"

	"hemera/rules/netjudge"
	"hemera/words/hemera"
)

// Watch has the last counts of the nodes, and the judgement on them. The zero value is not usable: see [New].
type Watch struct {
	log *slog.Logger

	mu       sync.Mutex                         // guards what follows
	arrivals map[hemera.NodeID]arrival          // the newest sample of each node
	taken    map[hemera.NodeID]time.Time        // by the first node of a host: when its report was last judged
	state    netjudge.State                     // never changed in place
	verdicts map[hemera.NodeID]netjudge.Verdict // by the first node of a host; replaced as a whole
	judged   time.Time                          // zero: never
}

// arrival is a sample and when it came.
type arrival struct {
	sample *hemera.NetworkSample // never changed
	at     time.Time             // by the manager's clock
	fresh  bool                  // it is still to be judged
}

// New makes a watch of a cluster whose nodes are all unknown.
func New(log *slog.Logger) *Watch {
	return &Watch{log: log, arrivals: map[hemera.NodeID]arrival{}, taken: map[hemera.NodeID]time.Time{}}
}

// Take takes a sample of a node, if there is one. The caller has checked who sent it, and does not change it any more.
func (w *Watch) Take(node hemera.NodeID, sample *hemera.NetworkSample, now time.Time) {
	if sample == nil {
		return
	}
	// A copy within bounds: what was decoded from a message may be as large as messages are.
	kept := bounded(*sample)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrivals[node] = arrival{&kept, now, true}
}

// Step judges what came since the last step, and returns the weights of the nodes that get less than their usual part. It is to be
// called every [hemera.NetworkInterval], by one goroutine.
func (w *Watch) Step(v *hemera.View, now time.Time) map[hemera.NodeID]float64 {
	// First the memory, then the judge without the lock: heartbeats go on meanwhile. What they bring belongs to the next step.
	w.mu.Lock()
	maps.DeleteFunc(w.arrivals, func(id hemera.NodeID, _ arrival) bool { _, there := v.Node(id); return !there })
	arrivals, taken, state, before := maps.Clone(w.arrivals), maps.Clone(w.taken), w.state, w.verdicts
	for id, a := range w.arrivals {
		a.fresh = false
		w.arrivals[id] = a
	}
	w.mu.Unlock()

	// Hosts are found again at each step: nodes come, go, and get other addresses.
	h := newHosts(v, arrivals)
	matrix := h.matrix(v, arrivals, taken, now)
	state, list := netjudge.Step(state, matrix, now)
	verdicts, weights := map[hemera.NodeID]netjudge.Verdict{}, map[hemera.NodeID]float64{}
	for _, verdict := range list {
		verdicts[verdict.Node] = verdict
	}
	// A verdict is of a host, a weight of each of its nodes. Absent nodes have verdicts too, and no weight.
	for _, n := range v.Nodes {
		if verdict := verdicts[h.first[n.ID]]; verdict.Standing == netjudge.Suspected {
			weights[n.ID] = verdict.Weight
		}
	}
	w.tell(v, before, verdicts)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, w.verdicts, w.judged = state, verdicts, now
	// Only the hosts of now: one that comes back later begins with a new report.
	w.taken = map[hemera.NodeID]time.Time{}
	for _, n := range matrix.Nodes {
		w.taken[n.ID] = n.Taken
	}
	return weights
}

// tell logs which nodes became suspected, and which are not any more.
func (w *Watch) tell(v *hemera.View, before, now map[hemera.NodeID]netjudge.Verdict) {
	for id, verdict := range now {
		was := before[id].Standing
		switch {
		case was != netjudge.Suspected && verdict.Standing == netjudge.Suspected:
			w.log.Warn("the network of a node is suspected", "node", id, "addr", nameOf(v, id), "where", netjudge.Where(verdict),
				"weight", verdict.Weight, "remedy", netjudge.Remedy(verdict))
		case was == netjudge.Suspected && verdict.Standing != netjudge.Suspected:
			w.log.Info("the network of a node is not suspected any more", "node", id, "addr", nameOf(v, id), "standing", verdict.Standing.String())
		}
	}
}

// nameOf returns the address of a node, or its id if the view does not have it.
func nameOf(v *hemera.View, id hemera.NodeID) string {
	if n, ok := v.Node(id); ok && n.Addr != "" {
		return n.Addr
	}
	return "node " + id.String()
}
