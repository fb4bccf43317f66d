package manager

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/rules/condition"
)

// TestAuditsKeepWhatALogThatWasCutForgot: files whose commits were in the end of a log that is lost are known to their pieces alone. Audits
// keep these, the status says what goes on, and a merge makes the files again.
func TestAuditsKeepWhatALogThatWasCutForgot(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		r.write("/old", 10)
		picture, err := r.store.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = picture.Close() }()
		time.Sleep(time.Second)
		e, again := r.write("/new", 20), r.write("/old", 30)
		store := memkv.New()
		w, err := store.Acquire(t.Context(), "copy")
		if err != nil {
			t.Fatal(err)
		}
		if err := picture.Scan(t.Context(), nil, nil, func(k, v []byte) bool {
			var b kv.Batch
			b.Put(bytes.Clone(k), bytes.Clone(v))
			_, err = w.Enqueue(&b)
			return err == nil
		}); err != nil {
			t.Fatal(err)
		}
		r.store = store
		r.restart()
		go func() { _ = r.m.Run(r.ctx) }()
		for _, n := range r.nodes {
			n.register()
		}
		time.Sleep(3 * time.Hour) // more than one audit of each disk
		for _, is := range []hemera.Entry{e, again} {
			for _, p := range is.Pieces {
				d, _ := r.m.cluster.View().Disk(p.Disk)
				if _, there := r.node(d.Node).get(p.Disk, hemera.PieceID{File: is.ID, Gen: is.Gen, Index: p.Index}); !there {
					t.Errorf("piece %d of %s is removed", p.Index, is.Name)
				}
			}
		}
		s, err := r.m.Status(t.Context())
		at := slices.IndexFunc(s.Conditions, func(c hemera.Condition) bool { return c.Code == condition.WentBack })
		if err != nil || at < 0 || !strings.Contains(s.Conditions[at].Text, "did not end in good order") || !strings.Contains(s.Conditions[at].Remedy, "hemera ns rebuild --merge") {
			t.Fatalf("%+v, %v", s.Conditions, err)
		}
		report, err := r.m.Fsck(t.Context(), false)
		if err != nil || !report.WentBack.Unclean || !slices.ContainsFunc(report.Problems, func(p hemera.FsckProblem) bool { return p.Tag == "newer" }) {
			t.Errorf("%+v, %v", report, err)
		}
		merged, err := r.m.Rebuild(t.Context(), hemera.RebuildOptions{Merge: true}, func(hemera.RebuildReport) error { return nil })
		// The pieces of this rig's nodes name no path.
		if err != nil || merged.Lost != 1 || merged.Renewed != 1 || r.entry("/old").Size != 30 {
			t.Errorf("%+v, %v", merged, err)
		}
	})
}
