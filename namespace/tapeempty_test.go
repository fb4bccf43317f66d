package namespace_test

import (
	"errors"
	"testing"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// An empty file is archived by its record, by whatever way it became one: no job waits for it, and it counts as on tape.
func TestAnEmptyFileIsArchivedByItsRecord(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	good(t, n.Tree.SetXattr(ctx, system(), "/tape", "sys.versioning", []byte("10"), false))
	_, err := n.Tree.Mkdir(ctx, system(), "/tape/none", 0o777, true)
	good(t, err)
	// No pool takes a file of this class, and an empty one needs none.
	good(t, n.Tree.SetXattr(ctx, system(), "/tape/none", hemera.AttrStorageClass, []byte("unknown"), false))
	at := func(path string) hemera.Entry { return must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), path)) }
	cut := func(path string) hemera.Entry { put(t, n, alice(), path, 100); return put(t, n, alice(), path, 0) }
	convert := func(e hemera.Entry) hemera.Entry {
		p, _, err := n.Writes.PrepareConversion(ctx, e.ID, e.Gen)
		good(t, err)
		return must[hemera.Entry](t)(n.Writes.Commit(ctx, namespace.Commit{ID: e.ID, Gen: p.Gen, BaseGen: e.Gen, Convert: true, Parent: e.Parent, Name: e.Name,
			Mode: e.Mode, Layout: e.Layout, Space: e.Space, Sums: e.Checksums}))
	}
	ways := map[string]func(path string) hemera.Entry{
		"made empty":          func(path string) hemera.Entry { return put(t, n, alice(), path, 0) },
		"cut to nothing":      cut,
		"of an unknown class": func(string) hemera.Entry { return put(t, n, alice(), "/tape/none/f", 0) },
		"moved": func(path string) hemera.Entry {
			put(t, n, alice(), path+".old", 0)
			good(t, n.Tree.Rename(ctx, alice(), path+".old", path))
			return at(path)
		},
		"converted": func(path string) hemera.Entry { return convert(put(t, n, alice(), path, 0)) },
		"a version that comes back": func(path string) hemera.Entry {
			put(t, n, alice(), path, 0)
			put(t, n, alice(), path, 100)
			var name string
			good(t, n.Tree.List(ctx, system(), "/tape/.sys.v#."+path[len("/tape/"):], func(e hemera.Entry) error { name = e.Name; return nil }))
			good(t, n.Bins.RestoreVersion(ctx, alice(), path, name))
			return at(path)
		},
		"asked for by name": func(string) hemera.Entry {
			e := put(t, n, alice(), "/elsewhere", 0)
			if e.OnTape() {
				t.Error("a file that nobody wants on tape is archived")
			}
			if _, err := evictWhole(n, e); !errors.Is(err, errs.Conflict) {
				t.Errorf("evicted: %v", err)
			}
			if copies, err := n.Parts().Tapes.Archive(ctx, e.ID, "single"); err != nil || copies != 0 {
				t.Errorf("%d copies, %v", copies, err)
			}
			return at("/elsewhere")
		},
	}
	for way, become := range ways {
		t.Run(way, func(t *testing.T) {
			e := become("/tape/" + way)
			if e.Size != 0 || !e.OnTape() || e.Evicted() || !n.Parts().Tapes.Complete(&e) {
				t.Errorf("%+v", e)
			}
			jobs, err := n.Parts().Tapes.JobsOf(ctx, e.ID)
			if good(t, err); len(jobs) != 0 {
				t.Errorf("waits for %+v", jobs)
			}
			if freed, err := evictWhole(n, e); err != nil || freed != 0 {
				t.Errorf("evict: %d, %v", freed, err)
			}
			_, err = n.Parts().Tapes.Archive(ctx, e.ID, "double")
			wantKind(t, "archived once more", err, errs.Exists)
			checked(t, n)
		})
	}
	// With content again it waits for tape, as any other.
	if e := put(t, n, alice(), "/tape/made empty", 100); e.OnTape() || len(queued(t, n, tapeapi.Archive, "A")) == 0 {
		t.Errorf("%+v", e)
	}
	checked(t, n)
}
