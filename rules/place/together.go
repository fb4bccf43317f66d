package place

import (
	"cmp"
	"slices"

	"hemera/words/hemera"
)

// Together reorders targets so that those of one zone follow each other, and within it those of one node. Zones and nodes
// come in the order of their first targets, so the first target stays the first.
func Together(v *hemera.View, targets []hemera.Target) {
	type place struct{ zone, node int } // of the first target there
	zones, nodes := map[string]int{}, map[hemera.NodeID]int{}
	at := make(map[hemera.DiskID]place, len(targets))
	for i, t := range targets {
		zone := ""
		if d := disk(v, t.Disk); d != nil {
			zone = d.Zone
		}
		if _, ok := zones[zone]; !ok {
			zones[zone] = i
		}
		if _, ok := nodes[t.Node]; !ok {
			nodes[t.Node] = i
		}
		at[t.Disk] = place{zones[zone], nodes[t.Node]}
	}
	slices.SortStableFunc(targets, func(a, b hemera.Target) int {
		p, q := at[a.Disk], at[b.Disk]
		return cmp.Or(cmp.Compare(p.zone, q.zone), cmp.Compare(p.node, q.node))
	})
}
