package link

import (
	"container/list"
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"hemera/rules/limits"
	"hemera/words/errs"
)

// Class is a family of protocols that the first byte of a connection identifies. Its values index Mux.doors and the
// classes of [ConnectionClasses].
type Class int

// The classes.
const (
	XRootD  Class = iota // the handshake begins with four zero bytes
	HTTP                 // a method begins with a letter
	TLS                  // a handshake record has type 22
	classes              // the number of classes
	Unknown Class = -1   // a protocol without a door here
)

// String returns the class's name in logs.
func (c Class) String() string {
	if c < 0 || c >= classes {
		return "unknown"
	}
	return [classes]string{"xrootd", "http", "tls"}[c]
}

// Classify returns the class of a connection by its first byte. The values cannot collide: XRootD's handshake begins with
// twelve zero bytes, an HTTP method is a token of letters (RFC 9110, section 9.1), and a TLS client begins with a
// handshake record (RFC 8446, section 5.1).
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

// MuxOptions bounds the resources that unidentified clients use.
type MuxOptions struct {
	// FirstByte is the time for which a client may stay silent after it connected; 0 or less means 10 s.
	FirstByte time.Duration
	// Pending is the number of connections that may wait to be identified, or to be accepted by their door; 0 or less
	// means 1024. If there is one more, the oldest is closed, so that silent clients cannot lock others out.
	Pending int
	// Connections bounds the connections of all classes, including those that doors have accepted; its classes are
	// numbered as here ([ConnectionClasses]). All ports of a process share it. Nil means no bound.
	Connections *limits.Connections
	// Admin reports whether the process at the other end, on this machine, belongs to an admin: then the connection may
	// use the reserve. At a unix socket its address is a [Process]. The mux calls Admin only if there is no other place,
	// and holds no lock, so it may block. Nil means that there are no admins.
	Admin func(remote, local net.Addr) bool
	// Relieve closes some connections that can be spared, and reports whether there were any. The mux calls it if no
	// place is free, without a lock, from several goroutines at a time. May be nil.
	Relieve func() bool
	// Log gets refusals of the limits and failures of accept as warnings, and problems with a single client as debug
	// messages: a client must not fill the log. Nil discards all.
	Log *slog.Logger
}

// ConnectionClasses returns the part of all connections that each class may have, in quarters. So XRootD clients alone
// cannot keep HTTP and TLS out, and the reverse. The index of a class is its [Class].
func ConnectionClasses() []limits.Class {
	return []limits.Class{XRootD: {Name: "xrootd", Of: 3}, HTTP: {Name: "http", Of: 1}, TLS: {Name: "control", Of: 1}}
}

// Mux distributes the connections of one listener to one listener for each class. It does not consume the first byte
// (MSG_PEEK): doors get the *net.TCPConn itself, so that sendfile works. With bounds ([MuxOptions]) a door gets a
// connection that releases its place when it is closed; poll.Loop.Adopt unwraps it. A connection that is not a socket is
// wrapped in one that replays the byte.
//
// All methods are safe for concurrent use at any time, except Listener, which must be called before Serve.
type Mux struct {
	base    net.Listener
	options MuxOptions
	doors   [classes]*door // nil for a class that is not served; fixed before Serve
	done    chan struct{}  // closed by Close
	running sync.WaitGroup // one goroutine for each pending connection

	mu      sync.Mutex // guards pending and closed
	pending *list.List // of *arrival, oldest first
	closed  bool
}

// NewMux makes a mux over base. Call [Mux.Listener] for each class that is served, then [Mux.Serve].
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

// Listener returns the listener of one class, the same one each time. It must be called before Serve, which reads the
// table of doors without a lock. The mux closes connections of a class without a listener. Closing the listener stops its
// class only.
func (m *Mux) Listener(c Class) net.Listener {
	if m.doors[c] == nil {
		m.doors[c] = &door{mux: m, ready: make(chan offered), done: make(chan struct{})}
	}
	return m.doors[c]
}

