package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/platform/kv"
	"hemera/rules/capability"
	"hemera/rules/layout"
	"hemera/rules/quota"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// backSilent has another life of the manager, with all nodes, which have announced nothing.
func (r *rig) backSilent() {
	r.t.Helper()
	r.restart()
	for _, n := range r.nodes {
		n.register()
	}
}

// announce has the head of a write announce it.
func (r *rig) announce(g hemera.Grant) error {
	return r.announceAt(r.node(g.Permit.HeadNode()), shown(g))
}

// announceAt has a node announce a write.
func (r *rig) announceAt(n *fakeNode, p *hemera.Permit) error {
	id, epoch := n.lease()
	w := hemera.OpenWrite{Permit: p, Age: time.Minute, Size: 3, Idle: time.Second, Attached: true}
	return r.m.Control.Announce(r.as(id), hemera.Announcement{Node: id, Epoch: epoch, Writes: []hemera.OpenWrite{w}})
}

// wantHeld has the name be held against a client at another host, or free for it.
func (r *rig) wantHeld(what, path string, held bool) {
	r.t.Helper()
	far := alice
	far.Host = "elsewhere"
	_, exists := r.m.Names.Stat(r.t.Context(), alice, path)
	for _, exclusive := range []bool{true, false} {
		if exclusive && exists == nil {
			continue // refused in any case
		}
		g, err := r.m.Files.Open(r.t.Context(), far, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Exclusive: exclusive, Mode: 0o644})
		want := errs.Locked
		if exclusive {
			want = errs.Exists
		}
		if held != errors.Is(err, want) || !held && err != nil {
			r.t.Errorf("%s: exclusive %t: held %t, %v", what, exclusive, held, err)
		}
		if err == nil {
			if err := r.m.Control.Abort(r.t.Context(), shown(g)); err != nil {
				r.t.Error(err)
			}
		}
	}
}

// begins are the ways in which a write of /exp/f begins, which has 100 bytes where it is there already.
var begins = map[string]struct {
	there bool
	how   func(r *rig) hemera.Grant
}{
	"create": {false, func(r *rig) hemera.Grant { return r.mustOpen("/exp/f", hemera.AccessCreate, size(300)) }},
	"exclusive": {false, func(r *rig) hemera.Grant {
		return r.mustOpen("/exp/f", hemera.AccessCreate, exclusive("one"), size(300))
	}},
	"not announced": {false, func(r *rig) hemera.Grant { return r.mustOpen("/exp/f", hemera.AccessCreate) }},
	"coded": {false, func(r *rig) hemera.Grant {
		return r.mustOpen("/exp/f", hemera.AccessCreate, size(300), func(o *hemera.OpenRequest) { o.Wish.Layout = "rs:2+1" })
	}},
	"replace": {true, func(r *rig) hemera.Grant { return r.mustOpen("/exp/f", hemera.AccessCreate, size(300)) }},
	"replace a version": {true, func(r *rig) hemera.Grant {
		if err := r.m.Attributes.SetXattr(r.t.Context(), hemera.SystemIdentity(), "/exp", "sys.versioning", []byte("3"), false); err != nil {
			r.t.Fatal(err)
		}
		return r.mustOpen("/exp/f", hemera.AccessCreate, size(300))
	}},
	"update":        {true, func(r *rig) hemera.Grant { return r.mustOpen("/exp/f", hemera.AccessUpdate, size(300)) }},
	"update inside": {true, func(r *rig) hemera.Grant { return r.mustOpen("/exp/f", hemera.AccessUpdate) }},
	"forced":        {true, func(r *rig) hemera.Grant { return r.mustOpen("/exp/f", hemera.AccessCreate, size(300), force) }},
}

