package xrd

import (
	"context"
	"sync"
	"testing"
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// watchedFiles grants the files of memory with the set generation, and records the last request.
type watchedFiles struct {
	hemera.Files
	mu   sync.Mutex
	gen  hemera.Generation
	last hemera.OpenRequest
}

func (f *watchedFiles) Open(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (hemera.Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = r
	g, err := f.Files.Open(ctx, who, r)
	if err != nil {
		return g, err
	}
	g.Permit.Access, g.Permit.Gen = r.Access, f.gen
	if r.Again != nil {
		g.Permit.Gen = r.Again.Gen
	}
	return g, nil
}

func (f *watchedFiles) set(gen hemera.Generation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gen = gen
}

// loginAs connects and logs in as a process of a client with the text of stock clients, or with none.
func loginAs(t *testing.T, addr string, pid uint32, says string) *rawConn {
	t.Helper()
	c := bare(t, addr)
	if err := c.hello(); err != nil {
		t.Fatal(err)
	}
	body := c.must(t, wire.Login{PID: pid, User: "u"}, says)
	l, err := wire.ParseLoginReply(body)
	if err != nil {
		t.Fatal(err)
	}
	c.id = l.Session
	return c
}

const (
	xrdcl     = "?xrd.cc=us&xrd.tz=0&xrd.appname=xrdcp&xrd.info=&xrd.hostname=h&xrd.rn=v5.5.3"
	firstRead = wire.OpenRead | wire.OpenAsync | wire.OpenRetStat
)

// TestReadersWhoComeBack checks which opens pin the content that was read before, and which content.
func TestReadersWhoComeBack(t *testing.T) {
	files := &watchedFiles{}
	p := newPair(t, func(o *Options) {
		if o.Manager != nil {
			files.Files = o.Manager.Files
			o.Manager.Files = files
		}
	})
	p.put("/f", "x")
	open := func(c *rawConn, options uint16, path string) hemera.OpenRequest {
		t.Helper()
		redirected(t, c, wire.Open{Options: options}, path)
		files.mu.Lock()
		defer files.mu.Unlock()
		return files.last
	}
	pinned := func(what string, r hemera.OpenRequest, want hemera.Generation) {
		t.Helper()
		switch {
		case want == 0 && r.Again != nil:
			t.Errorf("%s: it is given generation %d again", what, r.Again.Gen)
		case want != 0 && (r.Again == nil || r.Again.Gen != want):
			t.Errorf("%s: it is not given generation %d again: %+v", what, want, r)
		}
	}
	files.set(5)
	c := loginAs(t, p.managerAddr, 1, xrdcl)
	pinned("the first open", open(c, firstRead, "/f"), 0)
	files.set(6)
	pinned("the same session", open(c, wire.OpenRead, "/f"), 5)
	pinned("with tried", open(c, wire.OpenRead, "/f?tried=127.0.0.1&triedrc=ioerr"), 5)
	pinned("that says so", open(c, firstRead, "/f?"+wire.OpaqueAgain+"=1"), 5)
	_ = c.Close()
	pinned("a session after it", open(loginAs(t, p.managerAddr, 1, xrdcl), wire.OpenRead, "/f"), 5)
	c = loginAs(t, p.managerAddr, 1, xrdcl)
	_, _, _ = c.call(wire.Endsess{Session: wire.SessionID{1}}, nil)
	pinned("a session that names another", open(c, wire.OpenRead, "/f"), 5)
	pinned("a first open again", open(c, firstRead|wire.OpenRefresh, "/f"), 0)
	c.refused(t, wire.Open{Options: wire.OpenRead}, "/f", wire.Conflict) // two contents are possible

	r := open(loginAs(t, p.managerAddr, 2, xrdcl), wire.OpenRead, "/f")
	if since := time.Since(r.Unchanged); r.Again != nil || since < reconnect.UnchangedTime || since > reconnect.UnchangedTime+time.Hour {
		t.Errorf("a process that nobody knows: %+v", r)
	}
	began := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	var old wire.SessionID
	reconnect.MarkSession(&old, began)
	c = loginAs(t, p.managerAddr, 3, xrdcl)
	c.refused(t, wire.Endsess{Session: old}, "", wire.NotFound)
	if r := open(c, wire.OpenRead, "/f"); r.Again != nil || !r.Unchanged.Equal(began) {
		t.Errorf("a process that names a session of before the start: %+v", r)
	}

	// A client whose first opens look like reopens.
	c = loginAs(t, p.managerAddr, 4, "")
	for range 2 {
		if r := open(c, wire.OpenRead, "/f"); r.Again != nil || !r.Unchanged.IsZero() {
			t.Errorf("another client's open: %+v", r)
		}
		files.set(7)
	}
	if r := open(c, wire.OpenUpdate, "/f"); r.Again != nil || !r.Unchanged.IsZero() {
		t.Errorf("an open to write: %+v", r)
	}
}

// TestLocalReaderComesBack checks a small file that the manager's door had open itself when the connection was lost.
func TestLocalReaderComesBack(t *testing.T) {
	files := &watchedFiles{gen: 5}
	p, _ := newLocalPair(t, func(o *Options) {
		if o.Manager != nil {
			files.Files = o.Manager.Files
			o.Manager.Files = files
		}
	})
	p.put("/f", "x")
	p.put("/closed", "x")
	c := loginAs(t, p.managerAddr, 1, xrdcl)
	open(t, c, "/f", firstRead)
	fh := open(t, c, "/closed", firstRead)
	c.must(t, wire.Close{Handle: fh}, "")
	again := loginAs(t, p.managerAddr, 1, xrdcl)
	again.must(t, wire.Endsess{Session: c.id}, "")
	for path, known := range map[string]bool{"/f": true, "/closed": false} {
		files.set(6)
		open(t, again, path, wire.OpenRead)
		files.mu.Lock()
		if r := files.last; known != (r.Again != nil && r.Again.Gen == 5) || known != r.Unchanged.IsZero() {
			t.Errorf("%s: %+v", path, r)
		}
		files.mu.Unlock()
	}
}

// TestReadersAreToldApartByWhoTheyAre checks that a client that claims another's process number gets none of its records.
func TestReadersAreToldApartByWhoTheyAre(t *testing.T) {
	p := newPair(t, nil)
	c := loginAs(t, p.managerAddr, 1, xrdcl)
	c.must(t, wire.Ping{}, "")
	ss := p.manager.clients.session(c.id)
	mine := ss.process()
	ss.setIdentity(hemera.Identity{Name: "another", UID: 1001, Protocol: "unix"})
	if other := ss.process(); mine == other || other.UID != 1001 || mine.PID != other.PID {
		t.Errorf("%+v and %+v", mine, other)
	}
}
