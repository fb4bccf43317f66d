package link

import (
	"io"
	"net"
	"sync/atomic"
	"testing"

	"hemera/platform/poll"
	"hemera/rules/limits"
)

// bounded serves all classes within the bounds; doors keep the connections that they accept open.
func bounded(t *testing.T, b limits.Bounds, o MuxOptions) (net.Listener, *limits.Connections, map[Class]chan net.Conn) {
	t.Helper()
	return boundedAt(t, listenTCP(t), b, o)
}

func boundedAt(t *testing.T, base net.Listener, b limits.Bounds, o MuxOptions) (net.Listener, *limits.Connections, map[Class]chan net.Conn) {
	t.Helper()
	o.Connections = limits.NewConnections(b, ConnectionClasses()...)
	_, doors := serve(t, base, o, XRootD, HTTP, TLS)
	accepted := map[Class]chan net.Conn{}
	for class, l := range doors {
		ch := make(chan net.Conn)
		accepted[class] = ch
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { c.Close() })
				ch <- c
			}
		}()
	}
	return base, o.Connections, accepted
}

func say(t *testing.T, c net.Conn, hello string) {
	t.Helper()
	if _, err := io.WriteString(c, hello); err != nil {
		t.Fatal(err)
	}
}

// However many connections of any kind there are, an admin of this machine can connect, and a closed connection frees its
// place.
func TestMuxKeepsRoomForAdmins(t *testing.T) {
	var admin atomic.Bool
	base, connections, accepted := bounded(t, limits.Bounds{Total: 16, Share: 4, Reserve: 2},
		MuxOptions{Admin: func(remote, local net.Addr) bool { return admin.Load() }})
	var last net.Conn
	for range 4 { // http may have a quarter
		say(t, dialTCP(t, base), "GET /")
		last = <-accepted[HTTP]
	}
	refused := dialTCP(t, base)
	say(t, refused, "GET /")
	closedByPeer(t, refused)
	for range 4 { // and this machine half of all
		say(t, dialTCP(t, base), "\x00")
		<-accepted[XRootD]
	}
	closedByPeer(t, dialTCP(t, base))
	admin.Store(true)
	for _, hello := range []string{"GET /", "\x00"} {
		say(t, dialTCP(t, base), hello)
		(<-accepted[Classify(hello[0])]).Close()
	}
	admin.Store(false)
	last.Close()
	say(t, dialTCP(t, base), "GET /")
	<-accepted[HTTP]
	all := connections.Usages()[0]
	if all.Used != 8 || all.RefusedShare == 0 {
		t.Errorf("%+v", all)
	}
}

// Sockets of a loop release their places like any other connection.
func TestAdoptedConnectionsGiveTheirPlaceBack(t *testing.T) {
	loop, err := poll.NewLoop()
	if err != nil {
		t.Fatal(err)
	}
	defer loop.Close()
	base, connections, accepted := bounded(t, limits.Bounds{Total: 16, Share: 4}, MuxOptions{})
	for range 50 {
		c := dialTCP(t, base)
		say(t, c, "\x00")
		s, err := loop.Adopt(<-accepted[XRootD])
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := s.(*poll.Socket); !ok {
			t.Fatalf("the loop has a %T", s)
		}
		if u := connections.Usages()[0]; u.Used != 1 {
			t.Fatalf("%+v", u)
		}
		s.Close()
		s.Close()
	}
	for _, u := range connections.Usages() {
		if u.Used != 0 {
			t.Errorf("%+v", u)
		}
	}
}

// The mux closes silent connections before it refuses one that speaks. After that it asks doors to spare one.
func TestMuxMakesRoom(t *testing.T) {
	spared := make(chan net.Conn, 16)
	base, _, accepted := bounded(t, limits.Bounds{Total: 8, Share: 8}, MuxOptions{Relieve: func() bool {
		select {
		case c := <-spared:
			c.Close()
			return true
		default:
			return false
		}
	}})
	silent := []net.Conn{dialTCP(t, base), dialTCP(t, base)}
	for range 6 { // all that class xrootd may have
		say(t, dialTCP(t, base), "\x00")
		spared <- <-accepted[XRootD]
	}
	for range 4 {
		say(t, dialTCP(t, base), "\x00")
		<-accepted[XRootD]
	}
	for range 2 {
		say(t, dialTCP(t, base), "GET /")
		(<-accepted[HTTP]).Close()
	}
	_ = silent
}
