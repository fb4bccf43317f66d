package link

import (
	"container/list"
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"hemera/errs"
	"hemera/rules/limits"
)

// Class is a family of protocols that the first byte of a connection tells apart.
type Class int

// The classes.
const (
	XRootD Class = iota // the handshake begins with four zero bytes
	HTTP                // a method begins with a letter
	TLS                 // a handshake record has type 22
	classes
	Unknown Class = -1
)

// String is the class's name in logs.
func (c Class) String() string {
	if c < 0 || c >= classes {
		return "unknown"
	}
	return [classes]string{"xrootd", "http", "tls"}[c]
}

// Classify tells the class from a connection's first byte.
func Classify(first byte) Class {
	switch {
	case first == 0:
		return XRootD
	case first == 0x16:
		return TLS
	case 'A' <= first && first <= 'Z', 'a' <= first && first <= 'z':
		return HTTP
	}
	return Unknown
}

// MuxOptions bound what unidentified clients may cost.
type MuxOptions struct {
	// FirstByte is how long a client may stay silent after it connected.
	FirstByte time.Duration
	// Pending is how many connections may wait to be identified, or to be accepted by their door.
	// When one more comes the oldest is closed, so that silent clients cannot lock others out.
	Pending int
	// Connections bounds the connections of all classes, also those that doors have accepted; its classes are
	// numbered as here ([ConnectionClasses]). Ports of one process share it. Nil bounds nothing.
	Connections *limits.Connections
	// Admin says whether the process at the other end, on this machine, is an admin's: then the connection may
	// be one of the reserve. At a unix socket its address is a [Process]. It is asked only when there is no room otherwise. Nil knows no admins.
	Admin func(remote, local net.Addr) bool
	// Relieve closes some connections that can be spared, and reports whether there were any. It is asked when
	// there is no room. Nil has none.
	Relieve func() bool
	Log     *slog.Logger
}

// ConnectionClasses are the parts of all connections that each class may have.
func ConnectionClasses() []limits.Class {
	return []limits.Class{XRootD: {Name: "xrootd", Of: 3}, HTTP: {Name: "http", Of: 1}, TLS: {Name: "control", Of: 1}}
}

// Mux hands the connections of one listener to one listener a class. The first byte is only looked
// at (MSG_PEEK): doors get the *net.TCPConn itself, with nothing read, so that sendfile works; with bounds
// ([MuxOptions]) they get one that gives its place back when it is closed, which [Loop.Adopt] takes apart.
// Connections that are no TCP sockets are wrapped in one that replays the byte.
type Mux struct {
	base    net.Listener   // all connections come from here
	options MuxOptions     // with defaults filled in
	doors   [classes]*door // nil where a class is not served; fixed before Serve
	done    chan struct{}
	running sync.WaitGroup // one goroutine for each pending connection

	mu      sync.Mutex // guards pending and closed
	pending *list.List // of *arrival, oldest first
	closed  bool
}

// NewMux makes a mux over base. Call [Mux.Listener] for each class that is served, then [Mux.Serve].
// It owns base from now on: Close closes it.
func NewMux(base net.Listener, o MuxOptions) *Mux {
	if o.FirstByte <= 0 {
		o.FirstByte = 10 * time.Second
	}
	if o.Pending <= 0 {
		o.Pending = 1024
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Mux{base: base, options: o, done: make(chan struct{}), pending: list.New()}
}

// Listener is the listener of one class; it must be asked for before Serve. Connections of classes
// nobody asked for are closed. Closing it stops its class alone.
func (m *Mux) Listener(c Class) net.Listener {
	if m.doors[c] == nil {
		m.doors[c] = &door{mux: m, ready: make(chan offered), done: make(chan struct{})}
	}
	return m.doors[c]
}

// Serve accepts until Close or until the base listener fails for good, and returns nil or that
// failure. All listeners are closed when it returns. Running out of file descriptors is not for
// good: it waits and goes on.
func (m *Mux) Serve() error {
	defer m.Close()
	pause := time.Duration(0)
	for {
		conn, err := m.base.Accept()
		if err == nil {
			pause = 0
			m.admit(conn)
			continue
		}
		select {
		case <-m.done:
			return nil
		default:
		}
		if !passing(err) {
			return errs.Wrap(err, "link.Serve", m.base.Addr().String())
		}
		// From 5 ms, doubling to 1 s: descriptors come back when connections end.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		m.options.Log.Warn("cannot accept a connection, trying again", "addr", m.base.Addr().String(), "error", err, "after", pause)
		select {
		case <-m.done:
			return nil
		case <-time.After(pause):
		}
	}
}

// passing reports failures of accept that end by themselves.
// After ECONNABORTED the client is gone; the others end when something is closed or memory is free.
func passing(err error) bool {
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// arrival is a connection that no door has taken yet. gone is closed when the mux closes the connection first.
type arrival struct {
	conn  net.Conn
	lease *limits.Lease // nil without bounds, and before it was found
	gone  chan struct{}
	place *list.Element // nil once it is taken or closed; guarded by Mux.mu
}

// admit counts the connection among the pending and identifies it in the background.
// It runs in the accepting goroutine and must not block: so it asks nobody, and the rest is done by a goroutine of
// the connection.
func (m *Mux) admit(conn net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		conn.Close()
		return
	}
	if m.pending.Len() >= m.options.Pending {
		oldest := m.pending.Front().Value.(*arrival)
		m.options.Log.Debug("too many silent connections, closed the oldest", "remote", oldest.conn.RemoteAddr().String())
		m.giveUp(oldest)
	}
	a := &arrival{conn: conn, gone: make(chan struct{})}
	if !m.tryPlace(a) {
		conn.Close()
		return
	}
	a.place = m.pending.PushBack(a)
	m.running.Go(func() {
		if !m.identify(a) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.giveUp(a)
		}
	})
}

