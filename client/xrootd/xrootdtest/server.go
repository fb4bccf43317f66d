// Package xrootdtest is an XRootD server for tests. The test decides each answer, so that a server can also behave as
// real servers rarely do: answer long after a promise, end the connection in the middle of an answer, or send a page with
// a wrong checksum.
//
// [New] starts a [Server] on a port of the loopback interface. The server does the handshake and the login by itself and
// passes every later [Request] to the test's function, in the order of arrival on a connection. [Good], [Bad],
// [Redirect], [Opened], [Pages] and [Written] build usual answers.
//
// Each connection has one goroutine, which answers a request before it reads the next one: a function that blocks delays
// its own connection only. The server has no TLS, and does not check logins.
package xrootdtest

import (
	"bufio"
	"io"
	"net"
	"sync"
	"testing"

	"hemera/client/xrootd"
	"hemera/rules/wire"
)

// Request is one request as it arrived. Stream in its header is also the stream of its answer.
type Request struct {
	wire.RequestHeader
	Payload string  // without the header
	At      *Server // for answers that depend on the server
}

// Server is the server. Its methods may be called concurrently.
type Server struct {
	flags    uint32 // in the answer to kXR_protocol
	security string // in the answer to kXR_login
	// answer returns the bytes to send. After nil nothing is sent; after an empty slice the connection ends.
	answer func(Request) []byte

	listener net.Listener
	mu       sync.Mutex // guards the following fields
	requests []Request  // all, in the order of arrival
	conns    int        // made so far
}

// Flags that a server sends at the handshake to state its role.
const (
	DataServer = wire.FlagIsServer | wire.FlagSupPosc | wire.FlagSupPgrw
	Manager    = wire.FlagIsManager
)

// New starts a server that requires no authentication. It stops when the test ends.
func New(t testing.TB, flags uint32, answer func(Request) []byte) *Server {
	t.Helper()
	return startFor(t, &Server{flags: flags, answer: answer})
}

// NewSecure starts a data server that requires authentication by the mechanisms in security, the text of a login's
// answer, such as "&P=unix&P=host".
func NewSecure(t testing.TB, security string, answer func(Request) []byte) *Server {
	t.Helper()
	return startFor(t, &Server{flags: DataServer, security: security, answer: answer})
}

// startFor starts a server that stops when the test ends.
func startFor(t testing.TB, s *Server) *Server {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Start starts a server without a test, for examples. The caller calls Stop.
func Start(flags uint32, answer func(Request) []byte) (*Server, error) {
	s := &Server{flags: flags, answer: answer}
	return s, s.start()
}

// start listens at a free port.
func (s *Server) start() (err error) {
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
		go s.accept()
	}
	return err
}

// Stop closes the port. Existing connections stay open.
func (s *Server) Stop() { s.listener.Close() }

// Port returns the TCP port of the server.
func (s *Server) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// URL returns the URL of a path at the server.
func (s *Server) URL(path string) xrootd.URL {
	return xrootd.URL{Endpoint: xrootd.Endpoint{Host: "127.0.0.1", Port: s.Port()}, Path: path}
}

// Conns returns the number of connections that were made.
func (s *Server) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// Got returns the requests of one kind, in the order of their arrival.
func (s *Server) Got(id wire.RequestID) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Request
	for _, r := range s.requests {
		if r.ID == id {
			list = append(list, r)
		}
	}
	return list
}

// accept serves connections until Stop.
func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		n := s.conns
		s.conns++
		s.mu.Unlock()
		go s.serve(c, n)
	}
}

