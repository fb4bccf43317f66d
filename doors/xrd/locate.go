package xrd

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

// locator answers requests for the places of files and servers.
type locator struct {
	names hemera.Names
	files hemera.Files
	view  func() *hemera.View // nil: this server is the only one
	host  string              // this server's name; "" if it has none
}

func (s *Server) locator(m *ManagerOptions) *locator {
	return &locator{names: m.Names, files: m.Files, view: m.View, host: s.o.Host}
}

// serve answers kXR_locate. A manager answers requests about names itself, so for directories, and for every server that
// may have a path ("*/path"), it returns its own address, as a server: if it returned a manager, clients would also ask
// the servers behind it, and list a directory or add up the space once for each server. For every server ("*") it returns
// the nodes.
func (l *locator) serve(r *request) error {
	raw, _ := wire.SplitPath(r.payload)
	named := wire.DecodeLocate(r.Body).Options&wire.LocatePrefName != 0
	raw, every := strings.CutPrefix(raw, "*") // "*" asks for all servers, "*/path" for all that may have it
	if every && raw == "" {
		return r.ok(wire.AppendLocations(nil, l.servers(r.conn, named)))
	}
	path, err := wire.CleanPath(raw)
	if err != nil {
		return err
	}
	e, err := l.names.Stat(r.conn.ctx, r.who(), path) // it may fail with NotFound or Denied
	if err != nil {
		return err
	}
	if every || e.IsDir() {
		return r.ok(wire.AppendLocations(nil, []wire.Location{l.here(r.conn, named)}))
	}
	targets, err := l.files.Locate(r.conn.ctx, r.who(), path) // best first
	if err != nil {
		return err
	}
	list := make([]wire.Location, 0, len(targets))
	for _, t := range targets {
		list = append(list, wire.Location{Type: 'S', Access: 'r', Addr: t.Addr}) // a server that has the file, for reading
	}
	if len(list) == 0 { // a file without pieces is at this server
		list = append(list, l.here(r.conn, named))
	}
	return r.ok(wire.AppendLocations(nil, list))
}

// servers returns the nodes that are online, or this server if there are none.
func (l *locator) servers(c *conn, named bool) (list []wire.Location) {
	if l.view == nil {
		return []wire.Location{l.here(c, named)}
	}
	view := l.view() // one view for all nodes
	for _, n := range view.Nodes {
		if n.Status != hemera.NodeOnline { // clients would wait for an offline node
			continue
		}
		l := wire.Location{Type: 'S', Access: 'r', Addr: n.Addr}
		if slices.ContainsFunc(view.Disks, func(d hemera.Disk) bool { return d.Node == n.ID && d.Writable() }) {
			l.Access = 'w'
		}
		list = append(list, l)
	}
	if len(list) == 0 {
		return []wire.Location{l.here(c, named)}
	}
	return list
}

// here returns this server's address as the client of this connection reaches it.
func (l *locator) here(c *conn, named bool) wire.Location {
	addr := c.nc.LocalAddr().String()
	if named && l.host != "" && c.peer.Local.IsValid() {
		addr = net.JoinHostPort(l.host, strconv.Itoa(int(c.peer.Local.Port())))
	}
	return wire.Location{Type: 'S', Access: 'w', Addr: addr}
}