// Serve accepts connections. It blocks until Close and then returns nil, or until the base listener fails permanently and
// then returns that error. All listeners are closed when it returns. A lack of file descriptors or memory is temporary:
// Serve tries again after 5 ms, and doubles the pause each time, up to 1 s.
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
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		m.options.Log.Warn("cannot accept a connection, trying again", "addr", m.base.Addr().String(), "error", err, "after", pause)
		select {
		case <-m.done:
			return nil
		case <-time.After(pause):
		}
	}
}

// passing reports whether an accept failed for a temporary reason: missing resources, or a client that left before it was
// accepted (accept(2)).
func passing(err error) bool {
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// arrival is a connection that no door has accepted yet. Either drop or claim ends it: the first that finds place set
// clears it, under Mux.mu, and then owns the connection and its lease.
type arrival struct {
	conn  net.Conn
	lease *limits.Lease // nil without bounds, and before there is a place; set under Mux.mu or before the goroutine starts
	gone  chan struct{} // closed when the mux closes the connection
	place *list.Element // in Mux.pending; nil once it is claimed or dropped; guarded by Mux.mu
}

// admit counts the connection among the pending and identifies it in the background. It does not block: the accept loop
// calls it.
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
		m.drop(oldest)
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
			m.drop(a)
		}
	})
}

// identify finds the connection's door and waits until the door has accepted the connection. It returns false if that
// fails; the caller then drops the connection. Each arrival has its own goroutine for it. It blocks up to FirstByte on
// the client, and without a bound on the door: if a door is too slow, its oldest connections are closed by the Pending
// bound.
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
	_ = a.conn.SetReadDeadline(time.Time{}) // a door sets its own
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

// claim ends the mux's ownership. It returns true if the connection belongs to the caller from now on, and false if the
// mux has closed it meanwhile.
func (m *Mux) claim(a *arrival) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.place == nil {
		return false
	}
	m.pending.Remove(a.place)
	a.place = nil
	return true
}

// drop closes the connection and releases its lease, unless a door has accepted it or it was dropped before. The caller
// holds mu. Closing a socket without unsent data does not block.
func (m *Mux) drop(a *arrival) {
	if a.place == nil {
		return
	}
	m.pending.Remove(a.place)
	a.place = nil
	close(a.gone)
	a.conn.Close()
	a.lease.Release()
}

// Close closes the base listener, all doors' listeners and every pending connection, and waits for the mux's goroutines.
// Accepted connections stay open. Only the first call returns an error of the base listener; every call waits.
func (m *Mux) Close() error {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	for m.pending.Len() > 0 {
		m.drop(m.pending.Front().Value.(*arrival))
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
	ready chan offered // unbuffered: connections that are not accepted stay pending, and count
	once  sync.Once    // guards the close of done
	done  chan struct{}
}

// offered is a connection on its way to a door. The mux may still close it before the door has claimed it.
type offered struct {
	arrival *arrival
	conn    net.Conn // the connection for the door: arrival.conn, or a wrapper of it
}

// offer blocks until the door has received the connection, and returns true. It returns false if the mux dropped the
// connection or the door was closed first.
func (d *door) offer(a *arrival, conn net.Conn) bool {
	select {
	case d.ready <- offered{a, conn}:
		return true
	case <-a.gone:
	case <-d.done:
	}
	return false
}

// Accept implements net.Listener. It skips connections that the mux has closed meanwhile, and returns net.ErrClosed after
// Close of the door or the mux.
func (d *door) Accept() (net.Conn, error) {
	for {
		select {
		case o := <-d.ready:
			if d.mux.claim(o.arrival) {
				return o.conn, nil
			}
		case <-d.done:
			return nil, d.ended()
		case <-d.mux.done:
			return nil, d.ended()
		}
	}
}

// ended returns the error of an accept after the end of the door or the mux, in the form of package net: http.Server and
// others look for net.ErrClosed.
func (d *door) ended() error {
	return &net.OpError{Op: "accept", Net: "tcp", Addr: d.Addr(), Err: net.ErrClosed}
}

// Close implements net.Listener. It ends the class; the mux continues and closes new connections of the class.
func (d *door) Close() error {
	d.once.Do(func() { close(d.done) })
	return nil
}

// Addr returns the address of the base listener: all classes share it.
func (d *door) Addr() net.Addr { return d.mux.base.Addr() }
