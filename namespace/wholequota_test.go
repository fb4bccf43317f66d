package namespace_test

import (
	"fmt"
	"testing"

	"hemera/namespace/accounts"
	"hemera/rules/quota"
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
			_, err := n.Bins.Restore(ctx, alice(), hemera.RestoreRequest{ID: e.ID})
			wantKind(t, "restore of 18 bytes in 4 files beside 4 bytes", err, errs.OverQuota)
			wantKind(t, "rename of 18 bytes in 4 files into the limit", n.Tree.Rename(ctx, alice(), "/out/f", "/p/h"), errs.OverQuota)
			good(t, n.Tree.Remove(ctx, alice(), "/p/g", 0))
			_, err = n.Bins.Restore(ctx, alice(), hemera.RestoreRequest{ID: e.ID})
			good(t, err)
			checked(t, n)
		})
	}
}

// TestChangesLeaveRoomToWrites: what an open was promised is not taken by a rename meanwhile, and a write whose directory is
// moved below other limits has no promise there.
func TestChangesLeaveRoomToWrites(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/p", "/out/d")
	limit(t, n, "/p", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 10})
	p := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/p"))
	project := quota.Account{Node: p.ID, Kind: hemera.QuotaProject}
	claimed := hemera.QuotaAmount{Bytes: 6}
	held := func(limits []quota.Standing) []quota.Standing {
		for i := range limits {
			if limits[i].Account == project {
				limits[i].Used = limits[i].Used.Add(claimed)
			}
		}
		return limits
	}
	// What a change takes is held until it is visible, or refused.
	var holds, ended int
	n.Quotas.UseClaims(func(limits []quota.Standing) ([]quota.Standing, *accounts.Promise) {
		if len(limits) > 0 && holds != ended+1 {
			t.Errorf("judged with %d holds, and %d ended", holds, ended)
		}
		return held(limits), nil
	}, func(gains []accounts.Gain) func() {
		holds++
		if len(gains) != 1 || gains[0].Account != project || gains[0].Amount.Bytes < 4 || gains[0].Amount.Bytes > 5 {
			t.Errorf("%+v", gains)
		}
		return func() {
			ended++
			if _, err := n.Tree.Stat(ctx, system(), "/p/g"); gains[0].Amount.Bytes == 4 && err != nil {
				t.Errorf("not held until it is visible: %v", err)
			}
		}
	})
	put(t, n, alice(), "/out/f", 5)
	wantKind(t, "a rename into what is claimed", n.Tree.Rename(ctx, alice(), "/out/f", "/p/f"), errs.OverQuota)
	put(t, n, alice(), "/out/g", 4)
	good(t, n.Tree.Rename(ctx, alice(), "/out/g", "/p/g"))

	// The write of the claim itself.
	c := prepare(t, n, alice(), "/p/w")
	c.Size, c.Promised = 6, 6
	c.ReleaseClaim = func(limits []quota.Standing) ([]quota.Standing, *accounts.Promise) {
		return limits, &accounts.Promise{Accounts: []quota.Account{project}, Amount: hemera.QuotaAmount{Files: 1, Bytes: 6}}
	}
	must[hemera.Entry](t)(n.Writes.Commit(ctx, c))
	claimed = hemera.QuotaAmount{}

	// One that was opened elsewhere.
	moved := prepare(t, n, alice(), "/out/d/w")
	moved.Size, moved.Promised = 6, 6
	moved.ReleaseClaim = func(limits []quota.Standing) ([]quota.Standing, *accounts.Promise) {
		return limits, &accounts.Promise{}
	}
	good(t, n.Tree.Rename(ctx, alice(), "/out/d", "/p/d"))
	_, err := n.Writes.Commit(ctx, moved)
	wantKind(t, "a commit below limits that its open did not meet", err, errs.OverQuota)
	checked(t, n)
}
