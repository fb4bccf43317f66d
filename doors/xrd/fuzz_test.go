package xrd

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// script is a connection that reads prepared bytes and takes any answer.
type script struct{ in *bytes.Reader }

func (s script) Read(p []byte) (int, error)       { return s.in.Read(p) }
func (s script) Write(p []byte) (int, error)      { return len(p), nil }
func (s script) Close() error                     { return nil }
func (s script) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (s script) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2} }
func (s script) SetDeadline(time.Time) error      { return nil }
func (s script) SetReadDeadline(time.Time) error  { return nil }
func (s script) SetWriteDeadline(time.Time) error { return nil }

// FuzzSession sends arbitrary bytes to both doors after a login with an open file: the doors must end the session without
// a panic, and release everything.
func FuzzSession(f *testing.F) {
	one := wire.Handle{0, 0, 0, 1}
	add := func(r wire.Request, payload string, rest ...byte) {
		b := append(wire.AppendRequest(nil, wire.StreamID{1, 2}, r, len(payload)), payload...)
		f.Add(append(b, rest...))
	}
	add(wire.Stat{}, "/f?x=y")
	add(wire.Read{Handle: one, Length: 1 << 30}, "")
	add(wire.Pgread{Handle: one, Length: 100}, "\x01\x00")
	add(wire.Write{Handle: one}, "data")
	add(wire.Pgwrite{Handle: one}, string(pages([]byte("data"), 0)))
	add(wire.Readv{}, string(wire.Segment{Handle: one, Length: 2}.Append(nil)))
	add(wire.Writev{}, string(wire.Segment{Handle: one, Length: 2}.Append(nil)), 'a', 'b')
	add(wire.Fattr{Handle: one, Subcode: wire.FattrSet, Count: 1}, "\x00\x00\x00a\x00\x00\x00\x00\x01x")
	add(wire.Chkpoint{Handle: one}, "", wire.AppendRequest(nil, wire.StreamID{}, wire.Chkpoint{Handle: one, Operation: wire.CkpRollback}, 0)...)
	add(wire.Mv{}, "/f /g")
	add(wire.Dirlist{Options: wire.DirlistCksum}, "/")
	add(wire.Query{Kind: wire.QueryConfig}, "role")
	add(wire.Open{Options: wire.OpenDelete}, "/g?hem.cap=grant0&tpc.key=123456789&tpc.src=h")
	add(wire.Close{Handle: one}, "")
	add(wire.Truncate{Handle: one, Size: 1 << 20}, "")
	hello := wire.AppendHandshake(nil)
	hello = wire.AppendRequest(hello, wire.StreamID{}, wire.Protocol{Version: 0x520}, 0)
	hello = wire.AppendRequest(hello, wire.StreamID{}, wire.Login{User: "fuzz"}, 0)
	open := "/f?hem.cap=grant0"
	hello = append(wire.AppendRequest(hello, wire.StreamID{}, wire.Open{Options: wire.OpenUpdate}, len(open)), open...)
	f.Fuzz(func(t *testing.T, b []byte) {
		m := newMemory()
		p := &pair{memory: m}
		p.put("/f", "content")
		m.addr = "127.0.0.1:1"
		m.fail = func(op string) error { return nil }
		if _, err := p.grantOpen(hemera.OpenRequest{Path: "/f", Access: hemera.AccessUpdate}); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{
			{Manager: &ManagerOptions{Names: m, Attributes: m, Files: memoryFiles{m}}},
			{Node: &NodeOptions{Node: smallNode{m}, Resolve: m.Resolve, Puller: failingPuller{}}},
		} {
			o.ManagerAddr, o.Policy, o.Limits.RendezvousTTL = func() string { return "m:1" }, everybody{}, time.Millisecond
			s, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			s.ServeConn(context.Background(), script{bytes.NewReader(append(bytes.Clone(hello), b...))})
			if left := s.Sessions(); len(left) != 0 {
				t.Fatalf("sessions left: %+v", left)
			}
		}
	})
}

// smallNode refuses large files, which would only cost the fuzzer memory.
type smallNode struct{ *memory }

func (n smallNode) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	f, err := n.memory.Open(ctx, p, o)
	if err != nil {
		return nil, err
	}
	return smallFile{f}, nil
}

type smallFile struct{ hemera.File }

func (f smallFile) WritePages(p []byte, _ []uint32, off int64) error {
	if off > 1<<20 {
		return errTooBig
	}
	return f.File.WritePages(p, nil, off)
}

func (f smallFile) Truncate(size int64) error {
	if size > 1<<20 {
		return errTooBig
	}
	return f.File.Truncate(size)
}

var errTooBig = translate.Refuse(wire.NoSpace, "too big for a test")