// identify finds the connection's door and waits until it has taken the connection.
// It reports false if the connection is to be closed. It blocks for at most FirstByte, and then until the door
// accepts or the mux closes the connection.
func (m *Mux) identify(a *arrival) bool {
	if !m.hasPlace(a) {
		return false
	}
	_ = a.conn.SetReadDeadline(time.Now().Add(m.options.FirstByte))
	ready, first, err := peek(a.conn)
	if err != nil {
		m.options.Log.Debug("connection said nothing", "remote", a.conn.RemoteAddr().String(), "error", err)
		return false
	}
	// The door sets deadlines of its own.
	_ = a.conn.SetReadDeadline(time.Time{})
	class := Classify(first)
	if class == Unknown || m.doors[class] == nil {
		m.options.Log.Debug("connection speaks nothing served here", "remote", a.conn.RemoteAddr().String(), "first", first)
		return false
	}
	if a.lease == nil {
		return m.doors[class].offer(a, ready)
	}
	if !m.enter(a, class) {
		return false
	}
	return m.doors[class].offer(a, &counted{Conn: ready, lease: a.lease})
}

// take ends the mux's part: true when the connection is the caller's, false when it was closed meanwhile.
// It decides between a door that accepts and a mux that closes: whichever has the lock first has the connection.
func (m *Mux) take(a *arrival) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.place == nil {
		return false
	}
	m.pending.Remove(a.place)
	a.place = nil
	return true
}

// giveUp closes the connection unless a door has taken it. The caller holds mu.
func (m *Mux) giveUp(a *arrival) {
	if a.place == nil {
		return
	}
	m.pending.Remove(a.place)
	a.place = nil
	close(a.gone)
	a.conn.Close()
	a.lease.Release()
}

// Close closes the base listener, all doors' listeners and every pending connection, and waits for
// the mux's goroutines. Accepted connections live on.
func (m *Mux) Close() error {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	for m.pending.Len() > 0 {
		m.giveUp(m.pending.Front().Value.(*arrival))
	}
	m.mu.Unlock()
	var err error
	if first {
		close(m.done)
		err = m.base.Close()
	}
	m.running.Wait()
	return err
}

// door is one class's listener.
type door struct {
	mux   *Mux
	ready chan offered // without a buffer: what is not accepted stays pending
	once  sync.Once    // closes done
	done  chan struct{}
}

// offered is a connection on its way to a door, which may still be closed before the door has it.
type offered struct {
	arrival *arrival
	conn    net.Conn
}

// offer waits until the door has received the connection.
// It reports false if the connection was closed, or its door was.
func (d *door) offer(a *arrival, conn net.Conn) bool {
	select {
	case d.ready <- offered{a, conn}:
		return true
	case <-a.gone:
	case <-d.done:
	}
	return false
}

// Accept returns net.ErrClosed after Close.
// Connections that the mux closed while they waited are skipped. It may be called from several goroutines.
func (d *door) Accept() (net.Conn, error) {
	for {
		select {
		case o := <-d.ready:
			if d.mux.take(o.arrival) {
				return o.conn, nil
			}
		case <-d.done:
			return nil, d.ended()
		case <-d.mux.done:
			return nil, d.ended()
		}
	}
}

// ended is the error of an accept after the end of the door or the mux.
func (d *door) ended() error {
	return &net.OpError{Op: "accept", Net: "tcp", Addr: d.Addr(), Err: net.ErrClosed}
}

// Close ends the class; the mux goes on.
// Connections of its class that come later are closed.
func (d *door) Close() error {
	d.once.Do(func() { close(d.done) })
	return nil
}

// Addr returns the address of the base listener: all classes share it.
func (d *door) Addr() net.Addr { return d.mux.base.Addr() }