// TestAnnouncedWritesHoldTheirNames: with what they claim and count for, until they end in one of the ways there are.
func TestAnnouncedWritesHoldTheirNames(t *testing.T) {
	for how, begin := range begins {
		for _, end := range []string{"commit", "abort", "expiry", "head", "admin", "keep"} {
			t.Run(how+"/"+end, func(t *testing.T) {
				r := newRig(t, 3, 1)
				if _, err := r.m.Names.Mkdir(t.Context(), alice, "/exp", 0o777, false); err != nil {
					t.Fatal(err)
				}
				if begin.there {
					r.write("/exp/f", 100)
				}
				r.limit("/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 1000, Files: 10})
				g := begin.how(r)
				was := r.m.Writes.pending.claims.With(r.standings("/exp"))[0].Used
				p := r.m.Writes.pending
				user := p.holders.users.Usage().Used
				r.backSilent()
				p = r.m.Writes.pending
				r.wantHeld("before", "/exp/f", false)
				for range 2 {
					if err := r.announce(g); err != nil {
						t.Fatal(err)
					}
				}
				r.wantHeld("announced", "/exp/f", true)
				if is := p.claims.With(r.standings("/exp"))[0].Used; is != was {
					t.Errorf("it claims %+v, not %+v", is, was)
				}
				if is := p.holders.users.Usage().Used; is != user || p.size() != 1 || p.load(g.Permit.Targets[0].Disk) != 1 {
					t.Errorf("%d writes of users, %d in all", is, p.size())
				}
				r.endAnnounced(g, end)
				r.wantHeld("ended", "/exp/f", false)
				if end != "keep" {
					r.noClaims("/exp")
				}
				if p.holders.users.Usage().Used != 0 || p.size() != 0 || p.load(g.Permit.Targets[0].Disk) != 0 {
					t.Errorf("%d writes are left", p.size())
				}
				// A later lease has the same announced, as it was sent before the end.
				for _, n := range r.nodes {
					n.register()
				}
				if err := r.announce(g); err != nil {
					t.Fatal(err)
				}
				r.wantHeld("announced after its end", "/exp/f", false)
			})
		}
	}
}

// standings returns the project's account at a directory.
func (r *rig) standings(path string) []quota.Standing {
	e, err := r.m.Names.Stat(r.t.Context(), alice, path)
	if err != nil {
		r.t.Fatal(err)
	}
	return []quota.Standing{{Account: quota.Account{Node: e.ID, Kind: hemera.QuotaProject}}}
}

// endAnnounced ends a write.
func (r *rig) endAnnounced(g hemera.Grant, how string) {
	r.t.Helper()
	p, head := r.m.Writes.pending, r.node(g.Permit.HeadNode())
	switch how {
	case "commit":
		req := r.seal(g, 300)
		// A coded file of that size has no bytes in some of its pieces.
		req.Pieces = slices.DeleteFunc(req.Pieces, func(p hemera.Piece) bool { return layout.PieceSize(g.Permit.Layout, 300, p.Index) == 0 })
		if _, err := r.m.Control.Commit(r.as(head.id), req); err != nil {
			r.t.Error(err)
		}
	case "abort":
		if err := r.m.Control.Abort(r.as(head.id), shown(g)); err != nil {
			r.t.Error(err)
		}
	case "keep":
		if err := r.m.Control.Keep(r.as(head.id), shown(g), 3); err != nil {
			r.t.Error(err)
		}
	case "expiry":
		p.look(g.Permit.Expires.Add(hemera.PendingHold + 2*time.Second))
	case "head":
		r.m.Writes.asks.set(p.look(time.Now().Add(reportTime + time.Second)))
		for range 2 {
			id, epoch := head.lease()
			report := hemera.NodeReport{Disks: head.disks, Writes: []hemera.WriteState{{Nonce: g.Permit.Nonce}}}
			if _, err := r.m.Control.Heartbeat(r.t.Context(), id, epoch, report); err != nil {
				r.t.Error(err)
			}
		}
	case "admin":
		list, err := r.m.Writes.Writes(unasked(r.t), hemera.SystemIdentity())
		if err != nil || len(list) != 1 || list[0].State != hemera.WriteOpen || list[0].Written != 3 || list[0].Since.After(time.Now().Add(-time.Minute)) {
			r.t.Fatalf("%+v, %v", list, err)
		}
		if _, err := r.m.Writes.FreeWrite(r.t.Context(), list[0].ID); err != nil {
			r.t.Error(err)
		}
	}
}

// TestARenamedWriteIsAnnounced: its capability says its first name.
func TestARenamedWriteIsAnnounced(t *testing.T) {
	for _, there := range []bool{false, true} {
		r := newRig(t, 3, 1)
		if there {
			r.write("/f", 100)
		}
		of := func(o *hemera.OpenRequest) { o.Process = "p" }
		g := r.mustOpen("/f", hemera.AccessCreate, of)
		if err := r.m.Files.Move(t.Context(), alice, "/f", "/g", "p"); err != nil {
			t.Fatal(err)
		}
		r.backSilent()
		if err := r.announce(g); err != nil {
			t.Fatal(err)
		}
		r.wantHeld("new name", "/g", true)
		if list, err := r.m.Writes.Writes(unasked(t), hemera.SystemIdentity()); err != nil || len(list) != 1 || !there && list[0].Path != "/g" {
			t.Errorf("%+v, %v", list, err)
		}
		r.wantHeld("old name", "/f", false)
		if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 5)); err != nil {
			t.Fatal(err)
		}
		r.wantHeld("new name", "/g", false)
		if e := r.entry("/g"); e.Size != 5 || r.m.Writes.pending.size() != 0 {
			t.Errorf("%+v, %d writes", e, r.m.Writes.pending.size())
		}
	}
}

