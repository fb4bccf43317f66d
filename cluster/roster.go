package cluster

import (
	"slices"

	"hemera/words/hemera"
)

// roster is the records of nodes, disks and spaces, which a registration or an admin changes together: a disk names its node and its
// space, and ids are given out beside the records that have them. It has no lock: see [journal].
type roster struct {
	nodes    nodeTable
	disks    diskTable
	spaces   spaceTable
	attaches attachTable
	removed  removedTable
	rebuild  rebuildTable
	next     nextRecord
}

// headrooms tells a node how much to keep free on each of its disks. mu is held.
func (t *roster) headrooms(on hemera.NodeID) map[hemera.DiskID]int64 {
	m := map[hemera.DiskID]int64{}
	for _, d := range t.disks.byNode[on] {
		if !d.Removed {
			m[d.ID] = Headroom(t.spaces[d.Space].Headroom, d.report.Capacity)
		}
	}
	return m
}

// idClaimMax bounds the ids that nodes may claim for themselves and their disks, so that a wrong one does not use up the rest.
const idClaimMax = 1 << 24

// returning reports whether a node that this store does not know may be one of before. Its certificate was checked by the
// transport, or it is of this process. mu is held.
func (t *roster) returning(id hemera.NodeID) bool {
	_, removed := t.removed.all[id]
	return t.rebuild.now() && id != 0 && id < idClaimMax && !removed
}

// claim returns the id that a disk had before, if the cluster is being rebuilt and nothing else has the id by now; else
// the next one. Ids mean nothing to pieces: they are for people, who know their disks by them. mu is held.
func (t *roster) claim(ch *change, next *nextRecord, d hemera.NodeDisk) hemera.DiskID {
	taken := t.disks.all[d.ID] != nil || slices.ContainsFunc(ch.puts, func(r record) bool {
		other, ok := r.(diskRecord)
		return ok && other.ID == d.ID
	})
	if d.ID == 0 || d.ID >= idClaimMax || taken || !t.rebuild.now() {
		next.Disk++
		return next.Disk - 1
	}
	next.Disk = max(next.Disk, d.ID+1)
	return d.ID
}
