package xrd

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"strings"
	"testing"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func TestOpenIsRedirected(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "x")
	c := dial(t, p.managerAddr)
	status, body, err := c.call(wire.Open{Options: wire.OpenRead}, []byte("/f?a=b"))
	to, e := wire.ParseRedirect(body)
	if err != nil || e != nil || status != wire.StatusRedirect || net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))) != p.nodeAddr || !strings.HasPrefix(string(to.Opaque), "hem.cap=grant0&hem.node=7&") {
		t.Fatalf("status %d, %+v, %v, %v", status, to, err, e)
	}
	// The node failed: the client names its host, and the session knows its id. Because there is no other node, it may
	// try once more.
	const failed = "/f?tried=127.0.0.1&triedrc=ioerr"
	redirected(t, c, wire.Open{Options: wire.OpenRead}, failed)
	c.refused(t, wire.Open{Options: wire.OpenRead}, failed, wire.NoReplicas)
	c.refused(t, wire.Open{Options: wire.OpenRead}, failed, wire.NoReplicas)
	redirected(t, c, wire.Open{Options: wire.OpenRead}, "/f")

	n := dial(t, p.nodeAddr)
	reply, err := wire.ParseOpenReply(n.must(t, wire.Open{Options: wire.OpenRead | wire.OpenRetStat}, "/f?a=b&hem.cap=grant0&hem.node=7"))
	if err != nil || reply.Stat == nil || reply.Stat.Size != 1 {
		t.Errorf("open with a grant %+v, %v", reply, err)
	}
	if len(n.must(t, wire.Open{Options: wire.OpenRead}, "/f?hem.cap=grant0")) != 4 {
		t.Error("a plain open answers more than the handle")
	}
	n.refused(t, wire.Open{Options: wire.OpenRead}, "/f?hem.cap=forged", wire.NotAuthorized)
	n.refused(t, wire.Open{Options: wire.OpenRead}, "/f?hem.cap=grant0&hem.piece=900", wire.ArgInvalid)
}

func TestTruncateByPath(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "0123456789")
	c := dial(t, p.managerAddr)
	status, body, err := c.call(wire.Truncate{Size: 3}, []byte("/f"))
	to, e := wire.ParseRedirect(body)
	if status != wire.StatusRedirect || err != nil || e != nil {
		t.Fatalf("status %d, %v, %v", status, err, e)
	}
	n := dial(t, p.nodeAddr)
	n.must(t, wire.Truncate{Size: 3}, to.Opaque.Join("/f"))
	if e, _ := p.Stat(t.Context(), hemera.Identity{}, "/f"); e.Size != 3 {
		t.Errorf("size %d", e.Size)
	}
}

// joined is a write that a truncation by path opens beside its writer.
type joined struct {
	*memoryFile
	shared bool
	fail   error
	closed int
}

func (j *joined) Shared() bool { return j.shared }

func (j *joined) Truncate(size int64) error {
	if j.fail != nil {
		return j.fail
	}
	return j.memoryFile.Truncate(size)
}

func (j *joined) End(ctx context.Context, how hemera.Ending) error {
	if how == hemera.EndClose {
		j.closed++
		return nil
	}
	return j.memoryFile.End(ctx, how)
}

// joinedNode has one current write.
type joinedNode struct {
	hemera.Node
	write *joined
}

func (n *joinedNode) Open(context.Context, *hemera.Permit, hemera.NodeOpen) (hemera.File, error) {
	return n.write, nil
}

// TestTruncationOfAWriteUnderWay checks that the writer commits or aborts the write while it has the file open.
func TestTruncationOfAWriteUnderWay(t *testing.T) {
	node := &joinedNode{}
	p := newPair(t, func(o *Options) {
		if o.Node != nil {
			node.Node, o.Node.Node = o.Node.Node, node
		}
	})
	c := dial(t, p.nodeAddr)
	for _, k := range []struct {
		shared                     bool
		fail                       error
		status                     wire.Status
		size                       int
		detached, closed, abandons int
	}{
		{true, nil, wire.StatusOK, 3, 1, 0, 0},
		{false, nil, wire.StatusOK, 3, 0, 1, 0},
		{true, errs.New(errs.IO, "truncate", "", ""), wire.StatusError, 10, 1, 0, 0},
		{false, errs.New(errs.IO, "truncate", "", ""), wire.StatusError, 10, 0, 0, 1},
		{true, errs.New(errs.BadHandle, "truncate", "", ""), wire.StatusRedirect, 10, 0, 1, 0}, // closed meanwhile
	} {
		f := &memoryFile{m: p.memory, writable: true, data: make([]byte, 10)}
		p.mu.Lock()
		f.grant = &memoryGrant{m: p.memory, pending: f}
		p.grants["t"] = f.grant
		p.mu.Unlock()
		node.write = &joined{memoryFile: f, shared: k.shared, fail: k.fail}
		status, body, err := c.call(wire.Truncate{Size: 3}, []byte("/f?hem.cap=t"))
		if err != nil || status != k.status {
			t.Errorf("%+v: status %d, %q, %v", k, status, body, err)
		}
		if w := node.write; len(f.data) != k.size || f.detached != k.detached || w.closed != k.closed || f.aborted != (k.abandons > 0) {
			t.Errorf("%+v: %d bytes, detached %d times, closed %d times, given up: %v", k, len(f.data), f.detached, w.closed, f.aborted)
		}
	}
}

// settling is a manager at which a close arrives while a rename waits for it.
type settling struct {
	hemera.Files
	close func(path, process string)
}