// forge returns a capability of the manager that was changed.
func forge(r *rig, g hemera.Grant, change func(*hemera.Capability)) *hemera.Permit {
	c := g.Permit.Capability
	change(&c)
	token, err := r.m.Cluster.Keys.Ring().Mint(c)
	if err != nil {
		r.t.Fatal(err)
	}
	return hemera.ParsePermit(token)
}

// refusals are the announcements that hold nothing.
var refusals = map[string]struct {
	before func(r *rig, g hemera.Grant)                             // in the life of the grant
	after  func(r *rig, g hemera.Grant)                             // in the next one
	with   func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) // nil: by its head, as it was granted
}{
	"another node": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) { return r.node(g.Permit.Head%3 + 1), shown(g) }},
	"another cluster's": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) {
		token, _ := capability.NewKeyring(hemera.Key{ID: 1, Secret: make([]byte, 32)}).Mint(g.Permit.Capability)
		return r.node(g.Permit.Head), hemera.ParsePermit(token)
	}},
	"signed with the node's key": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) {
		key := r.m.Cluster.Keys.Ring().NodeKeys(g.Permit.Head)[0]
		key.Node = 0
		token, _ := capability.NewKeyring(key).Mint(g.Permit.Capability)
		return r.node(g.Permit.Head), hemera.ParsePermit(token)
	}},
	"nothing": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) { return r.node(g.Permit.Head), nil }},
	"expired": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) {
		return r.node(g.Permit.Head), forge(r, g, func(c *hemera.Capability) { c.Expires = time.Now().Add(-hemera.PendingHold - 2*time.Second) })
	}},
	"for reading": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) {
		return r.node(g.Permit.Head), forge(r, g, func(c *hemera.Capability) { c.Access = hemera.AccessRead })
	}},
	"a conversion": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) {
		return r.node(g.Permit.Head), forge(r, g, func(c *hemera.Capability) { c.Convert = true })
	}},
	"without targets": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) {
		return r.node(g.Permit.Head), forge(r, g, func(c *hemera.Capability) { c.Targets, c.Head = nil, 0 })
	}},
	"another generation": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) {
		return r.node(g.Permit.Head), forge(r, g, func(c *hemera.Capability) { c.BaseGen++ })
	}},
	"a directory": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) {
		return r.node(g.Permit.Head), forge(r, g, func(c *hemera.Capability) { c.File = c.Parent })
	}},
	"in no directory": {with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) {
		return r.node(g.Permit.Head), forge(r, g, func(c *hemera.Capability) { c.File, c.BaseGen, c.Parent = 1<<40, 0, 1<<41 })
	}},
	"committed before": {before: func(r *rig, g hemera.Grant) { _, _ = r.m.Control.Commit(r.t.Context(), r.seal(g, 3)) }},
	"committed since":  {after: func(r *rig, g hemera.Grant) { _, _ = r.m.Control.Commit(r.t.Context(), r.seal(g, 3)) }},
	"aborted since":    {after: func(r *rig, g hemera.Grant) { _ = r.m.Control.Abort(r.t.Context(), shown(g)) }},
	"kept since":       {after: func(r *rig, g hemera.Grant) { _ = r.m.Control.Keep(r.t.Context(), shown(g), 3) }},
	"replaced since":   {after: func(r *rig, g hemera.Grant) { r.write(g.Permit.Path, 7) }},
	"removed since": {before: func(r *rig, g hemera.Grant) {
		r.write(g.Permit.Path, 7)
		_ = r.m.Names.Remove(r.t.Context(), alice, g.Permit.Path, 0)
	}, after: func(r *rig, g hemera.Grant) { r.write(g.Permit.Path, 8) }},
	"refused before": {before: func(r *rig, g hemera.Grant) {
		r.write(g.Permit.Path, 7)
		_, err := r.m.Control.Commit(r.t.Context(), r.seal(g, 3))
		wantKind(r.t, err, errs.Conflict)
		_ = r.m.Names.Remove(r.t.Context(), alice, g.Permit.Path, 0)
	}},
	"of this life": {after: func(r *rig, _ hemera.Grant) {}, with: func(r *rig, g hemera.Grant) (*fakeNode, *hemera.Permit) {
		g = r.mustOpen(g.Permit.Path, hemera.AccessCreate)
		_ = r.m.Control.Abort(r.t.Context(), shown(g))
		return r.node(g.Permit.Head), shown(g)
	}},
}

