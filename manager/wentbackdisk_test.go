package manager

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/namespace"
	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
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
		for _, removal := range []adminapi.Removal{{}, {Force: true}} {
			err := r.m.Admin.RemoveDisk(t.Context(), 1, removal)
			wantKind(t, err, errs.Conflict)
			if errs.RemedyOf(err) == "" {
				t.Errorf("%+v: no remedy: %v", removal, err)
			}
		}
		if sum, err := r.m.Status.Impact(t.Context(), []hemera.DiskID{1}); err != nil || !sum.Unsure {
			t.Errorf("%+v, %v", sum, err)
		}
		wentBack := func() []tapeapi.Attention {
			p, err := r.m.tier.Reports.TapePicture(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return p.Attention
		}
		if a := wentBack(); len(a) != 1 || a[0].Subject != "namespace" || a[0].Command != "hemera ns rebuild --merge" {
			t.Errorf("what needs a person at the tapes: %+v", a)
		}
		if err := r.m.Admin.RemoveDisk(t.Context(), 1, adminapi.Removal{Force: true, Lose: true}); err != nil {
			t.Error(err)
		}
		if err := r.m.tree.Merged(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.m.Admin.RemoveDisk(t.Context(), 2, adminapi.Removal{}); err != nil {
			t.Errorf("after a rebuild: %v", err)
		}
		if a := wentBack(); len(a) != 0 {
			t.Errorf("after a rebuild: %+v", a)
		}
	})
}

// TestRulesThatRestGiveNoDate: after a restore lifecycle rules rest, and what they would do is not told with a day.
func TestRulesThatRestGiveNoDate(t *testing.T) {
	running(t, 1, 1, func(t *testing.T, r *rig) {
		r.write("/s/a.tmp", 10)
		r.rule("/s", lifecycle.AttrExpire, "age=1h")
		text := func() string {
			t.Helper()
			why, err := r.m.Status.Why(t.Context(), hemera.SystemIdentity(), adminapi.WhyFile, "/s/a.tmp")
			if err != nil {
				t.Fatal(err)
			}
			for _, reason := range why.Reasons {
				if reason.About == "lifecycle" {
					return reason.Text + "; " + reason.Remedy
				}
			}
			return ""
		}
		if got := text(); !strings.HasPrefix(got, "expires at ") {
			t.Error(got)
		}
		w, err := r.store.Acquire(t.Context(), "restore")
		if err == nil {
			_, err = namespace.Restored(t.Context(), r.store, w, time.Now().Add(-time.Minute), time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		r.restart()
		if got := text(); strings.Contains(got, "expires at ") || !strings.Contains(got, "rest since") || !strings.Contains(got, "ns rebuild forget") {
			t.Error(got)
		}
	})
}