func (s settling) Move(ctx context.Context, who hemera.Identity, from, to, process string) error {
	s.close(from, process)
	return s.Files.Move(ctx, who, from, to, process)
}

// TestRenameWaitsForTheCloseOfItsProcess checks renames of a file whose close is on its way, as xrootdfs sends them.
func TestRenameWaitsForTheCloseOfItsProcess(t *testing.T) {
	var p *pair
	p = newPair(t, manager(func(o *ManagerOptions) {
		o.Files = settling{o.Files, func(path, process string) {
			if path == "/a" && process != "" {
				p.put("/a", "written")
			}
		}}
	}))
	c := dial(t, p.managerAddr)
	c.must(t, wire.Mv{FromLength: 2}, "/a /b")
	if e, err := p.Stat(t.Context(), hemera.Identity{}, "/b"); err != nil || e.Size != 7 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestStatOfAWriteUnderWay checks that the process is redirected to the node with the write, which knows the size.
func TestStatOfAWriteUnderWay(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "0123456789")
	c := dial(t, p.managerAddr)
	for _, at := range []string{"/f", "/new"} {
		status, body, err := c.call(wire.Open{Options: wire.OpenDelete, Mode: 0o644}, []byte(at))
		to, e := wire.ParseRedirect(body)
		if status != wire.StatusRedirect || err != nil || e != nil {
			t.Fatalf("status %d, %v, %v", status, err, e)
		}
		n := dial(t, p.nodeAddr)
		fh := open(t, n, to.Opaque.Join(at), wire.OpenDelete)
		n.must(t, wire.Write{Handle: fh}, "123")

		status, body, err = c.call(wire.Stat{}, []byte(at))
		to, e = wire.ParseRedirect(body)
		if status != wire.StatusRedirect || err != nil || e != nil {
			t.Fatalf("%s: status %d, %v, %v", at, status, err, e)
		}
		if s, err := wire.ParseStat(dial(t, p.nodeAddr).must(t, wire.Stat{}, to.Opaque.Join(at))); err != nil || s.Size != 3 {
			t.Errorf("%s: %+v, %v", at, s, err)
		}
		c.must(t, wire.Stat{}, at+"?tried="+to.Host) // the node cannot be reached: the manager's information
	}
	if list := string(c.must(t, wire.Dirlist{}, "/")); list != "f\nnew\x00" {
		t.Errorf("its process lists %q", list)
	}
	if list := c.must(t, wire.Dirlist{Options: wire.DirlistStat}, "/"); bytes.Contains(list, []byte("new")) {
		t.Errorf("with sizes it lists %q", list)
	}
	c = loginAs(t, p.managerAddr, 43, "") // another process
	if s, err := wire.ParseStat(c.must(t, wire.Stat{}, "/f")); err != nil || s.Size != 10 {
		t.Errorf("others see %+v, %v", s, err)
	}
	c.refused(t, wire.Stat{}, "/new", wire.NotFound)
	dial(t, p.nodeAddr).refused(t, wire.Stat{}, "/f?hem.cap=forged", wire.NotAuthorized)
}

// refusing grants nothing for a while.
type refusing struct{ hemera.Files }

func (refusing) Open(context.Context, hemera.Identity, hemera.OpenRequest) (hemera.Grant, error) {
	return hemera.Grant{}, errs.New(errs.Unavailable, "open", "", "no node is online")
}

func TestOpenWaits(t *testing.T) {
	p := newPair(t, manager(func(o *ManagerOptions) { o.Files = refusing{o.Files} }))
	c := dial(t, p.managerAddr)
	status, body, err := c.call(wire.Open{Options: wire.OpenRead}, []byte("/f"))
	if w, e := wire.ParseWait(body); status != wire.StatusWait || err != nil || e != nil || w.Seconds != openWaitSeconds {
		t.Fatalf("status %d, %v %v, %v", status, w, err, e)
	}
}

func TestNodeFailureSendsClientBack(t *testing.T) {
	for _, k := range []errs.Kind{errs.Corrupt, errs.Unavailable, errs.Timeout, errs.Fenced} {
		if code := translate.CodeOfError(translate.OpenFailure(errs.New(k, "open", "", ""))); code != wire.ServerError {
			t.Errorf("%s: %d", k, code)
		}
	}
	if code := translate.CodeOfError(translate.PieceOpenFailure(errs.New(errs.Unavailable, "open", "", ""))); code != wire.ServerError {
		t.Errorf("a piece that is not available: %d", code)
	}
	if code := translate.CodeOfError(translate.PieceOpenFailure(errs.New(errs.Corrupt, "open", "", ""))); code != wire.ChkSumErr {
		t.Errorf("a bad piece, for another node: %d", code)
	}
	if code := translate.CodeOfError(translate.OpenFailure(errs.New(errs.IO, "open", "", ""))); code != wire.IOError {
		t.Errorf("I/O error: %d", code)
	}
}

func TestManyHandles(t *testing.T) {
	p := newPair(t, func(o *Options) { o.Limits.Handles = 300 })
	p.put("/f", "x")
	g, err := p.grantOpen(hemera.OpenRequest{Path: "/f", Access: hemera.AccessRead})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, p.nodeAddr)
	for range 300 {
		p.openToken(t, c, "/f", tokenOf(g), wire.OpenRead)
	}
	e := c.refused(t, wire.Open{Options: wire.OpenRead}, "/f?hem.cap="+tokenOf(g), wire.Overloaded)
	if !strings.Contains(e.Text, "close some") {
		t.Errorf("text %q", e.Text)
	}
}