// TestAnnouncementsAreRefused: of all that a node has no right to, or that is over. They hold nothing and change nothing.
func TestAnnouncementsAreRefused(t *testing.T) {
	for how, c := range refusals {
		for _, there := range []bool{false, true} {
			t.Run(fmt.Sprint(how, "/there ", there), func(t *testing.T) {
				if there && how == "in no directory" {
					t.Skip("a file that is there is found by its id")
				}
				r := newRig(t, 3, 1)
				if there {
					r.write("/f", 100)
				}
				g := r.mustOpen("/f", hemera.AccessCreate, size(300))
				if c.before != nil {
					c.before(r, g)
				}
				r.backSilent()
				if c.after != nil {
					c.after(r, g)
				}
				n, p := r.node(g.Permit.Head), shown(g)
				if c.with != nil {
					n, p = c.with(r, g)
				}
				// The node did nothing wrong by itself: it may not know.
				if err := r.announceAt(n, p); err != nil {
					t.Fatal(err)
				}
				if n := r.m.Writes.pending.size(); n != 0 {
					t.Errorf("%d writes hold names", n)
				}
				r.wantHeld("refused", "/f", false)
			})
		}
	}
}

// TestAnnouncementsAreANodesOwn, in pages that are bounded, and with a lease.
func TestAnnouncementsAreANodesOwn(t *testing.T) {
	r := newRig(t, 2, 1)
	id, epoch := r.nodes[0].lease()
	for what, c := range map[string]struct {
		caller hemera.NodeID
		a      hemera.Announcement
		want   errs.Kind
	}{
		"another's":      {r.nodes[1].id, hemera.Announcement{Node: id, Epoch: epoch}, errs.Denied},
		"an older lease": {id, hemera.Announcement{Node: id, Epoch: epoch - 1}, errs.Fenced},
		"no member":      {77, hemera.Announcement{Node: 77, Epoch: 1}, errs.Fenced},
		"too many":       {id, hemera.Announcement{Node: id, Epoch: epoch, Writes: make([]hemera.OpenWrite, hemera.AnnouncedMax+1)}, errs.TooLarge},
	} {
		if err := r.m.Control.Announce(r.as(c.caller), c.a); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestASecondWriterBeforeTheAnnouncement: it has the name, and the first commit decides. Nothing of the other is left.
func TestASecondWriterBeforeTheAnnouncement(t *testing.T) {
	for _, winner := range []int{0, 1} {
		r := newRig(t, 3, 1)
		first := r.mustOpen("/f", hemera.AccessCreate, exclusive("one"))
		r.backSilent()
		second, err := r.m.Files.Open(t.Context(), bob, hemera.OpenRequest{Path: "/f", Access: hemera.AccessCreate, Exclusive: true, Mode: 0o644, Session: "two"})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.announce(first); err != nil {
			t.Fatal(err)
		}
		if n := r.m.Writes.pending.size(); n != 1 {
			t.Errorf("%d writes hold the name", n)
		}
		both := []hemera.Grant{first, second}
		if _, err := r.m.Control.Commit(t.Context(), r.seal(both[winner], 10+int64(winner))); err != nil {
			t.Fatal(err)
		}
		_, err = r.m.Control.Commit(t.Context(), r.seal(both[1-winner], 5))
		wantKind(t, err, errs.Conflict)
		if e := r.entry("/f"); e.Size != 10+int64(winner) || r.m.Writes.pending.size() != 0 {
			t.Errorf("%+v, %d writes", e, r.m.Writes.pending.size())
		}
	}
}

// TestAnAnnouncedWriteGetsTheNameLater: when the second writer is gone, and its head announces it again.
func TestAnAnnouncedWriteGetsTheNameLater(t *testing.T) {
	r := newRig(t, 3, 1)
	first := r.mustOpen("/f", hemera.AccessCreate)
	r.backSilent()
	second := r.mustOpen("/f", hemera.AccessCreate)
	for _, held := range []bool{false, true} {
		if err := r.announce(first); err != nil {
			t.Fatal(err)
		}
		s := r.m.Writes.pending.lock(name{first.Permit.Parent, "f"})
		w := s.writes[name{first.Permit.Parent, "f"}]
		s.mu.Unlock()
		if is := w.nonce == first.Permit.Nonce; is != held {
			t.Errorf("held %t, not %t", is, held)
		}
		_ = r.m.Control.Abort(t.Context(), shown(second))
	}
}

// TestOfTwoAnnouncedWritesTheLaterHasTheName, as it had taken it from the other in the earlier life, with the room. The other has no promise any more.
func TestOfTwoAnnouncedWritesTheLaterHasTheName(t *testing.T) {
	for _, there := range []bool{false, true} {
		for order := range 2 {
			r := keptRig(t)
			if there {
				r.write("/exp/a", 1)
			}
			both := []hemera.Grant{r.mustOpen("/exp/a", hemera.AccessCreate, size(700)), r.mustOpen("/exp/a", hemera.AccessCreate, size(600))}
			r.backSilent()
			for i := range both {
				if err := r.announce(both[i^order]); err != nil {
					t.Fatal(err)
				}
			}
			n := name{both[0].Permit.Parent, "a"}
			s := r.m.Writes.pending.lock(n)
			nonce := s.writes[n].nonce
			s.mu.Unlock()
			if p := r.m.Writes.pending; nonce != both[1].Permit.Nonce || p.size() != 1 || p.holders.users.Usage().Used != 1 {
				t.Errorf("there %t, order %d: another has the name, of %d", there, order, p.size())
			}
			r.wantRoom(400)
			r.mustOpen("/exp/b", hemera.AccessCreate, size(400))
			_, err := r.m.Control.Commit(t.Context(), r.seal(both[0], 700))
			wantKind(t, err, errs.OverQuota)
			if _, err := r.m.Control.Commit(t.Context(), r.seal(both[1], 600)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestAnAnnouncedExclusiveCreateIsReplacedWhenItsClientIsGone: its session was one of the manager that is gone. The head knows.
func TestAnAnnouncedExclusiveCreateIsReplacedWhenItsClientIsGone(t *testing.T) {
	r := newRig(t, 1, 1)
	first := r.mustOpen("/f", hemera.AccessCreate, exclusive("one"))
	r.backSilent()
	r.m.Files.connected = func(string) bool { return true }
	if err := r.announce(first); err != nil {
		t.Fatal(err)
	}
	again := func() error { _, err := r.open("/f", hemera.AccessCreate, exclusive("two")); return err }
	wantKind(t, again(), errs.Exists) // its head just said that a client has it open
	n := name{first.Permit.Parent, "f"}
	r.m.Writes.pending.hear(n, hemera.WriteState{Nonce: first.Permit.Nonce, Pending: true, Idle: abandonTime}, time.Now())
	if err := again(); err != nil {
		t.Error(err)
	}
}

// TestBoundsHoldForAnnouncements: what is beyond them holds nothing.
func TestBoundsHoldForAnnouncements(t *testing.T) {
	r := newRig(t, 1, 1)
	var all []hemera.Grant
	for i := range 5 {
		all = append(all, r.mustOpen(fmt.Sprint("/f", i), hemera.AccessCreate))
	}
	r.backSilent()
	r.m.Writes.pending.holders = newHolders(3, 3)
	for _, g := range all {
		if err := r.announce(g); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.m.Writes.pending.size(); n != 3 {
		t.Errorf("%d writes", n)
	}
}

// TestThePromiseOfAnAnnouncedWriteEndsWithItsClaim, as that of a write that this life opened. One that was not announced keeps it.
func TestThePromiseOfAnAnnouncedWriteEndsWithItsClaim(t *testing.T) {
	for _, announced := range []bool{false, true} {
		r := keptRig(t)
		g := r.mustOpen("/exp/a", hemera.AccessCreate, size(1000))
		r.backSilent()
		if announced {
			if err := r.announce(g); err != nil {
				t.Fatal(err)
			}
			r.wantRoom(0)
		}
		// The same user takes the name, and gives it back.
		_ = r.m.Control.Abort(t.Context(), shown(r.mustOpen("/exp/a", hemera.AccessCreate, size(1))))
		other := r.mustOpen("/exp/b", hemera.AccessCreate, size(999))
		// A commit may come long after the time of the lock.
		for _, after := range []time.Duration{0, hemera.CommitLifetime} {
			r.m.Writes.pending.settled.expire(time.Now().Add(after))
		}
		_, err := r.m.Control.Commit(t.Context(), r.seal(g, 1000))
		if announced {
			wantKind(t, err, errs.OverQuota)
		} else if err != nil {
			t.Error(err)
		}
		if _, err := r.m.Control.Commit(t.Context(), r.seal(other, 999)); err != nil {
			t.Errorf("what was promised: %v", err)
		}
	}
}

// TestTheClockIsSetBackBetweenLives: nonces of the next life are lower, and leases tell which write is older.
func TestTheClockIsSetBackBetweenLives(t *testing.T) {
	r := newRig(t, 1, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	r.backSilent()
	r.m.Control.nonces.before = 5
	if err := r.announce(g); err != nil {
		t.Fatal(err)
	}
	r.wantHeld("", "/f", true)
}

// TestNoAnnouncedLockOutlivesThoseOfTheEarlierLife, whatever a capability says that was signed again since, or by a clock that was ahead.
func TestNoAnnouncedLockOutlivesThoseOfTheEarlierLife(t *testing.T) {
	r := newRig(t, 1, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	r.backSilent()
	last := time.Now().Add(hemera.CapabilityLifetime + hemera.PendingHold)
	renewed := forge(r, g, func(c *hemera.Capability) { c.Expires = last.Add(hemera.CapabilityLifetime) })
	if err := r.announceAt(r.nodes[0], renewed); err != nil {
		t.Fatal(err)
	}
	n := name{g.Permit.Parent, "f"}
	if _, _, expires, ok := r.m.Writes.pending.holder(n); !ok || expires.After(last) {
		t.Errorf("held %t until %s, and the start was an hour before %s", ok, expires, last)
	}
	// The manager has forgotten the end of the write when the node announces it once more.
	_ = r.m.Control.Abort(t.Context(), shown(g))
	r.m.Writes.pending.settled.writes = nil
	r.m.Control.heads.started = time.Now().Add(-hemera.CapabilityLifetime - hemera.PendingHold - time.Second)
	if err := r.announceAt(r.nodes[0], renewed); err != nil {
		t.Fatal(err)
	}
	r.wantHeld("announced late", "/f", false)
}

// TestWhatWasAnnouncedIsForgottenInTime with the capability.
func TestWhatWasAnnouncedIsForgottenInTime(t *testing.T) {
	r := newRig(t, 1, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	r.backSilent()
	_ = r.m.Control.Abort(t.Context(), shown(g))
	p, now := r.m.Writes.pending, time.Now()
	p.look(now)
	p.look(now.Add(hemera.CapabilityLifetime + hemera.PendingHold))
	if known, _ := p.settled.has(g.Permit.Nonce); !known {
		t.Error("too early")
	}
	p.look(now.Add(hemera.CapabilityLifetime + hemera.PendingHold + 1))
	if known, _ := p.settled.has(g.Permit.Nonce); known {
		t.Error("never")
	}
	p.settled.add(g.Permit.Nonce, true)
	for _, after := range []time.Duration{0, hemera.CapabilityLifetime + hemera.CommitLifetime + 1} {
		p.settled.expire(now.Add(after))
	}
	if len(p.settled.writes) != 0 {
		t.Error("one that was announced: never")
	}
}

// TestTheManagerKnowsWhenAllIsAnnounced: when those that were there have registered and said what they promised, or a short time after its start.
func TestTheManagerKnowsWhenAllIsAnnounced(t *testing.T) {
	for how, c := range map[string]struct {
		promises int // of the first node; all others promise nothing
		page     func(r *rig)
		silent   bool // one node never comes
		late     bool
	}{
		"nothing":           {},
		"promised":          {promises: 1, late: true},
		"a part":            {promises: 1, page: func(r *rig) { r.page(true) }, late: true},
		"all":               {promises: 1, page: func(r *rig) { r.page(true); r.page(false) }},
		"a node is missing": {silent: true, late: true},
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 3, 1)
				r.restart()
				began := time.Now()
				for i, n := range r.nodes {
					if i == 2 && c.silent {
						continue
					}
					hello := hemera.NodeHello{ID: n.id, Addr: n.addr, Disks: n.disks}
					if i == 0 {
						hello.Writes = c.promises
					}
					w, err := r.m.Control.Register(t.Context(), hello)
					if err != nil {
						t.Fatal(err)
					}
					n.epoch = w.Epoch
				}
				if c.page != nil {
					c.page(r)
				}
				if err := r.m.Control.heads.await(t.Context()); err != nil {
					t.Fatal(err)
				}
				if late := time.Since(began) >= announceTime; late != c.late {
					t.Errorf("after %s", time.Since(began))
				}
			})
		})
	}
}

// page has the first node announce nothing.
func (r *rig) page(more bool) {
	n := r.nodes[0]
	if err := r.m.Control.Announce(r.as(n.id), hemera.Announcement{Node: n.id, Epoch: n.epoch, More: more}); err != nil {
		r.t.Error(err)
	}
}

// TestAConversionWaitsForAnnouncements, as a write that is under way is to win.
func TestAConversionWaitsForAnnouncements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		e := r.write("/f", 100)
		g := r.mustOpen("/f", hemera.AccessUpdate)
		r.restart()
		for _, n := range r.nodes {
			hello := hemera.NodeHello{ID: n.id, Addr: n.addr, Disks: n.disks, Writes: 1}
			w, err := r.m.Control.Register(t.Context(), hello)
			if err != nil {
				t.Fatal(err)
			}
			n.epoch = w.Epoch
		}
		go func() {
			time.Sleep(announceTime / 2)
			if err := r.announce(g); err != nil {
				t.Error(err)
			}
		}()
		_, err := r.grants().GrantConversion(t.Context(), e.ID, e.Gen, hemera.Form{})
		wantKind(t, err, errs.Locked)
	})
}

// TestAWriterWaitsForNodesThatTell: a second writer that comes right after a start meets the write of the first, however soon its open is granted.
// Reads do not wait, nor does a node that tells nothing keep writers for long.
func TestAWriterWaitsForNodesThatTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		r.write("/old", 100)
		g := r.mustOpen("/f", hemera.AccessCreate)
		r.restart()
		for i, n := range r.nodes {
			hello := hemera.NodeHello{ID: n.id, Addr: n.addr, Disks: n.disks}
			if i < 2 {
				hello.Writes = 1
			}
			w, err := r.m.Control.Register(t.Context(), hello)
			if err != nil {
				t.Fatal(err)
			}
			n.epoch = w.Epoch
		}
		later := func() *hemera.NotYet {
			t.Helper()
			_, err := r.open("/f", hemera.AccessCreate)
			notYet, ok := errors.AsType[*hemera.NotYet](err)
			if !ok {
				t.Fatalf("a second writer got %v, and nodes still tell", err)
			}
			return notYet
		}
		later()
		r.mustOpen("/old", hemera.AccessRead)
		if err := r.announce(g); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := later().Await(t.Context()); err != nil || time.Since(began) > announceTime {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		r.wantHeld("the announced write", "/f", true)
	})
}

