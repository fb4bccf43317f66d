package cluster

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"hemera/words/hemera"
)

const (
	// bigCluster is the number of disks that make a view costly (a microsecond each), and viewPause the least time
	// between two such views for reports of nodes.
	bigCluster = 1000
	viewPause  = 100 * time.Millisecond
)

// viewer makes views of what the records say and nodes report. All but views and grace is guarded by the journal's mu.
type viewer struct {
	roster  *roster
	surveys *surveyTable
	now     func() time.Time
	grace   atomic.Int64 // of repairs, in nanoseconds; shown in views
	views   hemera.Views

	version uint64    // of the view
	shown   time.Time // when the view was made
	dirty   bool      // reports came that no view shows yet
}

// publishSoon makes a new view now, or has the next Tick do it when a big cluster's nodes say much at
// once: a thousand nodes that register together are to cost a few views. mu is held.
func (c *viewer) publishSoon() {
	if len(c.roster.disks.all) > bigCluster && c.now().Sub(c.shown) < viewPause {
		c.dirty = true
		return
	}
	c.publish()
}

// publish makes a new view of the state and swaps it in. mu is held.
func (c *viewer) publish() {
	c.dirty, c.shown = false, c.now()
	c.version++
	// Everything is sorted by id or name: readers search by halves.
	v := &hemera.View{
		Version: c.version, Grace: time.Duration(c.grace.Load()),
		Nodes: make([]hemera.NodeInfo, 0, len(c.roster.nodes.all)), Disks: make([]hemera.Disk, 0, len(c.roster.disks.all)),
	}
	for _, id := range slices.Sorted(maps.Keys(c.roster.nodes.all)) {
		// An id that was reserved and never registered is no node yet.
		if n := c.roster.nodes.all[id]; n.Epoch > 0 || n.Waiting && n.Addr != "" {
			v.Nodes = append(v.Nodes, n.info())
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.roster.disks.all)) {
		d := c.roster.disks.all[id]
		if d.Removed { // shown apart, for files that still name it
			// Placement and reads never meet it: it is not in Disks.
			v.Removed = append(v.Removed, d.removed())
			continue
		}
		info := d.info(c.roster.nodes.all[d.Node])
		info.LastAudit, info.LastScrub = c.surveys.disks[id].LastAudit, c.surveys.disks[id].LastScrub
		if c.surveys.disks[id].Older && info.Health != hemera.HealthGone && info.Health != hemera.HealthFailing {
			info.Health, info.Why = hemera.HealthOlder, "an older copy of the disk came back, which may lack pieces"
		}
		v.Disks = append(v.Disks, info)
	}
	for _, name := range slices.Sorted(maps.Keys(c.roster.spaces)) {
		v.Spaces = append(v.Spaces, c.roster.spaces[name].info())
	}
	c.views.Publish(v)
}
