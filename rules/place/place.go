// Package place chooses disks: for new pieces ([Choose]) and the best to read from ([Order]). It is pure: the result
// depends on one immutable view and a seed.
//
// Disks are ranked by weighted rendezvous hashing (each draws a number from the seed and its id, biased by its weight),
// so that a change of one disk moves as little as possible, and several managers with one view need no common cursor. The
// rule of spreading comes before the rank:
//
//   - A file never has two pieces on one disk.
//   - No node and no zone has more pieces of it than the file can spare, if that is possible for all of them: then the
//     file survives the loss of one.
//   - It uses as many nodes as there are, and then as many zones, as evenly as possible.
//
// If a zone has few nodes, these rules differ: a file of 4+2 pieces in zones of 1, 1 and 10 nodes gets two pieces in each
// zone, and not four in the large one.
//
// # Cost
//
// Choose looks at each disk once and then at the candidates once for each piece. In a cluster with many more than
// [sample] disks it first looks at that many, so that the cost of an open does not grow with the cluster. Only if those
// are too few, or do not spread the pieces, it looks at all.
//
// # Concurrency
//
// A view never changes. Functions are safe for concurrent use with one view.
package place

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Request describes the pieces to place.
type Request struct {
	Space hemera.SpaceName
	Want  int   // number of pieces
	Min   int   // fewer than this fail with NoSpace; zero means one
	Size  int64 // expected bytes of each piece
	Spare int   // number of pieces of the file that may be lost; zero: only the spread counts
	// Client is the host of the client, without a port; may be "". Of the chosen disks, one close to it comes first.
	Client string
	// Have lists disks with pieces of the file. They are not chosen, and new pieces are spread away from them.
	Have []hemera.DiskID
	// Leave lists disks that the file leaves by this move, for example a drained one. They are not chosen, and do not
	// count as failed.
	Leave []hemera.DiskID
	// ExcludeDisks and ExcludeNodes list disks and nodes that are not chosen.
	ExcludeDisks []hemera.DiskID
	ExcludeNodes []hemera.NodeID
	// Allow limits the choice to the disks for which it returns true; nil allows all.
	Allow func(hemera.DiskID) bool
	// Writers returns the number of writes under way on a disk that the caller knows of; may be nil.
	Writers func(hemera.DiskID) int
	Seed    uint64 // the same seed and view give the same choice
}

// Choice has the chosen disks.
type Choice struct {
	// Targets have indexes from 0 in the order of preference; the first is the head.
	Targets []hemera.Target
	// Eligible is the number of disks that could have been chosen.
	Eligible int
}

// sample is the number of disks of a big cluster that Choose looks at first, spread evenly over all of them.
const sample = 512

// Choose picks up to Want disks. If there are fewer than Min, it fails with NoSpace and says why each disk of the space
// was refused. In a cluster with many more than [sample] disks, a part of them is enough if it gives each piece its own
// node; Eligible then counts the disks of that part.
func Choose(v *hemera.View, r Request) (Choice, error) {
	if step := len(v.Disks) / sample; step > 1 {
		found := candidates(nil, v, r, step)
		if picked := spread(v, found, r); len(found) > 2*r.Want && apart(picked) {
			return choice(v, picked, len(found), r.Client), nil
		}
	}
	var few [16]candidate // for a small cluster, without allocating
	found := candidates(few[:0], v, r, 1)
	if len(found) < max(r.Min, 1) {
		return Choice{}, noSpace(v, r, len(found))
	}
	return choice(v, spread(v, found, r), len(found), r.Client), nil
}

// apart reports whether no two pieces of the file share a node. Each piece counts at those that were chosen after it, see
// joins.
func apart(picked []candidate) bool {
	return !slices.ContainsFunc(picked, func(c candidate) bool { return c.sameNode > 0 })
}

