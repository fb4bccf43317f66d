package move

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"hemera/words/hemera"
)

// traffic has the bytes that nodes have still to send and to receive for the copies under way. A node's disks share one link, whose
// directions are apart. A node that moves nothing is not in the tables.
type traffic struct {
	sends, receives map[hemera.NodeID]int64
}

// newTraffic returns the traffic of no copy.
func newTraffic() traffic {
	return traffic{sends: map[hemera.NodeID]int64{}, receives: map[hemera.NodeID]int64{}}
}

// clone returns a copy that belongs to the caller.
func (t traffic) clone() traffic {
	return traffic{sends: maps.Clone(t.sends), receives: maps.Clone(t.receives)}
}

// add counts so many more bytes of the piece that a copy makes; less than none when they have arrived.
func (t traffic) add(m Plan, bytes int64) {
	for _, from := range m.reads() {
		if from.Node == m.Add.Node {
			continue // it crosses no link
		}
		change(t.sends, from.Node, bytes)
		change(t.receives, m.Add.Node, bytes)
	}
}

// change adds to a count, and removes it with the last copy.
func change(of map[hemera.NodeID]int64, id hemera.NodeID, bytes int64) {
	if of[id] += bytes; of[id] == 0 {
		delete(of, id)
	}
}

// orderSources puts sources first whose node is to send little, then whose disk few copies use. Disks that fail stay behind
// the others.
func (t traffic) orderSources(v *hemera.View, sources []hemera.Target, load map[hemera.DiskID]int) {
	sick := func(t hemera.Target) int {
		if d, ok := v.Disk(t.Disk); ok && d.Health != hemera.HealthFailing {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(sources, func(a, b hemera.Target) int {
		return cmp.Or(cmp.Compare(sick(a), sick(b)), cmp.Compare(t.sends[a.Node], t.sends[b.Node]), cmp.Compare(load[a.Disk], load[b.Disk]))
	})
}

// evenly makes nodes that are to receive less than others far more likely to get the next copy of a piece of the entry, for which
// they receive so many bytes. To compute a lost piece a node receives as many as it takes, over one link: a rebuild lasts as long as
// the node that got most of it. writes is how many writes and copies each disk has.
func (t traffic) evenly(v *hemera.View, e hemera.Entry, bytes int64, writes func(hemera.DiskID) int) func(hemera.DiskID) int {
	// Nodes that have a piece get no other if there are enough without one.
	have := map[hemera.NodeID]bool{}
	for _, p := range e.Pieces {
		if d, ok := v.Disk(p.Disk); ok {
			have[d.Node] = true
		}
	}
	least := int64(math.MaxInt64)
	for _, n := range v.Nodes {
		if n.Status == hemera.NodeOnline && !have[n.ID] {
			least = min(least, t.receives[n.ID])
		}
	}
	return func(id hemera.DiskID) int {
		d, _ := v.Disk(id)
		// A disk's chance falls with the square of what this returns, so a tenth of a copy more halves it at least.
		ahead := float64(max(0, t.receives[d.Node]-least)) / float64(max(bytes, 1))
		return writes(id) + int(math.Exp2(min(12*ahead, 30))) - 1
	}
}
