package xrd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hemera/rules/limits"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// returningFiles is a manager whose nodes are about to come back.
type returningFiles struct {
	hemera.Files
	mu    sync.Mutex
	event chan struct{} // closed when opens are asked again; then they find what ready says
	ready error         // nil: the nodes are there
	last  hemera.OpenRequest
	opens int
}

func newReturning(f hemera.Files) *returningFiles {
	return &returningFiles{Files: f, event: make(chan struct{}), ready: errs.New(errs.Unavailable, "open", "", "no node is online")}
}

// happen wakes the opens that wait. They find that the nodes are there, or the error.
func (f *returningFiles) happen(ready error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = ready
	close(f.event)
	f.event = make(chan struct{})
}

func (f *returningFiles) asked() (int, hemera.OpenRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opens, f.last
}

func (f *returningFiles) Open(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (hemera.Grant, error) {
	f.mu.Lock()
	f.last = r
	f.opens++
	event, ready := f.event, f.ready
	f.mu.Unlock()
	switch {
	case ready == nil:
		return f.Files.Open(ctx, who, r)
	case !errors.Is(ready, errs.Unavailable):
		return hemera.Grant{}, ready
	}
	return hemera.Grant{}, &hemera.NotYet{Err: ready, Await: func(ctx context.Context) error {
		select {
		case <-event:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

// newReturningPair starts a pair whose manager has no nodes yet.
func newReturningPair(t *testing.T, change func(*Options)) (*pair, *returningFiles) {
	t.Helper()
	var files *returningFiles
	p := newPair(t, func(o *Options) {
		if o.Manager != nil {
			files = newReturning(o.Manager.Files)
			o.Manager.Files = files
		}
		if change != nil {
			change(o)
		}
	})
	p.put("/f", "content")
	return p, files
}

// hold sends an open and expects the promise of an answer.
func (c *rawConn) hold(t *testing.T, r wire.Request, path string) wire.StreamID {
	t.Helper()
	id, err := c.send(r, []byte(path))
	if err != nil {
		t.Fatal(err)
	}
	if h, body, err := c.frame(); err != nil || h.Status != wire.StatusWaitResp || h.Stream != id {
		t.Fatalf("%s is not held: %+v, %q, %v", path, h, body, err)
	}
	return id
}

// late reads the promised answer to a request.
func (c *rawConn) late(t *testing.T, id wire.StreamID) (wire.Status, []byte) {
	t.Helper()
	h, body, err := c.frame()
	if err != nil || h.Status != wire.StatusAttn {
		t.Fatalf("no late answer: %+v, %v", h, err)
	}
	inner, body, ok, err := wire.ParseAttn(body)
	if err != nil || !ok || inner.Stream != id {
		t.Fatalf("late answer %+v, %t, %v", inner, ok, err)
	}
	return inner.Status, body
}

// waits expects that an answer is a wait of some seconds.
func waits(t *testing.T, status wire.Status, body []byte, seconds int32) {
	t.Helper()
	if w, err := wire.ParseWait(body); status != wire.StatusWait || err != nil || w.Seconds != seconds {
		t.Errorf("status %d, %+v, %v", status, w, err)
	}
}

// TestOpensAreHeld checks that opens of all kinds are answered the moment that nodes are there, and that the connection serves other requests meanwhile.
func TestOpensAreHeld(t *testing.T) {
	p, files := newReturningPair(t, nil)
	p.put("/other", "")
	for name, q := range map[string]struct {
		request wire.Request
		path    string
	}{
		"read":     {wire.Open{Options: wire.OpenRead}, "/f"},
		"write":    {wire.Open{Options: wire.OpenNew}, "/new"},
		"truncate": {wire.Truncate{Size: 3}, "/f"},
	} {
		files.happen(errs.New(errs.Unavailable, "open", "", "no node is online"))
		c := dial(t, p.managerAddr)
		id := c.hold(t, q.request, q.path)
		c.must(t, wire.Ping{}, "")
		c.must(t, wire.Stat{}, "/other")
		files.happen(errs.New(errs.Unavailable, "open", "", "one node is not enough"))
		c.must(t, wire.Ping{}, "")
		files.happen(nil)
		status, body := c.late(t, id)
		to, err := wire.ParseRedirect(body)
		if status != wire.StatusRedirect || err != nil || !strings.HasSuffix(p.nodeAddr, fmt.Sprint(to.Port)) || !to.Opaque.Has(wire.OpaqueCapability) {
			t.Errorf("%s: status %d, %+v, %v", name, status, to, err)
		}
		// The session remembers where the client was sent.
		if name == "read" {
			before, _ := files.asked()
			redirected(t, c, q.request, q.path+"?tried="+to.Host)
			if after, _ := files.asked(); after != before+2 { // for other nodes, and then for all
				t.Errorf("the session has forgotten the node: %d opens", after-before)
			}
		}
	}
	drained(t, p.manager.o.Budgets.Held)
}

// TestHeldOpensAreRefused checks the answers to opens that the manager refuses in the end.
func TestHeldOpensAreRefused(t *testing.T) {
	p, files := newReturningPair(t, nil)
	c := dial(t, p.managerAddr)
	id := c.hold(t, wire.Open{Options: wire.OpenRead}, "/f")
	files.happen(errs.New(errs.NotFound, "open", "/f", "it was removed"))
	if status, body := c.late(t, id); status != wire.StatusError || wire.ParseError(body).Code != wire.NotFound {
		t.Errorf("status %d, %q", status, body)
	}
	for _, kind := range []errs.Kind{errs.NoReplicas, errs.Overloaded} { // another open looks further
		files.happen(errs.New(errs.Unavailable, "open", "", "no node is online"))
		id = c.hold(t, wire.Open{Options: wire.OpenRead}, "/f?tried=elsewhere&hem.node=9")
		files.happen(errs.New(kind, "open", "", "no"))
		status, body := c.late(t, id)
		waits(t, status, body, openWaitSeconds)
	}
}

// TestHeldReadIsRemembered checks that the content of a held read is pinned for a client that comes back.
func TestHeldReadIsRemembered(t *testing.T) {
	p, files := newReturningPair(t, nil)
	login := func() *rawConn {
		c := bare(t, p.managerAddr)
		if err := c.hello(); err != nil {
			t.Fatal(err)
		}
		c.must(t, wire.Login{PID: 9, User: "u", Capabilities: wire.LoginCapVer}, xrdcl)
		return c
	}
	c := login()
	id := c.hold(t, wire.Open{Options: firstRead}, "/f")
	files.happen(nil)
	if status, _ := c.late(t, id); status != wire.StatusRedirect {
		t.Fatalf("status %d", status)
	}
	redirected(t, login(), wire.Open{Options: wire.OpenRead}, "/f")
	if _, last := files.asked(); last.Again == nil {
		t.Error("the content that was granted late is forgotten")
	}
}

// TestHeldOpenEnds checks that nothing is held beyond its time. The client opens again after a second, and is held again.
func TestHeldOpenEnds(t *testing.T) {
	p, _ := newReturningPair(t, func(o *Options) { o.Limits.HoldTime = time.Millisecond })
	c := dial(t, p.managerAddr)
	for range 3 {
		status, body := c.late(t, c.hold(t, wire.Open{Options: wire.OpenRead}, "/f"))
		waits(t, status, body, openWaitSeconds)
	}
	drained(t, p.manager.o.Budgets.Held)
}

// TestHeldOpenEndsWithItsConnection checks that nothing is left of a client that is gone, and that its next session is held again.
func TestHeldOpenEndsWithItsConnection(t *testing.T) {
	p, files := newReturningPair(t, nil)
	for range 2 {
		c := dial(t, p.managerAddr)
		c.hold(t, wire.Open{Options: wire.OpenRead}, "/f")
		_ = c.Close()
		drained(t, p.manager.o.Budgets.Held)
	}
	before, _ := files.asked()
	files.happen(nil)
	if after, _ := files.asked(); after != before {
		t.Errorf("%d opens for clients that are gone", after-before)
	}
}

// TestHeldOpensEndWithTheServer checks that a server that shuts down does not wait for what it holds.
func TestHeldOpensEndWithTheServer(t *testing.T) {
	p, _ := newReturningPair(t, func(o *Options) { o.Limits.HoldTime = time.Hour })
	c := dial(t, p.managerAddr)
	id := c.hold(t, wire.Open{Options: wire.OpenRead}, "/f")
	ended := background(func() error { return p.manager.Shutdown(t.Context()) })
	status, body := c.late(t, id)
	waits(t, status, body, openWaitSeconds)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestHeldOpensAreBounded checks that a client cannot have more than its share held, on one connection or on many, and that others have theirs.
// What is not held waits as before.
func TestHeldOpensAreBounded(t *testing.T) {
	budgets := NewBudgets(1<<20, 1<<40)
	budgets.Held = limits.NewBudget[Client]("held_opens", limits.Bounds{Total: 3, Share: 2})
	p, files := newReturningPair(t, func(o *Options) { o.Budgets = budgets })
	refused := func(c *rawConn) {
		t.Helper()
		status, body, err := c.call(wire.Open{Options: wire.OpenRead}, []byte("/f"))
		if err != nil {
			t.Fatal(err)
		}
		waits(t, status, body, openWaitSeconds)
	}
	as := func(user string) *rawConn {
		c := bare(t, p.managerAddr)
		if err := c.hello(); err != nil {
			t.Fatal(err)
		}
		c.must(t, wire.Login{PID: 1, User: user, Capabilities: wire.LoginCapVer}, "")
		return c
	}
	first, second, other := as("one"), as("one"), as("other")
	ids := []wire.StreamID{first.hold(t, wire.Open{Options: wire.OpenRead}, "/f"), first.hold(t, wire.Open{Options: wire.OpenRead}, "/f")}
	refused(first)
	refused(second)
	other.hold(t, wire.Open{Options: wire.OpenRead}, "/f")
	refused(other) // all are in use
	refused(loginAs(t, p.managerAddr, 2, ""))
	files.happen(nil)
	for range ids {
		h, body, err := first.frame()
		inner, _, _, bad := wire.ParseAttn(body)
		if err != nil || bad != nil || h.Status != wire.StatusAttn || !slices.Contains(ids, inner.Stream) || inner.Status != wire.StatusRedirect {
			t.Errorf("%+v, %+v, %v, %v", h, inner, err, bad)
		}
	}
	drained(t, budgets.Held)
}

// TestLongOpensAreNotHeld checks that what is held takes little memory.
func TestLongOpensAreNotHeld(t *testing.T) {
	p, _ := newReturningPair(t, nil)
	c := dial(t, p.managerAddr)
	long := func(size int) string { return "/f?x=" + strings.Repeat("y", size-len("/f?x=")) }
	status, body, err := c.call(wire.Open{Options: wire.OpenRead}, []byte(long(heldTextMax+1)))
	if err != nil {
		t.Fatal(err)
	}
	waits(t, status, body, openWaitSeconds)
	c.hold(t, wire.Open{Options: wire.OpenRead}, long(heldTextMax))
}

// TestHeldOpensAreImpatient checks that a held open ends with the time for which its client waits.
func TestHeldOpensAreImpatient(t *testing.T) {
	p, files := newReturningPair(t, func(o *Options) { o.Limits.HoldTime = time.Hour })
	_, refuse := files.Open(t.Context(), hemera.Identity{}, hemera.OpenRequest{Path: "/f"})
	later, _ := errors.AsType[*hemera.NotYet](refuse)
	m := &managerOpens{files: files, holds: &p.manager.holds}
	r := &request{conn: &conn{srv: p.manager, ctx: t.Context()}}
	if _, wait := errors.AsType[*waitFor](m.outcome(&heldOpen{request: r, patience: time.Millisecond}, later)); !wait {
		t.Error("it ends otherwise")
	}
}

// TestConnectionHoldsSome checks the bound of one connection.
func TestConnectionHoldsSome(t *testing.T) {
	p, _ := newReturningPair(t, nil)
	c := dial(t, p.managerAddr)
	for range asyncMax {
		c.hold(t, wire.Open{Options: wire.OpenRead}, "/f")
	}
	status, body, err := c.call(wire.Open{Options: wire.OpenRead}, []byte("/f"))
	if err != nil {
		t.Fatal(err)
	}
	waits(t, status, body, openWaitSeconds)
}

// TestOldClientsAreNotPromised checks that a client that does not understand late answers waits.
func TestOldClientsAreNotPromised(t *testing.T) {
	p, _ := newReturningPair(t, nil)
	status, body, err := loginAs(t, p.managerAddr, 7, "").call(wire.Open{Options: wire.OpenRead}, []byte("/f"))
	if err != nil || !bytes.Contains(body, []byte("no node is online")) {
		t.Errorf("%q, %v", body, err)
	}
	waits(t, status, body, openWaitSeconds)
}