// choice returns targets for the chosen disks. One that is close to the client comes first and becomes the head.
func choice(v *hemera.View, picked []candidate, eligible int, client string) Choice {
	if i := closest(v, picked, client); i > 0 {
		head := picked[i]
		picked = slices.Insert(slices.Delete(picked, i, i+1), 0, head)
	}
	c := Choice{Eligible: eligible, Targets: make([]hemera.Target, len(picked))}
	for i, p := range picked {
		c.Targets[i] = hemera.Target{Index: uint8(i), Disk: p.disk.ID, Node: p.disk.Node, Addr: p.node.Addr}
	}
	return c
}

// candidate points into the view: a view can have tens of thousands of disks.
type candidate struct {
	disk  *hemera.Disk
	node  *hemera.NodeInfo
	score float64 // of rendezvous hashing; the greatest comes first
	// Number of pieces of the file on its node, and in its zone, including those that this call has chosen so far.
	sameNode, sameZone int
}

// compare returns a number below zero if c is the better choice: its node can be lost with one more piece, then its zone;
// it has fewer pieces on its node, then in its zone; then by rank. Nodes lie within zones, so the limits are a laminar
// matroid. Therefore the greedy choice of candidates within both limits finds as many of them as possible.
func (c *candidate) compare(o *candidate, spare int) int {
	switch {
	case (c.sameNode < spare) != (o.sameNode < spare):
		return truth(c.sameNode >= spare, o.sameNode >= spare) // a node fails more often than a zone
	case (c.sameZone < spare) != (o.sameZone < spare):
		return truth(c.sameZone >= spare, o.sameZone >= spare)
	case c.sameNode != o.sameNode:
		return c.sameNode - o.sameNode
	case c.sameZone != o.sameZone:
		return c.sameZone - o.sameZone
	}
	return cmp.Or(cmp.Compare(o.score, c.score), cmp.Compare(c.disk.ID, o.disk.ID))
}

// joins counts a piece that was put on a disk. Disks without a zone count as one zone.
func (c *candidate) joins(d *hemera.Disk) {
	if c.disk.Node == d.Node {
		c.sameNode++
	}
	if c.disk.Zone == d.Zone {
		c.sameZone++
	}
}

// candidates appends the disks that could be chosen. It looks at one disk of each step.
func candidates(found []candidate, v *hemera.View, r Request, step int) []candidate {
	// Reserve memory for all at once: growing would copy tens of thousands of candidates in a big cluster.
	found = slices.Grow(found, len(v.Disks)/step+1)
	writers := r.Writers
	if writers == nil {
		writers = func(hemera.DiskID) int { return 0 }
	}
	eachDisk(v, r, step, func(d *hemera.Disk, n *hemera.NodeInfo) {
		if refusal(d, n, r) == "" {
			found = append(found, candidate{disk: d, node: n, score: rank(r.Seed, d.ID, writeWeight(d, n, writers(d.ID), r.Size))})
		}
	})
	return found
}

// eachDisk visits the disks of the request's space with their nodes. If step is above 1 it visits one disk of each step,
// drawn by the seed: at equal distances all could be of one zone, where nodes are numbered rack by rack. Disks of one
// node tend to follow each other in the list.
func eachDisk(v *hemera.View, r Request, step int, visit func(d *hemera.Disk, n *hemera.NodeInfo)) {
	var n *hemera.NodeInfo
	draw := mix(r.Seed)
	for at := 0; at < len(v.Disks); at += step {
		draw = draw*6364136223846793005 + 1442695040888963407 // Knuth, MMIX: the high half is what counts
		i := at + int(draw>>32*uint64(step)>>32)
		if i >= len(v.Disks) {
			break // the last step is shorter, and its disks must not be likelier than others
		}
		d := &v.Disks[i]
		if d.Space != r.Space {
			continue
		}
		if n == nil || n.ID != d.Node { // the node of the disk before is often the same
			n = node(v, d.Node)
		}
		visit(d, n)
	}
}

