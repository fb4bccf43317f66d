package xrd

import (
	"strings"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// localMax is the largest file that a manager's door opens itself, and tells clients nothing of: for
// larger ones an open costs nothing beside the data, and those are better off on a connection of their
// own, to which stock clients bind parallel ones. They never do so at a manager.
const localMax = 16 << 20

// localNode is the node of this process at which the door opens a granted file itself, nil when the
// client has to go to a node: the head is elsewhere, the client wants to know where it is or has
// failed before, or it copies between servers, whose other end has to find that node.
//
// Writes are opened here only when they make a file. A client that loses its connection opens again
// without its capability, for an update; should the door have forgotten the write by then, there is
// nothing at the name that could be mistaken for its content.
func (c *conn) localNode(g *hemera.Grant, access hemera.Access, opaque wire.Opaque) hemera.Node {
	replaces := access == hemera.AccessCreate && g.Permit.BaseGen != 0
	switch {
	case c.srv.o.Local == nil, g.Permit.Size > localMax, access == hemera.AccessUpdate, replaces:
		return nil
	case opaque != "" && (opaque.Has(triedKey) || opaque.Has(hemera.OpaqueWhere) || strings.Contains(string(opaque), tpcPrefix)):
		return nil
	}
	return c.srv.o.Local(ticketOf(g).node)
}

// openLocal opens a granted file at a node of this process.
func (c *conn) openLocal(r *request, n hemera.Node, t ticket, path string, o wire.Open) (*handle, error) {
	h, err := c.newHandle(path, o, func(h *handle) (err error) {
		h.whole, err = n.Open(c.traced(r), t.permit, nodeOpen(o))
		h.file = h.whole
		return err
	})
	switch {
	case err == nil && h.writable:
		h.ticket = &t
	case err == nil && t.permit.Access == hemera.AccessRead && (c.session.stock || c.session.replaces):
		h.granted = t.permit
	}
	return h, err
}

// resume opens a write again whose connection was lost, or sends the client to where it can.
func (c *conn) resume(r *request, t ticket, path string, o wire.Open) error {
	if n := c.srv.o.Local(t.node); n != nil {
		if h, err := c.openLocal(r, n, t, path, o); err == nil {
			return c.okOpen(r, h, o)
		}
	}
	delete(c.session.lost, path)
	return t.redirect(triesWrite)
}

// resumes says whether an open goes on with a write that this session's client had under way on the
// connection it lost. Stock clients open again without the options that make or empty a file, and
// without those that they always set the first time; ours ask for a stat. Stock clients do so once for
// each of the requests that were cut off, and use one of the handles: until that is closed the write is found.
func (ss *session) resumes(path string, o wire.Open) (ticket, bool, error) {
	const first = wire.OpenNew | wire.OpenDelete | wire.OpenAsync
	const changes = wire.OpenUpdate | wire.OpenWriteTo | wire.OpenAppend
	reads := o.Options&wire.OpenRead != 0 && o.Options&changes == 0
	if !ss.replaces || reads || o.Options&first != 0 {
		return ticket{}, false, nil
	}
	t, known := ss.lost[path]
	forgotten := !known && o.Options&(wire.OpenRead|wire.OpenRetStat) == 0
	if forgotten || known && t.permit == nil {
		delete(ss.lost, path)
		return t, false, errs.New(errs.Conflict, "xrd.Open", path, "the write was given up when its connection was lost, its content is lost").
			WithRemedy("write the file again from its beginning")
	}
	return t, known, nil
}

// settled forgets a write whose client asked for its close.
func (ss *session) settled(path string, t ticket) {
	delete(ss.lost, path)
	for _, h := range ss.handles {
		if h.ticket != nil && h.ticket.permit == t.permit {
			h.ticket = nil
		}
	}
}
