package manager

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestClientsWaitForNodesAfterARestart opens files before the nodes have come back to a new manager.
func TestClientsWaitForNodesAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		_, err := r.open("/big", hemera.AccessCreate, func(o *hemera.OpenRequest) { o.Size = 1 << 50 })
		wantKind(t, err, errs.NoSpace) // all nodes are there
		r.write("/f", 10)
		r.restart()
		_, err = r.open("/f", hemera.AccessRead)
		wantKind(t, err, errs.Unavailable)
		_, err = r.open("/g", hemera.AccessCreate)
		wantKind(t, err, errs.Unavailable)
		// The store may be an old copy, which a node would show: what it does not have may be there.
		alice := hemera.Identity{Name: "alice", UID: 1000}
		_, err = r.m.Names.Stat(t.Context(), alice, "/nothing")
		wantKind(t, err, errs.Unavailable)
		for _, n := range r.nodes {
			n.register()
		}
		r.mustOpen("/f", hemera.AccessRead)
		_, err = r.m.Names.Stat(t.Context(), alice, "/nothing")
		wantKind(t, err, errs.NotFound)
		r.restart()
		time.Sleep(returnTime + time.Second)
		_, err = r.open("/f", hemera.AccessRead)
		wantKind(t, err, errs.NoReplicas)
	})
}

// TestChangesWaitForANodeAfterARestart: until one has come nobody can say that the store is not an old copy.
func TestChangesWaitForANodeAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, 1)
		r.write("/f", 10)
		ctx, root := t.Context(), hemera.SystemIdentity()
		for name, change := range map[string]func() error{
			"mkdir": func() error { _, err := r.m.Names.Mkdir(ctx, root, "/d", 0o755, true); return err },
			"rename": func() error {
				return errors.Join(r.m.Names.Rename(ctx, root, "/f", "/g"), r.m.Names.Rename(ctx, root, "/g", "/f"))
			},
			"remove":    func() error { return r.m.Names.Remove(ctx, root, "/d", 0) },
			"publish":   func() error { return r.m.Names.Publish(ctx, root, hemera.Publication{From: "/none", To: "/x"}) },
			"mode":      func() error { return r.m.Attributes.SetMode(ctx, root, "/f", 0o600) },
			"owner":     func() error { return r.m.Attributes.SetOwner(ctx, root, "/f", 1, 1) },
			"times":     func() error { return r.m.Attributes.SetTimes(ctx, root, "/f", time.Now()) },
			"attribute": func() error { return r.m.Attributes.SetXattr(ctx, root, "/f", "user.a", nil, false) },
			"no such":   func() error { return r.m.Attributes.RemoveXattr(ctx, root, "/f", "user.b") },
			"quota": func() error {
				return r.m.Quotas.SetQuota(ctx, hemera.QuotaKey{Path: "/"}, hemera.QuotaAmount{Files: 9})
			},
			"quota again": func() error { return r.m.Quotas.RemoveQuota(ctx, hemera.QuotaKey{Path: "/"}) },
		} {
			r.restart()
			began := time.Now()
			_ = change() // what it says is another test's
			if waited := time.Since(began); waited != hemera.HeartbeatTimeout {
				t.Errorf("%s: %s", name, waited)
			}
			r.restart()
			began = time.Now()
			r.nodes[0].register()
			if _ = change(); time.Since(began) > 0 {
				t.Errorf("%s, with the node: %s", name, time.Since(began))
			}
		}
		r.restart()
		_, err := r.open("/new/f", hemera.AccessCreate, func(o *hemera.OpenRequest) { o.Parents = true })
		wantKind(t, err, errs.Unavailable)
		if _, err := r.m.Names.Stat(ctx, root, "/new"); !errors.Is(err, errs.NotFound) {
			t.Errorf("directories above were made: %v", err)
		}
	})
}

// TestClientsWaitForNodesThatFellSilent: as when a switch restarts, or a node does.
func TestClientsWaitForNodesThatFellSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		r.write("/f", 10)
		silent := func(d time.Duration) {
			time.Sleep(d)
			r.m.Cluster.Tick(t.Context())
		}
		silent(hemera.HeartbeatTimeout + time.Second)
		_, err := r.open("/f", hemera.AccessRead)
		wantKind(t, err, errs.Unavailable)
		_, err = r.open("/g", hemera.AccessCreate)
		wantKind(t, err, errs.Unavailable)
		_, err = r.open("/f", hemera.AccessRead, func(o *hemera.OpenRequest) { o.Tried = []hemera.NodeID{r.nodes[0].id, r.nodes[1].id} })
		wantKind(t, err, errs.NoReplicas) // the client was there: they will not help it
		r.nodes[1].register()
		r.mustOpen("/f", hemera.AccessRead)

		silent(returnTime + time.Second)
		_, err = r.open("/f", hemera.AccessRead)
		wantKind(t, err, errs.NoReplicas)
		_, err = r.open("/g", hemera.AccessCreate)
		wantKind(t, err, errs.NoSpace)
	})
}
