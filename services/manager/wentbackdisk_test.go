package manager

import (
	"testing"
	"testing/synctest"
	"time"

	"hemera"
	"hemera/core/namespace"
	"hemera/errs"
)

// TestADiskStaysUntilItsPiecesAreKnown: a namespace that went back does not know which pieces a disk has, so one without a known piece is
// not empty. It goes after a rebuild that read all disks, or by the word of an admin.
func TestADiskStaysUntilItsPiecesAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		w, err := r.store.Acquire(t.Context(), "restore")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := namespace.Restored(t.Context(), r.store, w, time.Now().Add(-time.Minute), time.Now()); err != nil {
			t.Fatal(err)
		}
		r.restart()
		for _, removal := range []hemera.Removal{{}, {Force: true}} {
			err := r.m.RemoveDisk(t.Context(), 1, removal)
			wantKind(t, err, errs.Conflict)
			if errs.RemedyOf(err) == "" {
				t.Errorf("%+v: no remedy: %v", removal, err)
			}
		}
		if sum, err := r.m.Impact(t.Context(), []hemera.DiskID{1}); err != nil || !sum.Unsure {
			t.Errorf("%+v, %v", sum, err)
		}
		if err := r.m.RemoveDisk(t.Context(), 1, hemera.Removal{Force: true, Lose: true}); err != nil {
			t.Error(err)
		}
		if err := r.m.tree.Merged(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.m.RemoveDisk(t.Context(), 2, hemera.Removal{}); err != nil {
			t.Errorf("after a rebuild: %v", err)
		}
	})
}
