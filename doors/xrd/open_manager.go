package xrd

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// triedKey names, in the opaque part, the hosts at which a client failed.
const triedKey = "tried"

// visitsMax bounds how many paths of one session are remembered.
const visitsMax = 1024

// visits remembers which nodes the opens of a path were sent to. Clients that failed at a node
// come back with its host name in `tried=`, without port, so nodes of one host can be told apart
// only by who sent the client there.
type visits map[string]*visit

type visit struct {
	nodes    []visited
	waits    int
	forgiven bool // every node was allowed once more
}

type visited struct {
	id   hemera.NodeID
	host string
	disk hemera.DiskID // of a piece there
}

// of returns the memory of a path. An open that has not failed anywhere begins anew.
func (v *visits) of(path string, again bool) *visit {
	if *v == nil {
		*v = visits{}
	}
	if known := (*v)[path]; known != nil {
		if !again {
			known.nodes, known.forgiven = known.nodes[:0], false
		}
		return known
	}
	if len(*v) >= visitsMax {
		for p := range *v {
			delete(*v, p)
			break
		}
	}
	fresh := &visit{}
	(*v)[path] = fresh
	return fresh
}

// tried lists the nodes the client failed at: those it was sent to on a host it names, and the one
// whose id comes back in the opaque part; and the disks it was sent to there.
func (v *visit) tried(opaque wire.Opaque) ([]hemera.NodeID, []hemera.DiskID) {
	hosts := map[string]bool{}
	for h := range strings.SplitSeq(opaque.Value(triedKey), ",") {
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
	for text := range strings.SplitSeq(opaque.Value(hemera.OpaqueNode), ",") {
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

// forgive allows every node once more, also the disks that failed, in a chain of opens that failed: the
// nodes that are left to try are there, and what failed may have been a connection.
func (v *visit) forgive() bool {
	if v.forgiven {
		return false
	}
	v.forgiven, v.nodes = true, v.nodes[:0]
	return true
}

// openOptions are those of an open. What is not known is refused: it may change what the client gets.
func openOptions(r *request) (wire.Open, error) {
	o := wire.DecodeOpen(r.Body)
	switch unknown := o.Options2 &^ (wire.OpenRetStatX | wire.OpenDirectIO); {
	case unknown&wire.OpenDup != 0:
		return o, refuse(wire.Unsupported, "file cloning is not supported")
	case unknown&wire.OpenSameFS != 0:
		return o, refuse(wire.Unsupported, "colocating with a specified file is not supported")
	case unknown != 0:
		return o, refuse(wire.Unsupported, "the open asks for options that are not known")
	}
	if o.Options2&wire.OpenRetStatX != 0 {
		o.Options |= wire.OpenRetStat
	}
	return o, nil
}

// openAtManager answers kXR_open with the node to go to and the permission to open there, or opens the
// file itself at a node of this process.
func (c *conn) openAtManager(r *request) error {
	path, opaque, err := r.pathOf()
	if err != nil {
		return err
	}
	o, err := openOptions(r)
	if err != nil {
		return err
	}
	if err := c.afterLoss(path, opaque, o); err != nil {
		return err
	}
	want := openRequest(path, opaque, o)
	if t, lost, err := c.session.resumes(path, o); err != nil {
		return err
	} else if lost {
		return c.resume(r, t, path, o)
	}
	c.takeTrace(r, opaque)
	if err := c.readsOn(&want, o, opaque); err != nil {
		return err
	}
	g, err := c.grant(r, want, opaque)
	if err != nil {
		return err
	}
	if n := c.localNode(&g, want.Access, opaque); n != nil {
		if h, err := c.openLocal(r, n, ticketOf(&g), path, o); err == nil {
			return c.okOpen(r, h, o)
		}
		// The client shall see what it would have seen at the node, and may be sent to another then.
	}
	c.reads(path, &g.Permit.Capability)
	return c.sendTo(&g, want, opaque)
}

// truncateAtManager sends a truncation to a node: an update of one step, or a step of the write that the
// same process has open, as of xrootdfs, which opens a file and then truncates it by its path.
func (c *conn) truncateAtManager(r *request) error {
	path, opaque, err := r.pathOf()
	if err != nil {
		if len(r.payload) == 0 {
			return errBadHandle
		}
		return err
	}
	if t := wire.DecodeTruncate(r.Body); t.Size < 0 || t.Size > hemera.FileSizeMax {
		return refuse(wire.ArgInvalid, "no file can have this size")
	}
	want := hemera.OpenRequest{Path: path, Access: hemera.AccessUpdate, Join: true}
	g, err := c.grant(r, want, opaque)
	if err != nil {
		return err
	}
	return c.sendTo(&g, want, opaque)
}

const (
	// grantWaits is how often a client is asked to come back before it gets the error.
	grantWaits       = 3
	grantWaitSeconds = 5
)

// grant asks for the open.
func (c *conn) grant(r *request, o hemera.OpenRequest, opaque wire.Opaque) (hemera.Grant, error) {
	o.Session, o.Ended, o.Process = c.session.name, c.session.named, c.session.processName()
	if opaque.Has(triedKey) {
		o.Tried, o.Avoid = c.session.visits.of(o.Path, true).tried(opaque)
	}
	g, err := c.srv.o.Files.Open(c.traced(r), c.who(), o)
	v := c.session.visits[o.Path]
	if k := errs.KindOf(err); err != nil && len(o.Tried) > 0 && (k == errs.NoReplicas || k == errs.NoSpace) && v.forgive() {
		o.Tried, o.Avoid = nil, nil
		g, err = c.srv.o.Files.Open(c.traced(r), c.who(), o)
	}
	if err == nil {
		if v != nil {
			v.waits = 0
		}
		return g, nil
	}
	if k := errs.KindOf(err); k == errs.Unavailable || k == errs.Overloaded {
		if v = c.session.visits.of(o.Path, true); v.waits < grantWaits {
			v.waits++
			return g, &waitFor{Seconds: grantWaitSeconds, Text: err.Error()}
		}
	}
	return g, err
}

// sendTo redirects the client to the head of its grant, and remembers that it was sent there.
func (c *conn) sendTo(g *hemera.Grant, o hemera.OpenRequest, opaque wire.Opaque) error {
	t := ticketOf(g)
	v := c.session.visits.of(o.Path, opaque.Has(triedKey))
	if host, _, err := net.SplitHostPort(g.Addr); err == nil && len(v.nodes) < hemera.PiecesMax {
		for _, at := range g.Permit.Targets {
			if at.Addr == g.Addr { // the node uses all of its pieces
				v.nodes = append(v.nodes, visited{t.node, host, at.Disk})
			}
		}
	}
	return t.redirect(patience(g, o.Access))
}

// ticket is what brings a client to the file it was granted.
type ticket struct {
	node   hemera.NodeID
	addr   string
	permit *hemera.Permit
}

func ticketOf(g *hemera.Grant) ticket {
	t := ticket{addr: g.Addr, permit: g.Permit}
	for _, at := range g.Permit.Targets {
		if at.Addr == g.Addr {
			t.node = at.Node
			break
		}
	}
	return t
}

// redirect sends the client to the node, and says how long to try to reach it.
func (t ticket) redirect(patience wire.Opaque) error {
	token, err := t.permit.Token()
	if err != nil {
		return err
	}
	return redirectTo(t.addr, wire.Opaque(hemera.OpaqueCapability+"="+token+"&"+hemera.OpaqueNode+"="+t.node.String()+"&")+patience)
}

// wishedMode is the mode that a client asks for, with what its owner needs. Many clients give none.
func wishedMode(mode, least uint32) uint32 {
	if mode &= 0o777; mode != 0 {
		return mode | least
	}
	return hemera.ModeUnset
}

// openRequest reads a client's open (§1.2). Reading wins over updating; creating implies both.
// Stock clients always set the async option, and create missing parents with it.
func openRequest(path string, opaque wire.Opaque, o wire.Open) hemera.OpenRequest {
	r := hemera.OpenRequest{
		Path: path, Access: hemera.AccessRead, Mode: wishedMode(uint32(o.Mode), 0o600),
		Force: o.Options&wire.OpenForce != 0, Wish: wishes(opaque), Size: announced(opaque),
	}
	const changes = wire.OpenUpdate | wire.OpenWriteTo | wire.OpenAppend
	switch {
	case o.Options&(wire.OpenNew|wire.OpenDelete) != 0:
		r.Access = hemera.AccessCreate
		r.Exclusive = o.Options&wire.OpenNew != 0
		r.Parents = o.Options&(wire.OpenMkpath|wire.OpenAsync) != 0
	case o.Options&wire.OpenRead != 0:
	case o.Options&changes != 0:
		r.Access = hemera.AccessUpdate
	}
	return r
}

// wishes reads what a client asks of the policy, in Hemera's words or EOS's.
func wishes(opaque wire.Opaque) hemera.Wish {
	if opaque == "" {
		return hemera.Wish{} // as most opens are
	}
	first := func(keys ...string) string {
		for _, k := range keys {
			if v := opaque.Value(k); v != "" {
				return v
			}
		}
		return ""
	}
	w := hemera.Wish{
		Space:    first("hem.space", "eos.space"),
		Layout:   first("hem.layout", "eos.layout.type"),
		Checksum: first("hem.checksum", "eos.layout.checksum"),
	}
	if text := first("hem.replicas", "eos.layout.nstripes"); text != "" {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			w.Replicas = n
		} else {
			w.Replicas = -1 // refused where the wish would count: fewer copies than were asked for are not made in silence
		}
	}
	w.Unknown = misspelt(opaque)
	return w
}

// misspelt is the first key of Hemera's that does not exist. A client that comes back from a node is not
// asked: the node may be of a newer version.
func misspelt(opaque wire.Opaque) string {
	if !strings.Contains(string(opaque), "hem.") {
		return ""
	}
	unknown := ""
	for key := range opaque.All() {
		switch key {
		case hemera.OpaqueCapability, hemera.OpaqueNode, lostKey, "tried":
			return ""
		case "hem.space", "hem.layout", "hem.checksum", "hem.replicas", hemera.OpaquePiece, hemera.OpaqueTrace, hemera.OpaqueWhere,
			hemera.OpaqueAgain, hemera.OpaqueSize, hemera.OpaqueSum, hemera.OpaqueNew, hemera.OpaqueMtime, hemera.OpaqueOwner:
			continue
		}
		if unknown == "" && strings.HasPrefix(key, "hem.") {
			unknown = key
		}
	}
	return unknown
}
