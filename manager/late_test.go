package manager

import (
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestAHeadThatStoodStillCommitsNothing has a head stand still between the seal and the commit for so long that
// the audit gives its other piece up. Its commit then fails for good, also at a manager that was started since.
func TestAHeadThatStoodStillCommitsNothing(t *testing.T) {
	for name, c := range map[string]struct{ update, restart bool }{
		"a new file": {}, "new content": {update: true}, "a manager started since": {restart: true}, "both": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 2, 1)
				stop := r.start()
				defer func() { stop() }()
				var before hemera.Entry
				access := hemera.AccessCreate
				if c.update {
					before, access = r.write("/f", 5), hemera.AccessUpdate
				}
				g := r.mustOpen("/f", access)
				req := r.seal(g, 10)
				head, other := r.node(g.Permit.HeadNode()), g.Permit.Targets[1]
				head.stop()
				time.Sleep(2 * time.Hour)
				piece := hemera.PieceID{File: g.Permit.File, Gen: g.Permit.Gen, Index: other.Index}
				if _, there := r.node(other.Node).get(other.Disk, piece); there {
					t.Fatal("the audit left the piece")
				}
				if c.restart {
					stop()
					r.restart()
					for _, n := range r.nodes {
						n.register()
					}
					stop = r.start()
				}
				_, err := r.m.Control.Replace(t.Context(), shown(g), []hemera.DiskID{other.Disk})
				wantKind(t, err, errs.Conflict)
				for range 2 {
					_, err = r.m.Control.Commit(t.Context(), req)
					wantKind(t, err, errs.Conflict)
				}
				e, err := r.m.Names.Stat(t.Context(), alice, "/f")
				if !c.update {
					wantKind(t, err, errs.NotFound)
				} else if err != nil || e.Gen != before.Gen {
					t.Errorf("then there is %+v: %v", e, err)
				}
				r.write("/f", 7)
			})
		})
	}
}

// TestCommitsHaveATime: what comes later than bars are kept for is refused, unless it was committed in time.
func TestCommitsHaveATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		done, late := r.mustOpen("/done", hemera.AccessCreate), r.mustOpen("/late", hemera.AccessCreate)
		in, out := r.seal(done, 10), r.seal(late, 10)
		time.Sleep(hemera.CapabilityLifetime + hemera.CommitLifetime - time.Minute)
		e, err := r.commit(in)
		if err != nil {
			t.Fatalf("in time: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if again, err := r.commit(in); err != nil || again.Gen != e.Gen {
			t.Errorf("the same again: %+v, %v", again, err)
		}
		_, err = r.m.Control.Commit(t.Context(), out)
		wantKind(t, err, errs.Conflict)
	})
}
