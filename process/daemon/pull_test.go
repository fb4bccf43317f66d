package daemon

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/doors/xrd"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// rulesAre answers for the manager.
type rulesAre func(hemera.CopySource) error

func (r rulesAre) MayFetch(_ context.Context, s hemera.CopySource) error { return r(s) }

// target is the file that a copy writes.
type target struct{ hemera.File }

func (target) Info() hemera.FileInfo { return hemera.FileInfo{Path: "/into"} }

// greeter listens, and keeps the first messages of a client: handshake, protocol and login.
func greeter(t *testing.T) (addr string, said chan []byte) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	said = make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		b := make([]byte, wire.HandshakeSize+2*wire.RequestHeaderSize)
		_, _ = io.ReadFull(c, b)
		said <- b
	}()
	return l.Addr().String(), said
}

// TestASourceIsRefusedInOneWay: a client that orders a copy may neither learn what the node can reach, nor make it log in
// with a name.
func TestASourceIsRefusedInOneWay(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	stranger, said := greeter(t)
	forbidden, untouched := greeter(t)
	allow := rulesAre(func(s hemera.CopySource) error {
		if s.Node != 7 || s.Addr != s.Name {
			t.Errorf("asked for %+v", s)
		}
		if s.Addr == forbidden {
			return errs.New(errs.Denied, "copy from", s.Name, "it is secret-network")
		}
		return nil
	})
	var log strings.Builder
	options := xrootd.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), RetryFor: time.Millisecond}
	texts := map[string]bool{}
	for _, addr := range []string{closed.Addr().String(), stranger, forbidden, "games@" + stranger, "a:b", "192.0.2.1:0", "x y:1"} {
		p := newPuller(allow, func() hemera.NodeID { return 7 }, options)
		err := p.Pull(t.Context(), xrd.PullSource{Addr: addr, Path: "/f", Key: "0123456789", Origins: []string{"a.1@h"}}, target{}, nil)
		_ = p.client.Close()
		if err == nil || errs.RemedyOf(err) == "" {
			t.Fatalf("%s: %v", addr, err)
		}
		texts[err.Error()] = true
		if !strings.Contains(log.String(), "source="+addr) && !strings.Contains(log.String(), "source=\""+addr) {
			t.Errorf("%s is not in the log", addr)
		}
	}
	if len(texts) != 1 {
		t.Errorf("the refusals differ: %v", texts)
	}
	if !strings.Contains(log.String(), "secret-network") {
		t.Error("the log does not say why")
	}
	select {
	case b := <-untouched:
		t.Errorf("the forbidden source was told %q", b)
	default:
	}
	login := wire.DecodeLogin(wire.ParseRequestHeader((<-said)[wire.HandshakeSize+wire.RequestHeaderSize:]).Body)
	if login.User != "nobody" {
		t.Errorf("the node logged in as %q", login.User)
	}
}
