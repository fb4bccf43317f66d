package balance

import "hemera/words/hemera"

// Spread counts the pieces of one file that share a node or a zone: less is better.
type Spread struct {
	// Nodes and Zones count the pieces beyond the number that a node or a zone may have if its loss is to be survived.
	Nodes, Zones int
	// NodePairs and ZonePairs count the pairs of pieces that share a node, and those that share a zone.
	NodePairs, ZonePairs int
}

// SpreadOf returns the spread of a file that can lose spare pieces and has one on each of the disks. A disk that is not
// in the view counts as alone.
func SpreadOf(v *hemera.View, disks []hemera.DiskID, spare int) (s Spread) {
	var few [32]hemera.Disk // avoids an allocation: SpreadOf runs for each piece of a disk
	known := few[:0]
	for _, id := range disks {
		if d, ok := v.Disk(id); ok {
			known = append(known, d)
		}
	}
	for i, d := range known {
		onNode, inZone := 0, 0 // pieces before this one
		for _, o := range known[:i] {
			if o.Node == d.Node {
				onNode++
			}
			if o.Zone == d.Zone {
				inZone++
			}
		}
		s.NodePairs += onNode
		s.ZonePairs += inZone
		// Without redundancy no place is better than another.
		if spare > 0 && onNode >= spare {
			s.Nodes++
		}
		if spare > 0 && inZone >= spare {
			s.Zones++
		}
	}
	return s
}

// Keeps reports whether s is not worse than old in any respect.
func (s Spread) Keeps(old Spread) bool {
	return s.Nodes <= old.Nodes && s.Zones <= old.Zones && s.NodePairs <= old.NodePairs && s.ZonePairs <= old.ZonePairs
}

// Gains reports whether s is better than old: it survives more, or it shares less and survives no less. A node fails more
// often than a zone.
func (s Spread) Gains(old Spread) bool {
	for _, c := range [...]int{s.Nodes - old.Nodes, s.Zones - old.Zones, s.NodePairs - old.NodePairs, s.ZonePairs - old.ZonePairs} {
		if c != 0 {
			return c < 0
		}
	}
	return false
}

// Shares reports whether any two pieces share a node or a zone. If not, no move can gain.
func (s Spread) Shares() bool { return s.NodePairs+s.ZonePairs > 0 }
