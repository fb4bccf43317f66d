package cluster

import "hemera/words/hemera"

// Weigh sets how much of its usual part each node gets of new pieces and of readers; a node that is not named has no weight
// of its own. The next view shows it. Weights are not stored: after a start of the manager they are found out again.
func (c *Cluster) Weigh(weights map[hemera.NodeID]float64) {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	changed := false
	for id, n := range c.state.nodes {
		w := within(weights[id], 1)
		changed, n.weight = changed || n.weight != w, w
	}
	if changed {
		c.state.publishSoon()
	}
}
