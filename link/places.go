package link

import (
	"net"
	"net/netip"

	"hemera/limits"
)

// counted is a connection that has a place among those a process takes, and gives it back when it is closed.
type counted struct {
	net.Conn
	lease *limits.Lease
}

// Close implements net.Conn.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.lease.Release()
	return err
}

// ends are the addresses of a connection, invalid where it is none of TCP, and whether both are on this machine.
func ends(conn net.Conn) (remote, local netip.AddrPort, here bool) {
	of := func(a net.Addr) netip.AddrPort {
		if t, ok := a.(*net.TCPAddr); ok {
			p := t.AddrPort()
			return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
		}
		return netip.AddrPort{}
	}
	remote, local = of(conn.RemoteAddr()), of(conn.LocalAddr())
	return remote, local, remote.Addr().IsLoopback() || remote.IsValid() && remote.Addr() == local.Addr()
}

// tryPlace finds a place for a connection without asking anybody. It is false when there is none and will be
// none; else the lease is set, or [Mux.hasPlace] has to find one. The caller holds mu.
func (m *Mux) tryPlace(a *arrival) bool {
	if m.options.Connections == nil {
		return true
	}
	remote, _, here := ends(a.conn)
	lease, verdict := m.options.Connections.Admit(remote.Addr(), here)
	if verdict == limits.TotalFull && m.pending.Len() > 0 {
		// Who has said nothing yet makes room for who may.
		m.giveUp(m.pending.Front().Value.(*arrival))
		lease, verdict = m.options.Connections.Admit(remote.Addr(), here)
	}
	if verdict == limits.Fits {
		a.lease = lease
		return true
	}
	if !here && verdict == limits.ShareFull || !here && m.options.Relieve == nil {
		m.refused(a.conn, verdict)
		return false
	}
	return true
}

// hasPlace finds a place for a connection that has none so far: one that can be spared elsewhere, or one of
// the reserve if it is an admin's.
func (m *Mux) hasPlace(a *arrival) bool {
	if m.options.Connections == nil || a.lease != nil {
		return true
	}
	remote, local, here := ends(a.conn)
	verdict := limits.TotalFull
	var lease *limits.Lease
	if m.options.Relieve != nil && m.options.Relieve() {
		lease, verdict = m.options.Connections.Admit(remote.Addr(), here)
	}
	if verdict != limits.Fits && here && m.options.Admin != nil && m.options.Admin(remote, local) {
		lease, verdict = m.options.Connections.AdmitReserved(remote.Addr())
	}
	if verdict != limits.Fits {
		m.refused(a.conn, verdict)
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.place == nil { // given up meanwhile
		lease.Release()
		return false
	}
	a.lease = lease
	return true
}

// enter counts the connection in its class.
func (m *Mux) enter(a *arrival, class Class) bool {
	verdict := a.lease.Enter(int(class))
	if verdict != limits.Fits && class == XRootD && m.options.Relieve != nil && m.options.Relieve() {
		verdict = a.lease.Enter(int(class))
	}
	if verdict == limits.Fits {
		return true
	}
	remote, local, here := ends(a.conn)
	if here && m.options.Admin != nil && m.options.Admin(remote, local) && a.lease.EnterReserved(int(class)) == limits.Fits {
		return true
	}
	m.refused(a.conn, verdict)
	return false
}

func (m *Mux) refused(conn net.Conn, why limits.Verdict) {
	m.options.Log.Warn("connection refused: too many are open", "remote", conn.RemoteAddr().String(), "why", why.String(),
		"remedy", "see Limits in docs/operations.md; a process that may open more files takes more connections")
}
