package place

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	"hemera/words/hemera"
)

// Order lists the pieces that can be read now, best first: on the client's host, in its zone, on disks that are not
// failing and nodes that are not about to stop. Equal pieces are spread by the seed, with less for loaded disks and for
// nodes whose network is suspected. Such a node does not count as in the client's zone. Pieces on tried nodes are left
// out.
func Order(v *hemera.View, pieces []hemera.Piece, client string, tried []hemera.NodeID, seed uint64) []hemera.Target {
	type option struct {
		target hemera.Target
		far    int
		sick   bool
		ending bool
		score  float64
	}
	zone, zoned := clientZone(v, client)
	var few [8]option
	options := few[:0]
	for _, p := range pieces {
		d := disk(v, p.Disk)
		if d == nil || !d.Active || d.Config == hemera.ConfigOff || slices.Contains(tried, d.Node) {
			continue
		}
		n := node(v, d.Node)
		if n.Status != hemera.NodeOnline {
			continue
		}
		options = append(options, option{
			target: hemera.Target{Index: p.Index, Disk: d.ID, Node: d.Node, Addr: n.Addr},
			far:    distance(n, d, client, zone, zoned),
			sick:   d.Doubtful(),
			ending: n.Stopping,
			score:  rank(seed, d.ID, readWeight(d, n)),
		})
	}
	slices.SortFunc(options, func(a, b option) int {
		return cmp.Or(truth(a.sick, b.sick), truth(a.ending, b.ending), cmp.Compare(a.far, b.far), cmp.Compare(b.score, a.score),
			cmp.Compare(a.target.Index, b.target.Index))
	})
	targets := make([]hemera.Target, len(options))
	for i, o := range options {
		targets[i] = o.target
	}
	return targets
}

// Lead moves to the front the target that should answer the reads of a file with several data pieces. It is the best
// target, in [Order], that has a data piece and is not on a failing disk: its node need not fetch its own piece. A node
// on the client's own host stays first, whatever it has: the bytes then cross the network once.
func Lead(v *hemera.View, targets []hemera.Target, data uint8, client string) {
	for i, t := range targets {
		d := disk(v, t.Disk)
		if d == nil || d.Doubtful() || d.Stopping {
			continue
		}
		if t.Index < data || sameHost(t.Addr, client) {
			copy(targets[1:i+1], targets[:i])
			targets[0] = t
			return
		}
	}
}

// Unreadable explains why each piece cannot be read now, for the error when Order returns nothing.
func Unreadable(v *hemera.View, pieces []hemera.Piece, tried []hemera.NodeID) string {
	var out []string
	for _, p := range pieces {
		d, ok := v.Disk(p.Disk)
		var why string
		switch {
		case !ok:
			why = "is not in the cluster"
			if was, known := v.RemovedDisk(p.Disk); known {
				why = "was removed (it was " + was.Where() + ")"
			}
		case slices.Contains(tried, d.Node):
			why = "was tried"
		default:
			why = d.Unreadable(*node(v, d.Node))
		}
		if why != "" {
			out = append(out, fmt.Sprintf("disk %d (piece %d) %s", p.Disk, p.Index, why))
		}
	}
	if len(out) == 0 {
		return "it has no pieces"
	}
	return strings.Join(out, ", ")
}

// readWeight halves a disk's share for every two readers, and reduces it with the disk's load. It is proportional to the
// weight of the disk's node.
func readWeight(d *hemera.Disk, n *hemera.NodeInfo) float64 {
	return networkWeight(n) * idle(d.Load.Busy) / (1 + float64(max(d.Load.ReadOpens, 0))/2)
}

// truth compares like cmp.Compare: false comes before true.
func truth(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// distance returns 0 on the client's host, 1 in its zone, 2 elsewhere. Within a host nothing crosses the network. A zone
// counts as near only if the node's network is good.
func distance(n *hemera.NodeInfo, d *hemera.Disk, client, zone string, zoned bool) int {
	switch {
	case sameHost(n.Addr, client):
		return 0
	case zoned && d.Zone == zone && networkWeight(n) == 1:
		return 1
	}
	return 2
}

// clientZone returns the zone of the nodes on the client's host. The zone of any other client is not known.
func clientZone(v *hemera.View, client string) (string, bool) {
	if client == "" {
		return "", false
	}
	for i := range v.Nodes {
		if sameHost(v.Nodes[i].Addr, client) {
			return v.Nodes[i].Zone, true
		}
	}
	return "", false
}

// sameHost reports whether an address is on the client's host. It compares lengths first, because Order calls it for
// every node of the cluster.
func sameHost(addr, client string) bool {
	if client == "" || len(addr) <= len(client) || addr[len(client)] != ':' && addr[0] != '[' {
		return false
	}
	host, _, err := net.SplitHostPort(addr)
	return err == nil && strings.EqualFold(host, client)
}

// closest returns the index of the first candidate that is nearest to the client; zero if all are equally far.
func closest(v *hemera.View, picked []candidate, client string) int {
	zone, zoned := clientZone(v, client)
	best, least := 0, 3
	for i, c := range picked {
		if far := distance(c.node, c.disk, client, zone, zoned); far < least {
			best, least = i, far
		}
	}
	return best
}
