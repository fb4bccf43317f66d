package cluster

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// nodeRecord is the durable part of a node. Its reports are not durable: see node.
type nodeRecord struct {
	ID       hemera.NodeID
	Addr     string       // host:port of its xrd door, as it registered last; "" before
	Zone     string       // as the node says
	ZoneSet  string       // as an admin says; wins
	Disabled bool         // an admin switched it off
	Waiting  bool         // for an admin to admit it
	Epoch    hemera.Epoch // of its newest lease; it only grows
	Version  string       // of its program, as it says
}

func (n nodeRecord) key() string { return fmt.Sprintf("node/%08x", uint32(n.ID)) }

// node has the durable record of a node, and its reports since this process started.
type node struct {
	nodeRecord
	online bool
	last   time.Time     // of the last call under the lease
	skew   time.Duration // of its clock, ahead of ours
	stats  hemera.NodeStats

	stopping bool    // as it said last
	weight   float64 // of its network, by [Cluster.Weigh]; 0: not judged
}

// nodeTable owns the records of nodes, waiting ones too, and what nodes reported.
type nodeTable struct {
	all map[hemera.NodeID]*node
	// members has the nodes: NodeID → true, or false for one that waits to be admitted. It is read at each call of a
	// node, without mu.
	members sync.Map
}

// put makes a record true in memory.
func (t *nodeTable) put(r nodeRecord) {
	if t.all[r.ID] == nil {
		t.all[r.ID] = new(node)
	}
	t.all[r.ID].nodeRecord = r
	t.members.Store(r.ID, !r.Waiting)
}

// forget removes a record from memory.
func (t *nodeTable) forget(r nodeRecord) {
	delete(t.all, r.ID)
	t.members.Delete(r.ID)
}

// leased reports whether the node's lease is in force.
func (n *node) leased(now time.Time) bool {
	return n.online && now.Sub(n.last) <= hemera.HeartbeatTimeout
}

// nextRecord has the ids that the next node and disk get. Ids are never given out twice, so it is stored before
// anything has them.
type nextRecord struct {
	Node hemera.NodeID // above all that were ever given out
	Disk hemera.DiskID
}

func (nextRecord) key() string { return "next" }

// noMember returns the error for a node id that the cluster does not have, or does not have any more.
func noMember(op string, id hemera.NodeID) error {
	return errs.New(errs.NotFound, op, "node "+id.String(), "it is not of this cluster, or was removed from it").
		WithRemedy("remove the node's own state, not its disks, and let it join again")
}

// waiting returns the error of a node that an admin has not admitted. It names the command that does.
func waiting(op string, id hemera.NodeID) error {
	return errs.New(errs.Denied, op, "node "+id.String(), "the node waits for an admin to admit it").
		WithRemedy("at the manager: `hemera node admit " + id.String() + "`")
}

// info returns the node as views show it.
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

// zone returns the failure domain of the node: the admin's word goes before the node's.
func (n nodeRecord) zone() string { return cmp.Or(n.ZoneSet, n.Zone) }
