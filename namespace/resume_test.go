package namespace_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestNothingResumesThatWasOpenedOverAnotherStore: its commit is refused, as its number may be another write's here.
func TestNothingResumesThatWasOpenedOverAnotherStore(t *testing.T) {
	n := open(t, memkv.New(), namespace.Options{})
	people(t, n, "/plain")
	prep, err := n.Writes.Prepare(t.Context(), alice(), hemera.OpenRequest{Path: "/plain/a", Access: hemera.AccessCreate, Mode: 0o666})
	good(t, err)
	c := commitOf(prep, "/plain/a", alice())
	for _, unknown := range []func(*namespace.Commit){func(c *namespace.Commit) { c.ID += 1 << 40 }, func(c *namespace.Commit) { c.Gen += 1 << 40 }} {
		other := c
		unknown(&other)
		_, resumes := n.Writes.Resume(t.Context(), alice(), other, false)
		_, commits := n.Writes.Commit(t.Context(), other)
		if !errors.Is(resumes, errs.Invalid) || !errors.Is(commits, errs.Invalid) {
			t.Errorf("%v, and the commit: %v", resumes, commits)
		}
	}
}

// TestResumeSaysWhatACommitWould: of writes that were begun and perhaps ended, whatever happened to their names since, and in another life of the
// namespace. Where it finds the file, the commit makes it there.
func TestResumeSaysWhatACommitWould(t *testing.T) {
	type begun struct {
		c       namespace.Commit
		updates bool
	}
	ctx, said := t.Context(), map[string]int{}
	for seed := range uint64(60) {
		rng, store := rand.New(rand.NewPCG(seed, 1)), memkv.New()
		n := open(t, store, namespace.Options{})
		people(t, n, "/plain")
		people(t, n, "/versions")
		good(t, n.Tree.SetXattr(ctx, system(), "/versions", "sys.versioning", []byte("2"), false))
		people(t, n, "/bin")
		good(t, n.Tree.SetXattr(ctx, system(), "/bin", "sys.recycle", []byte("30d"), false))
		path := func() string {
			return []string{"/plain", "/versions", "/bin"}[rng.IntN(3)] + "/" + []string{"a", "b", "c"}[rng.IntN(3)]
		}
		var writes []begun
		for range 60 {
			p := path()
			switch rng.IntN(8) {
			case 0, 1, 2:
				r := hemera.OpenRequest{Path: p, Access: hemera.AccessCreate, Mode: 0o666, Force: rng.IntN(4) == 0}
				if rng.IntN(3) == 0 {
					r.Access = hemera.AccessUpdate
				}
				if prep, err := n.Writes.Prepare(ctx, alice(), r); err == nil {
					c := commitOf(prep, p, alice())
					c.Size, c.Force = int64(1+rng.IntN(1000)), r.Force
					if prep.Existing { // the file keeps its place
						c.Parent, c.Name = prep.Entry.Parent, prep.Entry.Name
					}
					writes = append(writes, begun{c, r.Access == hemera.AccessUpdate})
				}
			case 3:
				_ = n.Tree.Remove(ctx, alice(), p, 0)
			case 4:
				_ = n.Tree.Rename(ctx, alice(), p, path())
			case 5:
				if len(writes) > 0 {
					w := writes[rng.IntN(len(writes))].c
					to := p[:len(p)-1] + "d"
					if w.BaseGen == 0 {
						_ = n.Writes.RenameWrite(ctx, alice(), w, to)
					}
				}
			case 6:
				if rng.IntN(4) == 0 {
					n = open(t, store, namespace.Options{})
				}
			default:
				if len(writes) == 0 {
					continue
				}
				w := writes[rng.IntN(len(writes))]
				e, _, err := n.Inspection.Resolve(ctx, w.c.ID)
				committed := err == nil && e.Gen == w.c.Gen
				prep, resumes := n.Writes.Resume(ctx, alice(), w.c, w.updates)
				e, err = n.Writes.Commit(ctx, w.c)
				switch {
				case committed && !errors.Is(resumes, errs.Conflict):
					t.Fatalf("seed %d: a committed write goes on: %v", seed, resumes)
				case !committed && errs.KindOf(resumes) != errs.KindOf(err):
					t.Fatalf("seed %d: %+v: the commit says %v, and before it was %v", seed, w.c, err, resumes)
				case err == nil && resumes == nil && (e.Parent != prep.Entry.Parent || e.Name != prep.Entry.Name || prep.Parent.ID != e.Parent):
					t.Fatalf("seed %d: it was made at %d %s, not at %d %s", seed, e.Parent, e.Name, prep.Entry.Parent, prep.Entry.Name)
				}
				said[fmt.Sprintf("updates %t, replaces %t, based %t: %v", w.updates, w.c.Replaces != 0, w.c.BaseGen != 0, resumes == nil)]++
			}
		}
	}
	if len(said) < 8 {
		t.Errorf("too few cases: %v", said)
	}
}
