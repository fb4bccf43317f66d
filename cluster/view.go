package cluster

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"hemera/words/hemera"
)

const (
	// bigCluster is how many disks make a view costly (a microsecond each), and viewPause how often
	// such a one is made at most for what nodes say.
	bigCluster = 1000
	viewPause  = 100 * time.Millisecond
)

// publishSoon makes a new view now, or has the next Tick do it when a big cluster's nodes say much at
// once: a thousand nodes that register together are to cost a few views. c.mu is held.
func (c *state) publishSoon() {
	if len(c.disks) > bigCluster && c.now().Sub(c.shown) < viewPause {
		c.dirty = true
		return
	}
	c.publish()
}

// publish makes a new view of the state and swaps it in. c.mu is held.
func (c *state) publish() {
	c.dirty, c.shown = false, c.now()
	c.version++
	// Everything is sorted by id or name: readers search by halves.
	v := &hemera.View{
		Version: c.version, Grace: time.Duration(c.grace.Load()),
		Nodes: make([]hemera.NodeInfo, 0, len(c.nodes)), Disks: make([]hemera.Disk, 0, len(c.disks)),
	}
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		// An id that was reserved and never registered is no node yet.
		if n := c.nodes[id]; n.Epoch > 0 || n.Waiting && n.Addr != "" {
			v.Nodes = append(v.Nodes, n.info())
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.disks)) {
		d := c.disks[id]
		if d.Removed { // shown apart, for files that still name it
			// Placement and reads never meet it: it is not in Disks.
			v.Removed = append(v.Removed, d.removed())
			continue
		}
		info := d.info(c.nodes[d.Node])
		info.LastAudit, info.LastScrub = c.surveys[id].LastAudit, c.surveys[id].LastScrub
		if c.surveys[id].Older && info.Health != hemera.HealthGone && info.Health != hemera.HealthFailing {
			info.Health, info.Why = hemera.HealthOlder, "an older copy of the disk came back, which may lack pieces"
		}
		v.Disks = append(v.Disks, info)
	}
	for _, name := range slices.Sorted(maps.Keys(c.spaces)) {
		v.Spaces = append(v.Spaces, c.spaces[name].info())
	}
	c.views.Publish(v)
}

// removed is the disk as views show it after its removal.
func (r diskRecord) removed() hemera.RemovedDisk {
	out := hemera.RemovedDisk{ID: r.ID, UUID: r.UUID, Node: r.Node, Addr: r.RemovedAddr, Path: r.Path, Space: r.Space}
	if r.RemovedAt > 0 {
		out.Removed = time.Unix(r.RemovedAt, 0)
	}
	return out
}

// info is the node as views show it.
func (n *node) info() hemera.NodeInfo {
	info := hemera.NodeInfo{
		ID: n.ID, Addr: n.Addr, Zone: n.zone(), Status: hemera.NodeOffline, Enabled: !n.Disabled,
		Epoch: n.Epoch, Version: n.Version, Heartbeat: n.last, ClockSkew: n.skew, Stats: n.stats,
		Stopping: n.online && n.stopping, NetworkWeight: n.weight,
	}
	switch {
	case n.Waiting:
		info.Status = hemera.NodeWaiting
	case n.online:
		info.Status = hemera.NodeOnline
	}
	return info
}

// zone is the failure domain of the node: the admin's word goes before the node's.
func (n nodeRecord) zone() string { return cmp.Or(n.ZoneSet, n.Zone) }

// info joins the admin's wish with the last report. A node that is offline or switched off makes its
// disks inactive; what they held stays visible.
func (d *disk) info(n *node) hemera.Disk {
	r := d.report
	info := hemera.Disk{
		ID: d.ID, UUID: d.UUID, Node: d.Node, Path: d.Path, Space: d.Space, Zone: d.ZoneSet,
		Config: d.Config, Health: cmp.Or(r.Health, hemera.HealthOK), Why: r.Why, DiskStats: r.DiskStats,
	}
	if n == nil {
		return info
	}
	info.Zone = cmp.Or(d.ZoneSet, n.zone())
	info.Stopping = n.online && n.stopping
	// What the process that counted them had when they were cleared counts no more.
	if d.Cleared != (clearedErrors{}) && d.Cleared.Started == n.stats.Started.UnixNano() {
		info.Load.ChecksumErrors = max(0, info.Load.ChecksumErrors-d.Cleared.Checksum)
		info.Load.IOErrors = max(0, info.Load.IOErrors-d.Cleared.IO)
	}
	// A failing disk is active: its pieces are read as long as it answers.
	info.Active = n.online && !n.Disabled && info.Health != hemera.HealthGone
	switch {
	case n.online && n.Disabled:
		info.Why = cmp.Or(info.Why, "its node is switched off")
	case info.Stopping:
		info.Why = cmp.Or(info.Why, "its node is about to stop")
	case !n.online:
		info.Why = cmp.Or(info.Why, "its node is offline")
	}
	return info
}

// info is the space as views show it. A checksum that this version does not know is none.
func (s spaceRecord) info() hemera.Space {
	sum, _ := hemera.ParseChecksumKind(s.Checksum)
	return hemera.Space{
		Name: s.Name, Headroom: s.Headroom, Recycle: s.Recycle, Balancer: s.Balancer,
		Policy: hemera.Policy{
			Space: s.Name, Layout: s.Layout, BlockSize: s.BlockSize, Checksum: sum, PiecesMin: s.PiecesMin, Sync: !s.NoSync,
		},
	}
}
