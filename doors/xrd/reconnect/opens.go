package reconnect

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// pathsMax is how many paths of one session are remembered.
const pathsMax = 1024

// OpenHistory remembers to which nodes the opens of one session's paths were sent. Clients that failed at a node come
// back with its host name in `tried=`, without port, so nodes of one host can be told apart only by who sent the client
// there. It belongs to one goroutine. The zero OpenHistory is empty.
type OpenHistory map[string]*PathHistory

// PathHistory is that of one path.
type PathHistory struct {
	Waits   int // how often the client was sent away for some seconds
	nodes   []sentTo
	cleared bool // every node was allowed once more
}

// sentTo is a node that an open was sent to.
type sentTo struct {
	id   hemera.NodeID
	host string
	disk hemera.DiskID // of a piece there
}

// Of returns the history of a path. An open that has not failed anywhere, one without `tried=`, starts a new one.
func (v *OpenHistory) Of(path string, failed bool) *PathHistory {
	if *v == nil {
		*v = OpenHistory{}
	}
	if known := (*v)[path]; known != nil {
		if !failed {
			known.nodes, known.cleared = known.nodes[:0], false
		}
		return known
	}
	if len(*v) >= pathsMax {
		for p := range *v {
			delete(*v, p)
			break
		}
	}
	fresh := &PathHistory{}
	(*v)[path] = fresh
	return fresh
}

// Sent remembers that an open was sent to a node, whose pieces are among the targets.
func (v *PathHistory) Sent(node hemera.NodeID, addr string, targets []hemera.Target) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || len(v.nodes) >= hemera.PiecesMax {
		return
	}
	for _, at := range targets {
		if at.Addr == addr { // the node uses all of its pieces
			v.nodes = append(v.nodes, sentTo{node, host, at.Disk})
		}
	}
}

// Tried returns the nodes the client failed at: those it was sent to on a host it names, and the one whose id comes back
// in the opaque part; and the disks it was sent to there.
func (v *PathHistory) Tried(opaque wire.Opaque) ([]hemera.NodeID, []hemera.DiskID) {
	hosts := map[string]bool{}
	for h := range strings.SplitSeq(opaque.Value(translate.TriedKey), ",") {
		hosts[strings.Trim(h, "[]+")] = true
	}
	var ids []hemera.NodeID
	add := func(id hemera.NodeID) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, n := range v.nodes {
		if hosts[n.host] {
			add(n.id)
		}
	}
	for text := range strings.SplitSeq(opaque.Value(wire.OpaqueNode), ",") {
		if n, err := strconv.ParseUint(text, 10, 32); err == nil && n > 0 {
			add(hemera.NodeID(n))
		}
	}
	var disks []hemera.DiskID
	for _, n := range v.nodes {
		if n.disk != 0 && slices.Contains(ids, n.id) && !slices.Contains(disks, n.disk) {
			disks = append(disks, n.disk)
		}
	}
	return ids, disks
}

// ClearOnce allows every node once more, also the disks that failed. It returns false the second time in a chain of
// opens that failed: the nodes that are left to try are there, and what failed may have been a connection.
func (v *PathHistory) ClearOnce() bool {
	if v.cleared {
		return false
	}
	v.cleared, v.nodes = true, v.nodes[:0]
	return true
}
