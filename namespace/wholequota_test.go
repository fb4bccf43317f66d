package namespace_test

import (
	"context"
	"fmt"
	"testing"

	"hemera/namespace"
	"hemera/namespace/accounts"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/rules/quota"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestAChangeIsJudgedAsAWhole: a file that comes with versions charges each of them, and every limit has to have room for
// all of them together.
func TestAChangeIsJudgedAsAWhole(t *testing.T) {
	for _, c := range []struct {
		kind  hemera.QuotaKind
		limit hemera.QuotaAmount
	}{
		{hemera.QuotaProject, hemera.QuotaAmount{Bytes: 20}}, {hemera.QuotaProject, hemera.QuotaAmount{Physical: 40}}, {hemera.QuotaProject, hemera.QuotaAmount{Files: 4}},
		{hemera.QuotaUser, hemera.QuotaAmount{Bytes: 20}}, {hemera.QuotaUser, hemera.QuotaAmount{Physical: 40}}, {hemera.QuotaUser, hemera.QuotaAmount{Files: 4}},
		{hemera.QuotaGroup, hemera.QuotaAmount{Bytes: 20}}, {hemera.QuotaGroup, hemera.QuotaAmount{Physical: 40}}, {hemera.QuotaGroup, hemera.QuotaAmount{Files: 4}},
	} {
		t.Run(fmt.Sprint(c.kind, c.limit), func(t *testing.T) {
			n, ctx := fresh(t), t.Context()
			people(t, n, "/p", "/out")
			setRule(t, n, "/p", "1d")
			good(t, n.Tree.SetXattr(ctx, system(), "/p", "sys.versioning", []byte("5"), false))
			good(t, n.Tree.SetXattr(ctx, system(), "/out", "sys.versioning", []byte("5"), false))
			id := uint32(0)
			if c.kind != hemera.QuotaProject {
				id = 1000
			}
			limit(t, n, "/p", c.kind, id, c.limit)
			counted(t, n)
			var e hemera.Entry
			for _, size := range []int64{5, 4, 5, 4} {
				e = put(t, n, alice(), "/p/f", size)
				put(t, n, alice(), "/out/f", size)
			}
			good(t, n.Tree.Remove(ctx, alice(), "/p/f", 0))
			put(t, n, alice(), "/p/g", 4)
			_, err := n.Bins.Restore(ctx, alice(), adminapi.RestoreRequest{ID: e.ID})
			wantKind(t, "restore of 18 bytes in 4 files beside 4 bytes", err, errs.OverQuota)
			wantKind(t, "rename of 18 bytes in 4 files into the limit", n.Tree.Rename(ctx, alice(), "/out/f", "/p/h"), errs.OverQuota)
			good(t, n.Tree.Remove(ctx, alice(), "/p/g", 0))
			_, err = n.Bins.Restore(ctx, alice(), adminapi.RestoreRequest{ID: e.ID})
			good(t, err)
			checked(t, n)
		})
	}
}

// watched is a store that reports each ticket that is waited for.
type watched struct {
	kv.Store
	waits func()
}

type watchedWriter struct {
	kv.Writer
	s *watched
}

type watchedTicket struct {
	kv.Ticket
	s *watched
}

func (s *watched) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := s.Store.Acquire(ctx, owner)
	return watchedWriter{w, s}, err
}

func (w watchedWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	ticket, err := w.Writer.Enqueue(b)
	return watchedTicket{ticket, w.s}, err
}

func (t watchedTicket) Wait(ctx context.Context) error {
	t.s.waits()
	return t.Ticket.Wait(ctx)
}

// TestChangesLeaveRoomToWrites: what an open was promised is not taken by a rename meanwhile, and a write whose directory is
// moved below other limits has no promise there.
func TestChangesLeaveRoomToWrites(t *testing.T) {
	s, ctx := &watched{Store: memkv.New(), waits: func() {}}, t.Context()
	n := open(t, s, namespace.Options{})
	people(t, n, "/p", "/out/d")
	limit(t, n, "/p", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 10})
	p := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/p"))
	project := []quota.Standing{{Account: quota.Account{Node: p.ID, Kind: hemera.QuotaProject}}}
	claims := n.Parts().Claims
	claim := func(id accounts.ClaimID, standings []quota.Standing) {
		t.Helper()
		if d, stale := claims.Take(id, &accounts.Claim{Standings: standings, Want: quota.Want{QuotaAmount: hemera.QuotaAmount{Files: 1, Bytes: 6}}}, 0); !d.Allowed || stale {
			t.Fatalf("%+v, %v", d, stale)
		}
	}
	counted := func() int64 { return claims.With(project)[0].Used.Bytes }
	claim(1, project)
	put(t, n, alice(), "/out/f", 5)
	wantKind(t, "a rename into what is claimed", n.Tree.Rename(ctx, alice(), "/out/f", "/p/f"), errs.OverQuota)
	// It was held although it was refused, as it is held before it is judged.
	if back := claims.Returned().Bytes; back != 5 || counted() != 6 {
		t.Errorf("%d bytes were given back, and %d are counted", back, counted())
	}
	put(t, n, alice(), "/out/g", 4)
	var during int64
	s.waits = func() { during = max(during, counted()) }
	good(t, n.Tree.Rename(ctx, alice(), "/out/g", "/p/g"))
	s.waits = func() {}
	if during != 10 || counted() != 6 {
		t.Errorf("%d bytes are counted until the change is visible, and %d afterwards", during, counted())
	}

	// The write of the claim itself.
	c := prepare(t, n, alice(), "/p/w")
	c.Size, c.Claim, c.Promised = 6, 1, -1
	must[hemera.Entry](t)(n.Writes.Commit(ctx, c))
	claims.Release(1)

	// One that was opened elsewhere.
	moved := prepare(t, n, alice(), "/out/d/w")
	moved.Size, moved.Claim, moved.Promised = 6, 2, 6
	claim(2, []quota.Standing{{Account: quota.Account{Node: p.ID + 1000, Kind: hemera.QuotaProject}}})
	good(t, n.Tree.Rename(ctx, alice(), "/out/d", "/p/d"))
	_, err := n.Writes.Commit(ctx, moved)
	wantKind(t, "a commit below limits that its open did not meet", err, errs.OverQuota)
	checked(t, n)
}