// refusal explains why a disk cannot take the piece; "" if it can.
func refusal(d *hemera.Disk, n *hemera.NodeInfo, r Request) string {
	// The request's own reasons come first: they do not depend on the state of the cluster.
	switch {
	case slices.Contains(r.Have, d.ID):
		return "already hold a piece of the file"
	case slices.Contains(r.Leave, d.ID) && (d.Config == hemera.ConfigDrain || d.Config == hemera.ConfigEmpty):
		return "is the one that is drained"
	case slices.Contains(r.Leave, d.ID):
		return "has the piece that is to be replaced"
	case slices.Contains(r.ExcludeDisks, d.ID):
		return "failed for this file"
	case slices.Contains(r.ExcludeNodes, d.Node):
		return "are on nodes that the client has tried in vain"
	case r.Allow != nil && !r.Allow(d.ID):
		return "are not wanted for it"
	case n.Status != hemera.NodeOnline:
		return "are on offline nodes"
	case !n.Enabled:
		return "are on nodes that are switched off"
	case n.Stopping:
		return "are on nodes that are about to stop"
	case d.Config != hemera.ConfigRW:
		return "have configstatus " + string(d.Config)
	case d.Health != hemera.HealthOK:
		return "are " + string(d.Health)
	case !d.Active:
		return "are not active"
	case d.Free <= 0 || d.Free < r.Size:
		return "have too little free space"
	}
	return ""
}

// noSpace returns an error with the number of disks for each reason, so that an admin sees what to change. A disk that is
// refused for several reasons counts for the first one.
func noSpace(v *hemera.View, r Request, got int) error {
	refused := map[string]int{}
	total, smaller := 0, r
	smaller.Size = 0
	var room []int64 // of disks that lack only room
	eachDisk(v, r, 1, func(d *hemera.Disk, n *hemera.NodeInfo) {
		total++
		if why := refusal(d, n, r); why != "" {
			refused[why]++
		}
		if refusal(d, n, smaller) == "" {
			room = append(room, d.Free)
		}
	})
	reasons := make([]string, 0, len(refused))
	for why, n := range refused {
		reasons = append(reasons, fmt.Sprintf("%d %s", n, why))
	}
	slices.Sort(reasons)
	text := fmt.Sprintf("%d of its %d disks can take a piece of %d bytes, %d needed", got, total, r.Size, max(r.Min, 1))
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, ", ")
	}
	if most := hemera.Largest(room, max(r.Min, 1)); most > 0 {
		text += fmt.Sprintf("; the largest piece that fits has %d bytes", most)
	}
	remedy := "see `hemera fs ls` for the disks' states, or add disks with `hemera fs add`"
	if total == 0 {
		remedy = "add disks to the space with `hemera fs add`"
	}
	return errs.New(errs.NoSpace, "place.Choose", "space "+string(r.Space), text).WithRemedy(remedy)
}

// spread takes the best candidates, see compare. If the loss of a zone cannot be survived anyway, zones only count after
// nodes: more pieces than necessary on a node would then gain nothing. It reorders found.
func spread(v *hemera.View, found []candidate, r Request) []candidate {
	if enoughZones(found, r) {
		picked := take(v, found, r, r.Spare)
		if !slices.ContainsFunc(picked, func(c candidate) bool { return c.sameZone >= r.Spare }) {
			return picked
		}
		for i := range found {
			found[i].sameNode, found[i].sameZone = 0, 0
		}
	}
	return take(v, found, r, 0)
}

// enoughZones reports whether there are enough zones that none must have more pieces than can be spared. It returns false
// without counting if all pieces can be spared, or none.
func enoughZones(found []candidate, r Request) bool {
	pieces := min(r.Want, len(found)) + len(r.Have)
	if r.Spare <= 0 || r.Spare >= pieces {
		return false
	}
	need := (pieces + r.Spare - 1) / r.Spare
	var few [8]string
	zones := few[:0]
	for i := range found {
		if zone := found[i].disk.Zone; !slices.Contains(zones, zone) {
			if zones = append(zones, zone); len(zones) == need {
				return true
			}
		}
	}
	return false
}

