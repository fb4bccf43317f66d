package link

import (
	"net"
	"net/netip"

	"hemera/rules/limits"
)

// counted is a connection that has a place among those of the process, and releases it when it is closed. It is a
// poll.Wrapped: a package that needs the socket unwraps it and releases the place itself.
type counted struct {
	net.Conn
	lease *limits.Lease
}

// Close implements net.Conn. It releases the place only after the socket is closed: otherwise the process could have more
// descriptors open than the limits allow for. A second release has no effect.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.lease.Release()
	return err
}

// Unwrap returns the inner connection and the function that releases its place. The caller calls release when it closes
// the connection, and must not use c any more.
func (c *counted) Unwrap() (within net.Conn, release func()) { return c.Conn, c.lease.Release }

// clientOf returns the client that a connection counts for, and whether it is from this machine. The client is a user for
// a unix socket, and an address for TCP. A connection between two equal addresses is from this machine, whatever the
// address is.
func clientOf(conn net.Conn) (who limits.Client, here bool) {
	if p, ok := conn.RemoteAddr().(Process); ok {
		return limits.User(p.UID), true
	}
	of := func(a net.Addr) netip.Addr {
		if t, ok := a.(*net.TCPAddr); ok {
			return t.AddrPort().Addr().Unmap()
		}
		return netip.Addr{}
	}
	remote, local := of(conn.RemoteAddr()), of(conn.LocalAddr())
	here = remote.IsLoopback() || remote.IsValid() && remote == local
	return limits.Address(remote, here), here
}

// isAdmin reports whether a connection from this machine belongs to an admin. It may block: MuxOptions.Admin may look up
// the owner of the client's socket.
func (m *Mux) isAdmin(conn net.Conn) bool {
	return m.options.Admin != nil && m.options.Admin(conn.RemoteAddr(), conn.LocalAddr())
}

// tryPlace looks for a place for a connection without blocking. It returns false if the connection cannot get one. If it
// returns true, it has set the lease, or [Mux.hasPlace] has to find a place, which may block. The caller holds mu.
func (m *Mux) tryPlace(a *arrival) bool {
	if m.options.Connections == nil {
		return true
	}
	who, here := clientOf(a.conn)
	lease, verdict := m.options.Connections.Admit(who)
	if verdict == limits.TotalFull && m.pending.Len() > 0 {
		// Close a silent connection for one that may not be silent.
		m.drop(m.pending.Front().Value.(*arrival))
		lease, verdict = m.options.Connections.Admit(who)
	}
	if verdict == limits.Fits {
		a.lease = lease
		return true
	}
	// Closing others does not help a client that has used its own share, unless it may be an admin of this machine.
	if !here && verdict == limits.ShareFull || !here && m.options.Relieve == nil {
		m.refused(a.conn, verdict)
		return false
	}
	return true
}

// hasPlace finds a place for a connection that has none: one that can be spared elsewhere, or one of the reserve if the
// client is an admin. It may block, and runs on the arrival's goroutine without a lock.
func (m *Mux) hasPlace(a *arrival) bool {
	if m.options.Connections == nil || a.lease != nil {
		return true
	}
	who, here := clientOf(a.conn)
	verdict := limits.TotalFull
	var lease *limits.Lease
	if m.options.Relieve != nil && m.options.Relieve() {
		lease, verdict = m.options.Connections.Admit(who)
	}
	if verdict != limits.Fits && here && m.isAdmin(a.conn) {
		lease, verdict = m.options.Connections.AdmitReserved(who)
	}
	if verdict != limits.Fits {
		m.refused(a.conn, verdict)
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.place == nil { // closed meanwhile
		lease.Release()
		return false
	}
	a.lease = lease
	return true
}

// enter counts the connection in its class. It returns false if the class is full, nothing can be spared, and the client
// is not an admin of this machine. Only XRootD connections can be spared, so Relieve is used for that class alone.
func (m *Mux) enter(a *arrival, class Class) bool {
	verdict := a.lease.Enter(int(class))
	if verdict != limits.Fits && class == XRootD && m.options.Relieve != nil && m.options.Relieve() {
		verdict = a.lease.Enter(int(class))
	}
	if verdict == limits.Fits {
		return true
	}
	if _, here := clientOf(a.conn); here && m.isAdmin(a.conn) && a.lease.EnterReserved(int(class)) == limits.Fits {
		return true
	}
	m.refused(a.conn, verdict)
	return false
}

// refused logs a connection that gets no place, with advice for the admin. The caller closes the connection.
func (m *Mux) refused(conn net.Conn, why limits.Verdict) {
	m.options.Log.Warn("connection refused: too many are open", "remote", conn.RemoteAddr().String(), "why", why.String(),
		"remedy", "see Limits in docs/operations.md; a process that may open more files takes more connections")
}