// TestAWriterMeetsTheNodesOfItsView: a node that comes while an open is under way announces before the open takes a name, if it may be sent there.
func TestAWriterMeetsTheNodesOfItsView(t *testing.T) {
	r := newRig(t, 1, 1)
	r.backSilent()
	heads := r.m.Control.heads
	heads.awaited[r.nodes[0].id] = true
	heads.registers(r.nodes[0].id, 1)
	_, err := r.m.Files.tryOpen(t.Context(), time.Now(), alice, hemera.OpenRequest{Path: "/f", Access: hemera.AccessCreate})
	if _, later := errors.AsType[*hemera.NotYet](err); !later {
		t.Error(err)
	}
}

// slowReads is a store whose scans take time.
type slowReads struct{ kv.Store }

func (s slowReads) Scan(ctx context.Context, lo, hi []byte, visit func(key, value []byte) bool) error {
	time.Sleep(announceTime)
	return s.Store.Scan(ctx, lo, hi, visit)
}

// TestNodesHaveTimeAfterALongStart: they cannot come before the manager has loaded what it has.
func TestNodesHaveTimeAfterALongStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, 1)
		r.store = slowReads{r.store}
		began := time.Now()
		r.restart()
		now := time.Now()
		if now.Sub(began) < 2*announceTime {
			t.Fatalf("it took %s", now.Sub(began))
		}
		if since := r.m.Control.heads.started; !since.Equal(now) || !r.m.Control.returns.started.Equal(now) || !r.m.Files.rescuer.started.Equal(now) {
			t.Errorf("it began %s ago", now.Sub(since))
		}
		if err := r.m.Cluster.Marks.AwaitCurrent(t.Context()); err != nil || time.Since(now) != 5*time.Second {
			t.Errorf("changes waited for %s: %v", time.Since(now), err)
		}
	})
}

// TestARefusedNodeKeepsNoWriter: what a registration said counts for nothing once it is refused.
func TestARefusedNodeKeepsNoWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		r.restart()
		n := r.nodes[0]
		hello := hemera.NodeHello{ID: n.id, Addr: "no address", Disks: n.disks, Writes: 1}
		if _, err := r.m.Control.Register(t.Context(), hello); err == nil {
			t.Fatal("a node without an address is registered")
		}
		if err := r.m.Control.heads.quiet(); err != nil {
			t.Error(err)
		}
		// Nor does a copy of its state, at another address, let writers through while the node itself tells.
		hello.Addr = n.addr
		if _, err := r.m.Control.Register(t.Context(), hello); err != nil {
			t.Fatal(err)
		}
		hello.Addr = "copy:1095"
		if _, err := r.m.Control.Register(t.Context(), hello); err == nil {
			t.Fatal("a copy of a node is registered")
		}
		if err := r.m.Control.heads.quiet(); err == nil {
			t.Error("the node is not waited for any more")
		}
	})
}