// take takes the best candidates until there are enough. It reorders found.
func take(v *hemera.View, found []candidate, r Request, spare int) []candidate {
	// count counts a piece on d at the candidates that are left.
	count := func(d *hemera.Disk, left []candidate) {
		for i := range left {
			left[i].joins(d)
		}
	}
	for _, id := range r.Have {
		if d := disk(v, id); d != nil {
			count(d, found)
		}
	}
	want := min(r.Want, len(found))
	// A selection sort of the first places: want is small, found may have thousands.
	for at := range want {
		best := at
		for i := at + 1; i < len(found); i++ {
			if found[i].compare(&found[best], spare) < 0 {
				best = i
			}
		}
		found[at], found[best] = found[best], found[at]
		count(found[at].disk, found[at+1:])
	}
	return found[:want:want]
}

// streamSize is the size from which writing a piece takes some seconds.
const streamSize = 1 << 30

// writeWeight returns a disk's share of new pieces of a size. It is proportional to its free space and to its node's
// weight, less if busy, and much less for every write under way, so that few large streams land on different disks: of
// four disks, the one with a write gets one of 50 further streams. A piece of [streamSize] or more goes there only if
// there is no other disk: two tape drives that write to one disk get half of their rate, for ten seconds a file.
func writeWeight(d *hemera.Disk, n *hemera.NodeInfo, writers int, size int64) float64 {
	w := float64(max(writers, 0) + 1)
	w *= w // and squared once more below
	weight := float64(d.Free) * networkWeight(n) * idle(d.Load.Busy) / (w * w)
	if writers > 0 && size >= streamSize {
		weight *= 1e-6
	}
	return weight
}

// networkWeight returns the weight of a node by the state of its network, in (0,1]. A value outside counts as 1.
func networkWeight(n *hemera.NodeInfo) float64 {
	if w := n.NetworkWeight; w > 0 && w < 1 {
		return w
	}
	return 1
}

// idle returns 1 for an idle disk and 0.2 for a busy one: load reports are late, so no disk is excluded. busy is the
// share of the time that the device was busy, 0 to 1; values outside are cut.
func idle(busy float64) float64 { return 1 - 0.8*min(max(busy, 0), 1) }

// rank returns the weighted rendezvous score -w/ln(u), u uniform in (0,1): the chance of a disk to have the highest is
// proportional to w (Thaler and Ravishankar 1998; weights as in Schindelhauer and Schomaker 2005).
func rank(seed uint64, id hemera.DiskID, weight float64) float64 {
	u := (float64(mix(seed^mix(uint64(id)))>>11) + 0.5) / (1 << 53)
	return -weight / math.Log(u)
}

// mix computes the finalizer of SplitMix64. It spreads neighbouring ids over all 64 bits. It is not for secrets.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// node finds a node in the ordered list. For an unknown id it returns the zero NodeInfo. Nodes are numbered from 1 without
// a gap until one is removed, so it tries that place first.
func node(v *hemera.View, id hemera.NodeID) *hemera.NodeInfo {
	if i := int(id) - 1; i >= 0 && i < len(v.Nodes) && v.Nodes[i].ID == id {
		return &v.Nodes[i]
	}
	i := sort.Search(len(v.Nodes), func(i int) bool { return v.Nodes[i].ID >= id })
	if i == len(v.Nodes) || v.Nodes[i].ID != id {
		return &hemera.NodeInfo{}
	}
	return &v.Nodes[i]
}

// disk finds a disk in the ordered list without copying it. For an unknown id it returns nil.
func disk(v *hemera.View, id hemera.DiskID) *hemera.Disk {
	i := sort.Search(len(v.Disks), func(i int) bool { return v.Disks[i].ID >= id })
	if i == len(v.Disks) || v.Disks[i].ID != id {
		return nil
	}
	return &v.Disks[i]
}
