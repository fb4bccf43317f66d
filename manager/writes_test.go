package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hemera/namespace/accounts"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func exclusive(session string, ended ...string) func(*hemera.OpenRequest) {
	return func(r *hemera.OpenRequest) { r.Exclusive, r.Session, r.Ended = true, session, ended }
}

// TestExclusiveCreateHasOneWinner: of one user at one host, who has many sessions or one.
func TestExclusiveCreateHasOneWinner(t *testing.T) {
	for _, sessions := range []int{1, 16} {
		r := newRig(t, 2, 1)
		var won, lost atomic.Int64
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				_, err := r.open("/lock", hemera.AccessCreate, exclusive(fmt.Sprint("s", i%sessions)))
				switch {
				case err == nil:
					won.Add(1)
				case errors.Is(err, errs.Exists):
					lost.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 || lost.Load() != 15 {
			t.Errorf("%d sessions: %d won, %d lost", sessions, won.Load(), lost.Load())
		}
	}
}

// TestExclusiveCreateAfterACommit: who looked the name up before the winner's commit, and asks for its lock
// afterwards, has lost too.
func TestExclusiveCreateAfterACommit(t *testing.T) {
	r := newRig(t, 2, 1)
	won := r.mustOpen("/lock", hemera.AccessCreate, exclusive("a"))
	since := before{ends: r.m.Writes.pending.ends.Load()}
	req := hemera.OpenRequest{Path: "/lock", Access: hemera.AccessCreate, Exclusive: true, Mode: 0o644}
	prep, err := r.m.tree.Prepare(t.Context(), alice, req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.m.Control.Commit(t.Context(), r.seal(won, 0)); err != nil {
		t.Fatal(err)
	}
	c := hemera.Capability{Path: "/lock", Access: hemera.AccessCreate, Who: alice, Expires: time.Now().Add(time.Hour)}
	if _, err := r.m.Files.openWrite(t.Context(), &c, &prep, since, req); !errors.Is(err, errOutdated) {
		t.Errorf("open with an outdated look: %v", err)
	}
	_, err = r.open("/lock", hemera.AccessCreate, exclusive("b"))
	wantKind(t, err, errs.Exists)
}

// TestWhoComesBackToALock tells who goes on from who comes second.
func TestWhoComesBackToALock(t *testing.T) {
	both := func(changes ...func(*hemera.OpenRequest)) func(*hemera.OpenRequest) {
		return func(r *hemera.OpenRequest) {
			for _, f := range changes {
				f(r)
			}
		}
	}
	bob := hemera.Identity{Name: "bob", UID: 1001, GID: 1001, Host: alice.Host}
	far := alice
	far.Host = "elsewhere"
	for _, c := range []struct {
		name string
		who  hemera.Identity
		how  func(r *hemera.OpenRequest, head hemera.NodeID)
		want errs.Kind // Internal: none
	}{
		{"the same session", alice, func(r *hemera.OpenRequest, _ hemera.NodeID) { exclusive("first")(r) }, errs.Exists},
		{"another session", alice, func(r *hemera.OpenRequest, _ hemera.NodeID) { exclusive("second")(r) }, errs.Exists},
		{"after the session ended", alice, func(r *hemera.OpenRequest, _ hemera.NodeID) { exclusive("second", "zero", "first")(r) }, errs.Internal},
		{"the same from elsewhere", far, func(r *hemera.OpenRequest, _ hemera.NodeID) { exclusive("second", "first")(r) }, errs.Internal},
		{"another user's", bob, func(r *hemera.OpenRequest, _ hemera.NodeID) { exclusive("second", "first")(r) }, errs.Exists},
		{"after the head failed", alice, func(r *hemera.OpenRequest, head hemera.NodeID) {
			both(exclusive("second"), func(r *hemera.OpenRequest) { r.Tried = []hemera.NodeID{head} })(r)
		}, errs.Internal},
		{"after another node failed", alice, func(r *hemera.OpenRequest, head hemera.NodeID) {
			both(exclusive("second"), func(r *hemera.OpenRequest) { r.Tried = []hemera.NodeID{head%2 + 1} })(r)
		}, errs.Exists},
		{"not exclusive", alice, func(*hemera.OpenRequest, hemera.NodeID) {}, errs.Internal},
		{"not exclusive, from elsewhere", far, func(*hemera.OpenRequest, hemera.NodeID) {}, errs.Locked},
		{"another, not exclusive", bob, func(*hemera.OpenRequest, hemera.NodeID) {}, errs.Locked},
		{"another, forced", bob, func(r *hemera.OpenRequest, _ hemera.NodeID) { r.Force = true }, errs.Internal},
	} {
		r := newRig(t, 3, 1)
		first := r.mustOpen("/f", hemera.AccessCreate, exclusive("first"))
		req := hemera.OpenRequest{Path: "/f", Access: hemera.AccessCreate, Mode: 0o644}
		c.how(&req, first.Permit.Targets[0].Node)
		_, err := r.m.Files.Open(t.Context(), c.who, req)
		if c.want == errs.Internal && err != nil || c.want != errs.Internal && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestWritesAreBoundedByUserAndSession: a user who opens all that the bound allows keeps nobody else out.
func TestWritesAreBoundedByUserAndSession(t *testing.T) {
	const ofUser, ofSession = 50, 20
	p := newPending(new(accounts.Claims), ofUser, ofSession)
	begin := func(i int, who hemera.Identity, session string) error {
		w := &write{nonce: uint64(i), who: who, session: session, expires: time.Now().Add(time.Hour)}
		return p.begin(name{1, fmt.Sprint(i)}, &taker{write: w}, time.Now())
	}
	n := 0
	for err := error(nil); err == nil; n++ {
		if err = begin(n, alice, "one"); err != nil && !errors.Is(err, errs.Overloaded) {
			t.Fatal(err)
		}
	}
	if n-1 != ofSession {
		t.Errorf("one session has %d writes", n-1)
	}
	for err := error(nil); err == nil; n++ {
		if err = begin(n, alice, fmt.Sprint("session", n/10)); err != nil && !errors.Is(err, errs.Overloaded) {
			t.Fatal(err)
		}
	}
	if p.size() != ofUser {
		t.Errorf("one user has %d writes", p.size())
	}
	bob, boss := hemera.Identity{Name: "bob", UID: 1001}, alice
	boss.Admin = true
	for _, who := range []hemera.Identity{bob, boss} {
		if err := begin(n, who, "other"); err != nil {
			t.Error(err)
		}
		n++
	}
	p.end(name{1, "0"}, 0)
	if err := begin(n, alice, "again"); err != nil {
		t.Errorf("after one ended: %v", err)
	}
	err := begin(n, alice, "too many")
	if !errors.Is(err, errs.Overloaded) || !strings.Contains(fmt.Sprint(errs.RemedyOf(err)), "writes.per_user") {
		t.Errorf("one too many: %v", err)
	}
	if u := p.holders.users.Usage(); u.Used != ofUser+2 || u.Share != ofUser || u.Clients != 3 || u.RefusedShare == 0 {
		t.Errorf("in use: %+v", u)
	}
	p.each(func(s *stripe, n name, w *write) { p.drop(s, n, w) })
	users, sessions := p.holders.users.Usage(), p.holders.sessions.Usage()
	if users.Used != 0 || users.Clients != 0 || sessions.Used != 0 || sessions.Clients != 0 || p.size() != 0 {
		t.Errorf("counted when all is over: %+v, %+v", users, sessions)
	}
}

// TestNobodyIsCountedByHost: users without a name do not keep those of other hosts out.
func TestNobodyIsCountedByHost(t *testing.T) {
	nobody := hemera.Identity{Name: "nobody", UID: hemera.NobodyID, Host: "a"}
	other := nobody
	other.Host = "b"
	if holderOf(nobody) == holderOf(other) || holderOf(alice) == holderOf(nobody) {
		t.Error("they are taken for one")
	}
}

// TestLocksOfWritesThatDoNotLive: the manager asks the heads of old writes, and frees what they do not have.
func TestLocksOfWritesThatDoNotLive(t *testing.T) {
	r := newRig(t, 1, 1)
	living, dead := r.mustOpen("/living", hemera.AccessCreate), r.mustOpen("/dead", hemera.AccessCreate)
	node, now := r.nodes[0], time.Now()
	beat := func(states ...hemera.WriteState) []hemera.WriteRef {
		t.Helper()
		reply, err := r.m.Control.Heartbeat(t.Context(), node.id, node.epoch, hemera.NodeReport{Disks: node.disks, Writes: states})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Writes
	}
	r.m.Writes.asks.set(r.m.Writes.pending.look(now.Add(attachTime - time.Second)))
	if asked := beat(); len(asked) != 0 {
		t.Errorf("asked about %v, too early", asked)
	}
	r.m.Writes.asks.set(r.m.Writes.pending.look(now.Add(attachTime + time.Second)))
	asked := beat(hemera.WriteState{Nonce: living.Permit.Nonce}) // nobody asked: not believed
	if len(asked) != 2 || r.m.Writes.pending.size() != 2 {
		t.Fatalf("asked about %v, %d writes", asked, r.m.Writes.pending.size())
	}
	beat(hemera.WriteState{Nonce: living.Permit.Nonce, Pending: true, Attached: true, Size: 5, Idle: time.Second}, hemera.WriteState{Nonce: dead.Permit.Nonce})
	list, err := r.m.Writes.Writes(unasked(t), hemera.SystemIdentity())
	if err != nil || len(list) != 1 || list[0].Path != "/living" || list[0].State != hemera.WriteOpen || list[0].Written != 5 || list[0].Idle < time.Second {
		t.Errorf("%+v, %v", list, err)
	}
	if r.m.Writes.pending.load(living.Permit.Targets[0].Disk) != 1 {
		t.Error("the write that is over still counts at its disk")
	}
	r.m.Writes.asks.set(r.m.Writes.pending.look(time.Now().Add(reportTime - time.Second)))
	if asked := beat(); len(asked) != 0 {
		t.Errorf("asked again at once about %v", asked)
	}
	r.m.Writes.asks.set(r.m.Writes.pending.look(time.Now().Add(reportTime + time.Second)))
	if asked := beat(); len(asked) != 1 || asked[0].Nonce != living.Permit.Nonce || asked[0].File != living.Permit.File {
		t.Errorf("asked again about %v", asked)
	}
	if _, err := r.m.Control.Commit(t.Context(), r.seal(dead, 3)); err != nil {
		t.Errorf("a write that began late: %v", err)
	}
}

func TestFreeWrite(t *testing.T) {
	r := newRig(t, 1, 1)
	r.mustOpen("/a", hemera.AccessCreate, exclusive("a"))
	list, err := r.m.Writes.Writes(unasked(t), hemera.SystemIdentity())
	if err != nil || len(list) != 1 || list[0].State != hemera.WriteGranted || list[0].HeadAddr != "node1:1095" || list[0].Who.Name != alice.Name {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, id := range []string{"?", "0"} {
		if _, err := r.m.Writes.FreeWrite(t.Context(), id); errs.KindOf(err) != errs.Invalid && errs.KindOf(err) != errs.NotFound {
			t.Error(err)
		}
	}
	if w, err := r.m.Writes.FreeWrite(t.Context(), list[0].ID); err != nil || w.Path != "/a" {
		t.Error(w, err)
	}
	r.mustOpen("/a", hemera.AccessCreate, exclusive("b"))
}

// TestExclusiveCreateAfterItsWriterIsGone: a client that was killed and begins again does not wait for minutes; but there
// is one winner as long as the session or the head knows the first writer.
func TestExclusiveCreateAfterItsWriterIsGone(t *testing.T) {
	r := newRig(t, 1, 1)
	connected := map[string]bool{"first": true}
	r.m.Files.connected = func(s string) bool { return connected[s] }
	first := r.mustOpen("/f", hemera.AccessCreate, exclusive("first"))
	node := r.nodes[0]
	asked := func(state hemera.WriteState) {
		t.Helper()
		for i := range 2 {
			report := hemera.NodeReport{Disks: node.disks}
			if state.Nonce = first.Permit.Nonce; i == 1 {
				report.Writes = []hemera.WriteState{state}
			}
			reply, err := r.m.Control.Heartbeat(t.Context(), node.id, node.epoch, report)
			if err != nil || i == 0 && (len(reply.Writes) != 1 || reply.Writes[0].Nonce != first.Permit.Nonce) {
				t.Fatalf("asked about %v, %v", reply.Writes, err)
			}
		}
	}
	again := func(want errs.Kind) {
		t.Helper()
		_, err := r.open("/f", hemera.AccessCreate, exclusive("second"))
		wantKind(t, err, want)
	}
	again(errs.Exists) // its session is there
	connected["first"] = false
	far := alice
	far.Host = "elsewhere"
	_, err := r.m.Files.Open(t.Context(), far, hemera.OpenRequest{Path: "/f", Access: hemera.AccessCreate, Exclusive: true, Mode: 0o644, Session: "second"})
	wantKind(t, err, errs.Exists)
	again(errs.Unavailable) // the head is asked
	asked(hemera.WriteState{Pending: true, Attached: true, Idle: time.Hour})
	again(errs.Exists) // it has the writer
	name := name{first.Permit.Parent, first.Permit.Name}
	r.m.Writes.pending.hear(name, hemera.WriteState{Nonce: first.Permit.Nonce, Pending: true, Attached: true}, time.Now().Add(-freshTime))
	again(errs.Unavailable) // that was long ago
	asked(hemera.WriteState{Pending: true, Idle: abandonTime / 2})
	again(errs.Unavailable) // it may come back
	asked(hemera.WriteState{Pending: true, Idle: abandonTime})
	r.mustOpen("/f", hemera.AccessCreate, exclusive("second"))
	if r.m.Writes.pending.size() != 1 {
		t.Errorf("%d writes", r.m.Writes.pending.size())
	}
	connected["second"] = true
	_, err = r.open("/f", hemera.AccessCreate, exclusive("third"))
	wantKind(t, err, errs.Exists)
}

// unasked returns a context in which nodes do not answer.
func unasked(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