// serve answers the requests of the nth connection, one after the other.
func (s *Server) serve(c net.Conn, n int) {
	defer c.Close()
	in := bufio.NewReader(c)
	// The handshake has a fixed size, so it is read before any request.
	hello := make([]byte, wire.HandshakeSize)
	if _, err := io.ReadFull(in, hello); err != nil || !wire.IsHandshake(hello) {
		return
	}
	if _, err := c.Write(wire.HandshakeReply{Version: wire.ProtocolVersion, Type: 1}.Append(nil)); err != nil {
		return
	}
	head := make([]byte, wire.RequestHeaderSize)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		r := Request{RequestHeader: wire.ParseRequestHeader(head), At: s}
		payload := make([]byte, r.Length)
		if _, err := io.ReadFull(in, payload); err != nil {
			return
		}
		r.Payload = string(payload)
		// Before the answer, so that a test that has the answer finds the request with Got.
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		var b []byte
		switch r.ID {
		case wire.ReqProtocol:
			b = Good(r, wire.ProtocolReply{Version: wire.ProtocolVersion, Flags: s.flags}.Append(nil))
		case wire.ReqLogin:
			// The session id shows tests of reconnects which connection it is.
			b = Good(r, wire.LoginReply{Session: wire.SessionID{byte(n + 1)}, Security: s.security}.Append(nil))
		default:
			b = s.answer(r)
		}
		// After a nil answer the server stays silent; the test may send something later.
		if b == nil { // the client waits
			continue
		}
		if len(b) == 0 { // the connection ends
			return
		}
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// Good answers a request with a body.
func Good(r Request, body []byte) []byte {
	return wire.AppendResponse(nil, r.Stream, wire.StatusOK, body)
}

// Bad answers a request with an error.
func Bad(r Request, code wire.Code, text string) []byte {
	return wire.AppendResponse(nil, r.Stream, wire.StatusError, wire.AppendError(nil, wire.Error{Code: code, Text: text}))
}

// Redirect sends the client to another server.
func Redirect(r Request, to *Server, opaque wire.Opaque) []byte {
	body := wire.Redirect{Port: int32(to.Port()), Host: "127.0.0.1", Opaque: opaque}.Append(nil)
	return wire.AppendResponse(nil, r.Stream, wire.StatusRedirect, body)
}

// Opened answers an open with a handle and a size.
func Opened(r Request, size int64) []byte {
	return Good(r, wire.OpenReply{Handle: wire.Handle{0, 0, 0, 7}, Stat: &wire.StatInfo{ID: 1, Size: size}}.Append(nil, false))
}

// OneFile returns an answer function of a data server that has one file, for reading, at every path.
func OneFile(data []byte) func(Request) []byte {
	size := int64(len(data))
	return func(r Request) []byte {
		switch r.ID {
		case wire.ReqStat:
			return Good(r, append(wire.StatInfo{ID: 1, Size: size, Flags: wire.StatReadable}.Append(nil), 0))
		case wire.ReqOpen:
			return Opened(r, size)
		case wire.ReqPgread:
			return Pages(r, data)
		case wire.ReqQuery:
			return Bad(r, wire.Unsupported, "no checksums")
		}
		return Good(r, nil)
	}
}

// ChangingFile works like [OneFile] for a file whose state the caller changes while clients read it. Its id is 1 and its
// times are 1000 at first.
func ChangingFile(data []byte) (answer func(Request) []byte, change func(func(*wire.StatInfo))) {
	var mu sync.Mutex
	info := wire.StatInfo{ID: 1, Size: int64(len(data)), Flags: wire.StatReadable, Mtime: 1000, Ctime: 1000, Atime: 1000}
	one := OneFile(data)
	answer = func(r Request) []byte {
		if r.ID != wire.ReqStat {
			return one(r)
		}
		mu.Lock()
		defer mu.Unlock()
		return Good(r, append(info.Append(nil), 0))
	}
	return answer, func(to func(*wire.StatInfo)) {
		mu.Lock()
		defer mu.Unlock()
		to(&info)
	}
}

// Pages answers a pgread with the requested part of data.
func Pages(r Request, data []byte) []byte {
	q := wire.DecodePgread(r.Body)
	part := data[min(q.Offset, int64(len(data))):min(q.Offset+int64(q.Length), int64(len(data)))]
	body := wire.AppendPages(nil, part, Sums(part, q.Offset), q.Offset)
	f := wire.StatusFrame{Stream: r.Stream, Request: wire.ReqPgread, DataLength: int32(len(body)), Offset: q.Offset}
	return append(f.Append(nil), body...)
}

// Written answers a pgwrite. list has the pages that arrived damaged; nil for none.
func Written(r Request, list []byte) []byte {
	f := wire.StatusFrame{Stream: r.Stream, Request: wire.ReqPgwrite, DataLength: int32(len(list)), Offset: wire.DecodePgwrite(r.Body).Offset}
	return append(f.Append(nil), list...)
}

// Sums returns the checksums of the page fragments of p, which begins at an offset of a file.
func Sums(p []byte, off int64) []uint32 {
	return wire.SumPages(make([]uint32, wire.Fragments(off, int64(len(p)))), p, off)
}

// Pattern returns n bytes. No two of their pages are equal.
func Pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}
