package reconnect

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// pathsMax bounds the remembered paths of one session.
const pathsMax = 1024

// OpenHistory records to which nodes the opens of a session's paths were redirected. A client that failed at a node names
// its host in `tried=`, without port, so only this record can tell nodes of one host apart. It belongs to one goroutine.
// The zero OpenHistory is empty.
type OpenHistory map[string]*PathHistory

// PathHistory is the history of one path.
type PathHistory struct {
	waiting time.Time // begin of the client's wait for an open that cannot be served; zero if it does not wait
	nodes   []sentTo
	cleared bool // every node was allowed once more
}

// sentTo is a node to which an open was redirected.
type sentTo struct {
	id   hemera.NodeID
	host string
	disk hemera.DiskID // of a piece there
}

// Of returns the history of a path. An open without `tried=` has not failed anywhere and starts a new history.
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

// MayWait reports whether the client of an open that cannot be served now shall wait. A client waits for the time patience, from its first
// open in vain. Then it gets the error once, and may wait again if it still opens the file.
func (v *PathHistory) MayWait(now time.Time, patience time.Duration) bool {
	waited := now.Sub(v.waiting)
	// A client that comes long after that has not waited: it has begun again.
	if v.waiting.IsZero() || waited >= 2*patience {
		v.waiting, waited = now, 0
	}
	if waited >= patience {
		v.waiting = time.Time{}
		return false
	}
	return true
}

// Left returns the rest of the time patience, after MayWait has allowed the client to wait.
func (v *PathHistory) Left(now time.Time, patience time.Duration) time.Duration {
	return patience - now.Sub(v.waiting)
}

// Served records that the client waits no longer.
func (v *PathHistory) Served() { v.waiting = time.Time{} }

// Sent records that an open was redirected to a node, whose pieces are among the targets.
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

// Tried returns the nodes at which the client failed: those on the hosts that it names and to which it was redirected,
// and the node whose id is in the opaque part. It also returns their disks.
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

// ClearOnce allows every node once more, also with disks that failed: a failure may have been one of the connection. It
// returns false the second time in a chain of failed opens.
func (v *PathHistory) ClearOnce() bool {
	if v.cleared {
		return false
	}
	v.cleared, v.nodes = true, v.nodes[:0]
	return true
}
