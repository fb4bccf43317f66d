// Package place chooses disks: for new pieces ([Choose]) and the best to read from ([Order]). It
// decides on one immutable view and a seed, and is pure: the same question has the same answer.
//
// Disks are ranked by weighted rendezvous hashing (each draws a number from the seed and its id,
// biased by its weight), so that a change of one disk moves only what it must and many managers of
// one view need not agree on a cursor. The rule of spreading comes before the rank: a file never has
// two pieces on one disk, uses as many nodes as there are, and then as many zones.
package place

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hemera"
	"hemera/errs"
)

// Request is what pieces are to be placed for.
type Request struct {
	Space string
	Want  int   // how many pieces
	Min   int   // fewer than this many is NoSpace; zero means one
	Size  int64 // bytes each piece is expected to take
	// Client is the host the data comes from: of the chosen disks, one close to it comes first.
	Client string
	// Have are disks that hold pieces of the file already: not chosen, and spread away from.
	Have []hemera.DiskID
	// Exclude are disks and nodes not to choose.
	ExcludeDisks []hemera.DiskID
	ExcludeNodes []hemera.NodeID
	// Writers counts writes the caller knows to be under way on a disk; may be nil.
	Writers map[hemera.DiskID]int
	Seed    uint64
}

// Choice is where pieces go.
type Choice struct {
	// Targets have indexes from 0 in the order of preference; the first is the head.
	Targets []hemera.Target
	// Eligible is how many disks could have been chosen.
	Eligible int
}

// Choose picks up to Want disks. When fewer than Min can be had, NoSpace says why each disk of the
// space was refused.
func Choose(v *hemera.View, r Request) (Choice, error) {
	found, refused := candidates(v, r)
	if len(found) < max(r.Min, 1) {
		return Choice{}, noSpace(r, len(found), refused)
	}
	picked := spread(v, found, r)
	if i := closest(v, picked, r.Client); i > 0 {
		head := picked[i]
		picked = slices.Insert(slices.Delete(picked, i, i+1), 0, head)
	}
	c := Choice{Eligible: len(found)}
	for i, p := range picked {
		c.Targets = append(c.Targets, hemera.Target{Index: uint8(i), Disk: p.disk.ID, Node: p.disk.Node, Addr: p.addr})
	}
	return c, nil
}

// Minimum is the rule for how many sealed pieces an acknowledged close needs when the policy leaves
// it open (PiecesMin zero): all of them while a spare disk exists to replace one that fails in the
// middle of the write; else one fewer than there are disks, but at least one, so that a small
// cluster keeps taking files when a disk breaks. What is missing is left to repair.
func Minimum(policy uint8, want, eligible int) uint8 {
	if policy > 0 {
		return min(policy, uint8(want))
	}
	return uint8(max(1, min(want, eligible-1)))
}

type candidate struct {
	disk  hemera.Disk
	addr  string
	score float64
}

// candidates returns the disks that could be chosen, best first, and counts the reasons of others.
func candidates(v *hemera.View, r Request) ([]candidate, map[string]int) {
	var found []candidate
	refused := map[string]int{}
	for _, d := range v.Disks {
		if d.Space != r.Space {
			continue
		}
		n := node(v, d.Node)
		if why := refusal(d, n, r); why != "" {
			refused[why]++
			continue
		}
		found = append(found, candidate{d, n.Addr, rank(r.Seed, d.ID, writeWeight(d, r.Writers[d.ID]))})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.disk.ID, b.disk.ID))
	})
	return found, refused
}

// refusal says in words why a disk cannot take the piece, or "".
func refusal(d hemera.Disk, n hemera.NodeInfo, r Request) string {
	switch {
	case slices.Contains(r.Have, d.ID):
		return "already hold a piece of the file"
	case slices.Contains(r.ExcludeDisks, d.ID):
		return "failed for this file"
	case slices.Contains(r.ExcludeNodes, d.Node):
		return "are on nodes the client could not reach"
	case n.Status != hemera.NodeOnline:
		return "are on offline nodes"
	case !n.Enabled:
		return "are on nodes that are switched off"
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

func noSpace(r Request, got int, refused map[string]int) error {
	reasons := make([]string, 0, len(refused))
	total := got
	for why, n := range refused {
		reasons = append(reasons, fmt.Sprintf("%d %s", n, why))
		total += n
	}
	slices.Sort(reasons)
	text := fmt.Sprintf("%d of its %d disks can take a piece of %d bytes, %d needed", got, total, r.Size, max(r.Min, 1))
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, ", ")
	}
	remedy := "see `hemera fs ls` for the disks' states, or add disks with `hemera fs add`"
	if total == 0 {
		remedy = "add disks to the space with `hemera fs add`"
	}
	return errs.New(errs.NoSpace, "place.Choose", "space "+r.Space, text).WithRemedy(remedy)
}

// spread takes the best candidate on the least used node, then in the least used zone, until there
// are enough. Nodes lie within zones, so taking greedily reaches the most nodes and the most zones.
func spread(v *hemera.View, found []candidate, r Request) []candidate {
	nodes, zones := map[hemera.NodeID]int{}, map[string]int{}
	for _, d := range v.Disks {
		if slices.Contains(r.Have, d.ID) {
			nodes[d.Node]++
			zones[d.Zone]++
		}
	}
	left := slices.Clone(found)
	var picked []candidate
	for len(picked) < r.Want && len(left) > 0 {
		best := 0
		for i, c := range left {
			b := left[best]
			if cmp.Or(cmp.Compare(nodes[c.disk.Node], nodes[b.disk.Node]), cmp.Compare(zones[c.disk.Zone], zones[b.disk.Zone])) < 0 {
				best = i
			}
		}
		c := left[best]
		nodes[c.disk.Node]++
		zones[c.disk.Zone]++
		picked = append(picked, c)
		left = slices.Delete(left, best, best+1)
	}
	return picked
}

// writeWeight is a disk's share of new pieces: in proportion to its free space, less when busy, and
// much less for every write already under way, so that few large streams land on different disks.
func writeWeight(d hemera.Disk, writers int) float64 {
	w := float64(max(writers, 0) + 1)
	return float64(d.Free) * idle(d.Load.Busy) / (w * w)
}

// idle is 1 for an idle disk and 0.2 for a busy one: load reports are late, so no disk is left out.
func idle(busy float64) float64 { return 1 - 0.8*min(max(busy, 0), 1) }

// rank is the weighted rendezvous score -w/ln(u), u uniform in (0,1): among disks, the chance to
// have the highest is in proportion to w (Thaler and Ravishankar 1998; weights as in Schindelhauer
// and Schomaker 2005).
func rank(seed uint64, id hemera.DiskID, weight float64) float64 {
	u := (float64(mix(seed^mix(uint64(id)))>>11) + 0.5) / (1 << 53)
	return -weight / math.Log(u)
}

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// node finds a node in the ordered list; the zero NodeInfo if there is none.
func node(v *hemera.View, id hemera.NodeID) hemera.NodeInfo {
	i, ok := slices.BinarySearchFunc(v.Nodes, id, func(n hemera.NodeInfo, id hemera.NodeID) int { return cmp.Compare(n.ID, id) })
	if !ok {
		return hemera.NodeInfo{}
	}
	return v.Nodes[i]
}
