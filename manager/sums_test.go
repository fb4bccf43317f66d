package manager

import (
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// A comparison of the namespace with the disks and one of its records count the same, and say what each leaves out: files in bins, pieces that are
// held for readers, and pieces of no file that are too young to judge.
func TestTheSumsOfChecksAgree(t *testing.T) {
	holding(t, 2*time.Hour, func(t *testing.T, r *rig) {
		ctx := t.Context()
		if err := r.m.Admin.SetSpace(ctx, "default", "policy.recycle", "5h"); err != nil {
			t.Fatal(err)
		}
		e := r.write("/f", 10)
		r.write("/gone", 10)
		r.write("/stays", 10)
		if err := r.m.Names.Remove(ctx, hemera.SystemIdentity(), "/gone", 0); err != nil {
			t.Fatal(err)
		}
		next := r.mustOpen("/f", hemera.AccessUpdate)
		if _, err := r.commit(r.seal(next, 20)); err != nil {
			t.Fatal(err)
		}
		disk := r.nodes[0].disks[0].ID
		r.nodes[0].put(disk, hemera.PieceStat{ID: hemera.PieceID{File: e.ID, Gen: e.Gen, Index: 9}, Sealed: time.Now()})
		for _, when := range []string{"young", "old"} {
			report, err := r.m.Maint.Fsck(ctx, false)
			if err != nil {
				t.Fatal(err)
			}
			check, err := r.m.Maint.CheckNamespace(ctx, func(adminapi.NamespaceCheck) error { return nil })
			if err != nil || !check.Healthy() {
				t.Fatalf("%+v: %v", check, err)
			}
			var orphans int64
			for _, p := range report.Problems {
				orphans += p.Count
			}
			if report.Pieces != check.Pieces+check.Leaving+report.Young+orphans || report.Leaving != check.Leaving || report.Files+report.Recycled.Files != check.Files {
				t.Errorf("%s: fsck counts %+v, the check %+v", when, report, check)
			}
			if report.Leaving == 0 || report.Recycled.Files != 1 || report.Young+orphans != 1 || (report.Young == 1) != (when == "young") {
				t.Errorf("%s: %+v", when, report)
			}
			time.Sleep(hemera.UnsealedLifetime)
		}
	})
}
