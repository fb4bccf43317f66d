package client_test

import (
	"bufio"
	"io"
	"net"
	"sync"
	"testing"

	"hemera/app/client"
	"hemera/rules/wire"
)

// asked is one request as a scripted server got it.
type asked struct {
	wire.RequestHeader
	payload string
	at      *script
}

// script is a server that answers as a test says: what no real server does on demand. It answers
// the login by itself.
type script struct {
	t        *testing.T
	flags    uint32
	security string
	// answer returns what to send; nil sends nothing, an empty slice ends the connection.
	answer func(asked) []byte

	listener net.Listener
	mu       sync.Mutex
	requests []asked
	conns    int
}

const (
	dataServer = wire.FlagIsServer | wire.FlagSupPosc | wire.FlagSupPgrw
	manager    = wire.FlagIsManager
)

func newScript(t *testing.T, flags uint32, answer func(asked) []byte) *script {
	return startScript(&script{t: t, flags: flags, answer: answer})
}

// newSecureScript asks for proof of identity by the mechanisms in security.
func newSecureScript(t *testing.T, security string, answer func(asked) []byte) *script {
	return startScript(&script{t: t, flags: dataServer, security: security, answer: answer})
}

func startScript(s *script) *script {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.listener = l
	s.t.Cleanup(func() { l.Close() })
	go s.accept()
	return s
}

func (s *script) port() int { return s.listener.Addr().(*net.TCPAddr).Port }

func (s *script) url(path string) client.URL {
	return client.URL{Endpoint: client.Endpoint{Host: "127.0.0.1", Port: s.port()}, Path: path}
}

// got returns the requests of a kind, in order.
func (s *script) got(id wire.RequestID) []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []asked
	for _, r := range s.requests {
		if r.ID == id {
			list = append(list, r)
		}
	}
	return list
}

func (s *script) accept() {
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

func (s *script) serve(c net.Conn, n int) {
	defer c.Close()
	in := bufio.NewReader(c)
	hello := make([]byte, wire.HandshakeSize)
	if _, err := io.ReadFull(in, hello); err != nil || !wire.IsHandshake(hello) {
		return
	}
	c.Write(wire.HandshakeReply{Version: wire.ProtocolVersion, Type: 1}.Append(nil))
	head := make([]byte, wire.RequestHeaderSize)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		r := asked{RequestHeader: wire.ParseRequestHeader(head), at: s}
		payload := make([]byte, r.Length)
		if _, err := io.ReadFull(in, payload); err != nil {
			return
		}
		r.payload = string(payload)
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		var b []byte
		switch r.ID {
		case wire.ReqProtocol:
			b = good(r, wire.ProtocolReply{Version: wire.ProtocolVersion, Flags: s.flags}.Append(nil))
		case wire.ReqLogin:
			b = good(r, wire.LoginReply{Session: wire.SessionID{byte(n + 1)}, Security: s.security}.Append(nil))
		default:
			b = s.answer(r)
		}
		if b == nil {
			continue
		}
		if len(b) == 0 {
			return
		}
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

func good(r asked, body []byte) []byte {
	return wire.AppendResponse(nil, r.Stream, wire.StatusOK, body)
}

func bad(r asked, code wire.Code, text string) []byte {
	return wire.AppendResponse(nil, r.Stream, wire.StatusError, wire.AppendError(nil, wire.Error{Code: code, Text: text}))
}

func redirect(r asked, to *script, opaque wire.Opaque) []byte {
	body := wire.Redirect{Port: int32(to.port()), Host: "127.0.0.1", Opaque: opaque}.Append(nil)
	return wire.AppendResponse(nil, r.Stream, wire.StatusRedirect, body)
}

// opened answers an open with a handle and a size.
func opened(r asked, size int64) []byte {
	return good(r, wire.OpenReply{Handle: wire.Handle{0, 0, 0, 7}, Stat: &wire.StatInfo{ID: 1, Size: size}}.Append(nil, false))
}

// pages answers a pgread with the part of data it asks for.
func pages(r asked, data []byte) []byte {
	q := wire.DecodePgread(r.Body)
	part := data[min(q.Offset, int64(len(data))):min(q.Offset+int64(q.Length), int64(len(data)))]
	body := wire.AppendPages(nil, part, wire.SumPages(make([]uint32, wire.Fragments(q.Offset, int64(len(part)))), part, q.Offset), q.Offset)
	f := wire.StatusFrame{Stream: r.Stream, Request: wire.ReqPgread, DataLength: int32(len(body)), Offset: q.Offset}
	return append(f.Append(nil), body...)
}

// written answers a pgwrite.
func written(r asked, list []byte) []byte {
	f := wire.StatusFrame{Stream: r.Stream, Request: wire.ReqPgwrite, DataLength: int32(len(list)), Offset: wire.DecodePgwrite(r.Body).Offset}
	return append(f.Append(nil), list...)
}
