package xrd

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// forgetful is a node after a restart: writes begin, and earlier ones cannot be continued.
type forgetful struct{ hemera.Node }

func (n forgetful) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	if !o.Truncate {
		return nil, errs.New(errs.Conflict, "transfer.Open", "/f", "the pending write is not here any more")
	}
	return n.Node.Open(ctx, p, o)
}

func (n forgetful) OpenPiece(ctx context.Context, p *hemera.Permit, o hemera.PieceOpen) (hemera.PieceHandle, error) {
	if !o.Truncate {
		return nil, errs.New(errs.Conflict, "transfer.OpenPiece", "/f", "the pending piece is not here any more")
	}
	return n.Node.OpenPiece(ctx, p, o)
}

// able connects as a client that understands flags in redirects.
func able(t *testing.T, addr string) *rawConn {
	t.Helper()
	c, err := dialRawAs(addr, wire.LoginAbilities)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// redirected sends a request and returns its redirect.
func redirected(t *testing.T, c *rawConn, r wire.Request, payload string) wire.Redirect {
	t.Helper()
	status, body, err := c.call(r, []byte(payload))
	if err != nil || status != wire.StatusRedirect {
		t.Fatalf("%T %s: status %d, %v, %s", r, payload, status, err, body)
	}
	to, err := wire.ParseRedirect(body)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

const (
	large      = "oss.asize=1000000000"
	firstOpen  = wire.OpenNew | wire.OpenUpdate | wire.OpenAsync | wire.OpenRetStat
	secondOpen = wire.OpenUpdate // like a reopen of stock clients
)

// created opens a new file at the manager and at its node, and returns the grant.
func created(t *testing.T, m, n *rawConn, announce string) (wire.Opaque, wire.Handle) {
	t.Helper()
	to := redirected(t, m, wire.Open{Options: firstOpen}, "/f?"+announce)
	if to.Port < 0 {
		t.Errorf("a new file's redirect has flags: %+v", to)
	}
	grant := to.Opaque + wire.Opaque("&"+announce)
	return grant, open(t, n, grant.Join("/f"), firstOpen)
}

// restarted follows a copy from the redirect of its write to the open that restarts it.
func restarted(t *testing.T, p *pair, sent wire.Redirect) {
	t.Helper()
	if net.JoinHostPort(sent.Host, strconv.Itoa(int(sent.Port))) != p.managerAddr {
		t.Fatalf("the write is sent to %+v", sent)
	}
	m := able(t, p.managerAddr)
	flagged := redirected(t, m, wire.Open{Options: secondOpen}, sent.Opaque.Join("/f"))
	if flagged.Port >= 0 || ^flagged.Port != int32(wire.FlagRecoverWrts) || flagged.Host != "root://"+p.managerAddr+"//f" {
		t.Fatalf("the open is sent to %+v", flagged)
	}
	marked := sent.Opaque.With(restartKey, flagged.Opaque.Value(restartKey))
	m.refused(t, wire.Open{Options: secondOpen}, marked.Join("/f"), wire.Conflict)
	dial(t, p.managerAddr).refused(t, wire.Open{Options: secondOpen}, sent.Opaque.Join("/f"), wire.Conflict) // does not know flags

	fresh := redirected(t, m, wire.Open{Options: firstOpen}, marked.Join("/f")).Opaque
	if fresh.Value(wire.OpaqueCapability) == marked.Value(wire.OpaqueCapability) {
		t.Fatal("the grant is the same")
	}
	// The mark stays in the client's opaque data, and does not affect the new grant.
	again := fresh.With(restartKey, marked.Value(restartKey))
	open(t, able(t, p.nodeAddr), again.Join("/f"), firstOpen)
	m.refused(t, wire.Open{Options: secondOpen}, again.Join("/f"), wire.NotFound) // like any other open
}

// TestLostWriteIsRestarted kills the node and starts it again.
func TestLostWriteIsRestarted(t *testing.T) {
	p := newPair(t, func(o *Options) {
		if o.Node != nil {
			o.Node.Node = forgetful{o.Node.Node}
		}
	})
	m, n := able(t, p.managerAddr), able(t, p.nodeAddr)
	grant, _ := created(t, m, n, large)
	fh := open(t, n, grant.Join("/f"), secondOpen)
	n.refused(t, wire.Write{Handle: fh, Offset: 900e6}, "near the end", wire.Conflict)
	n.refused(t, wire.Sync{Handle: fh}, "", wire.Conflict)
	n.refused(t, wire.Read{Handle: fh, Length: 1}, "", wire.Conflict)
	n.refused(t, wire.Write{Handle: fh}, "once said it stays so", wire.Conflict)
	n.refused(t, wire.Close{Handle: fh}, "", wire.Conflict)
	fh = open(t, n, grant.Join("/f"), secondOpen)
	n.refused(t, wire.Sync{Handle: fh}, "", wire.Conflict)
	to := redirected(t, n, wire.Write{Handle: fh, Offset: 8 << 20}, "in the middle")
	for _, r := range []wire.Request{wire.Sync{Handle: fh}, wire.Truncate{Handle: fh}, wire.Read{Handle: fh, Length: 1}, wire.Pgread{Handle: fh, Length: 1}} {
		redirected(t, n, r, "")
	}
	redirected(t, n, wire.Write{Handle: fh, Offset: 900e6}, "near the end")
	_ = n.Close() // without a close
	restarted(t, p, to)
}

// TestFailedWriteIsRestarted checks a failure of the head's disk while the node lives.
func TestFailedWriteIsRestarted(t *testing.T) {
	p := newPair(t, nil)
	m, n := able(t, p.managerAddr), able(t, p.nodeAddr)
	grant, fh := created(t, m, n, large)
	fail := func(kind errs.Kind) {
		p.memory.mu.Lock()
		defer p.memory.mu.Unlock()
		p.memory.fail = func(op string) error {
			if op == "write" {
				return errs.New(kind, "write", "/f", "")
			}
			return nil
		}
	}
	n.must(t, wire.Write{Handle: fh}, "good")
	n.refused(t, wire.Write{Handle: wire.Handle{9}}, "x", wire.FileNotOpen)
	const limit = 1000000000 - restartChunks*restartChunkMin
	for _, c := range []struct {
		kind errs.Kind
		off  int64
		code wire.Code
	}{
		{errs.Invalid, 0, wire.ArgInvalid},
		{errs.OverQuota, 0, wire.OverQuota},
		{errs.NoSpace, limit + 1, wire.NoSpace},
	} {
		fail(c.kind)
		fh := open(t, n, grant.Join("/f"), secondOpen)
		n.refused(t, wire.Write{Handle: fh, Offset: c.off}, "x", c.code)
		fail(errs.IO)
		n.refused(t, wire.Write{Handle: fh}, "x", wire.IOError)
	}
	redirected(t, n, wire.Write{Handle: open(t, n, grant.Join("/f"), secondOpen), Offset: limit}, "x")
	to := redirected(t, n, wire.Pgwrite{Handle: fh}, string(pages([]byte("data"), 0)))
	fail(errs.Invalid)
	redirected(t, n, wire.Write{Handle: fh}, "x")
	restarted(t, p, to)
}

// TestWhatIsNotRestarted checks a pipe, a small file, a piece, a client without the ability, and a first open.
func TestWhatIsNotRestarted(t *testing.T) {
	p := newPair(t, func(o *Options) {
		if o.Node != nil {
			o.Node.Node = forgetful{o.Node.Node}
		}
	})
	m, n := able(t, p.managerAddr), able(t, p.nodeAddr)
	for _, announce := range []string{"a=b", "oss.asize=134217728", "oss.asize=-1", "oss.asize=x"} {
		grant := redirected(t, m, wire.Open{Options: firstOpen}, "/f?"+announce).Opaque + wire.Opaque("&"+announce)
		n.refused(t, wire.Open{Options: secondOpen}, grant.Join("/f"), wire.ServerError)
	}
	grant, _ := created(t, m, n, large)
	n.refused(t, wire.Open{Options: secondOpen}, (grant + "&hem.piece=0").Join("/f"), wire.ServerError)
	n.refused(t, wire.Open{Options: secondOpen | wire.OpenAsync}, grant.Join("/f"), wire.ServerError)
	n.refused(t, wire.Open{Options: wire.OpenRead}, grant.Join("/f"), wire.ServerError)
	e := dial(t, p.nodeAddr).refused(t, wire.Open{Options: secondOpen}, grant.Join("/f"), wire.ServerError)
	if !strings.Contains(e.Text, "not here any more") {
		t.Errorf("text %q", e.Text)
	}
}
