package manager

import (
	"hemera/rules/condition"
	"hemera/rules/place"
	"hemera/words/hemera"
)

// lossSeeds is the number of new files by which a space is tried: where disks are not alike, files are not placed alike.
const lossSeeds = 4

// losses says which losses new files survive, for each space that has as many disks as its files have pieces. It places files
// as an open does, on disks that are all well: what is away now comes back, and other conditions say that it is away.
func losses(v *hemera.View) (all []condition.SpaceLoss) {
	well := wellView(v)
	for _, s := range well.Spaces {
		if loss, ok := lossOf(well, s); ok {
			all = append(all, loss)
		}
	}
	return all
}

// wellView returns the view as it would be with all disks well.
func wellView(v *hemera.View) *hemera.View {
	// The view is shared and never changed: only what is changed here is copied.
	well := *v
	well.Nodes, well.Disks = append([]hemera.NodeInfo(nil), v.Nodes...), append([]hemera.Disk(nil), v.Disks...)
	for i := range well.Nodes {
		n := &well.Nodes[i]
		n.Status, n.Enabled, n.Stopping = hemera.NodeOnline, true, false
	}
	for i := range well.Disks {
		d := &well.Disks[i]
		// A full disk counts as well, as files are removed again; a disk that never said its capacity has room for a byte.
		d.Health, d.Active, d.Free = hemera.HealthOK, true, max(d.Capacity, 1)
	}
	return &well
}

// lossOf returns the worst loss of some files; ok is false if there are too few disks for all pieces.
func lossOf(v *hemera.View, s hemera.Space) (worst condition.SpaceLoss, ok bool) {
	l := s.Policy.Layout
	worst = condition.SpaceLoss{Space: s.Name, Layout: l, Disk: l.Parity() > 0, Node: true, Zone: true}
	// Of disks that take new files. One that is drained or switched off by an admin is not counted on.
	nodes, zones := map[hemera.NodeID]bool{}, map[string]bool{}
	for _, d := range v.Disks {
		if d.Space == s.Name && d.Config == hemera.ConfigRW {
			nodes[d.Node], zones[d.Zone] = true, true
		}
	}
	worst.Nodes, worst.Zones = len(nodes), len(zones)
	for seed := range uint64(lossSeeds) {
		// All pieces or none: what a space with too few disks survives depends on which pieces a file lacks.
		pieces := int(l.Pieces)
		choice, err := chooseFor(v, l, place.Request{Space: s.Name, Want: pieces, Min: pieces, Spare: l.Parity(), Seed: seed + 1})
		if err != nil {
			return worst, false
		}
		for node := range nodes {
			n, survived := readableWithout(l, choice.Targets, func(t hemera.Target) bool { return t.Node == node })
			worst.PerNode, worst.Node = max(worst.PerNode, n), worst.Node && survived
		}
		for zone := range zones {
			n, survived := readableWithout(l, choice.Targets, func(t hemera.Target) bool {
				d, _ := v.Disk(t.Disk)
				return d.Zone == zone
			})
			worst.PerZone, worst.Zone = max(worst.PerZone, n), worst.Zone && survived
		}
	}
	return worst, true
}

// readableWithout says how many of a file's pieces are lost, and whether it can be read from the others.
func readableWithout(l hemera.Layout, ts []hemera.Target, lost func(hemera.Target) bool) (n int, survived bool) {
	var left []hemera.Target
	for _, t := range ts {
		if lost(t) {
			n++
		} else {
			left = append(left, t)
		}
	}
	// A file of the largest size has all of its pieces. A smaller one has fewer data pieces, so it needs fewer.
	return n, enough(l, hemera.FileSizeMax, left)
}
