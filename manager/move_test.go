package manager

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// back has the nodes register with a manager that was restarted.
func (r *rig) back() {
	r.restart()
	for _, n := range r.nodes {
		n.register()
	}
}

func (r *rig) move(t *testing.T, from, to string) {
	t.Helper()
	if err := r.m.Files.Move(t.Context(), alice, from, to, "host/7"); err != nil {
		t.Fatal(err)
	}
}

// wantFile fails unless the file has so many bytes; -1: it is not there.
func (r *rig) wantFile(t *testing.T, path string, size int64) {
	t.Helper()
	e, err := r.m.Names.Stat(t.Context(), alice, path)
	if size < 0 {
		wantKind(t, err, errs.NotFound)
	} else if err != nil || e.Size != size {
		t.Errorf("%s: %+v, %v", path, e, err)
	}
}

// TestRenameOfAnOpenFile: what a process writes goes on under the new name, and is committed there once, whatever
// becomes of the manager; the old name is free.
func TestRenameOfAnOpenFile(t *testing.T) {
	for _, exists := range []bool{false, true} {
		for _, restart := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 2, 1)
				if r.write("/exp/other", 1); exists {
					r.write("/exp/a", 3)
				}
				g := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
				r.move(t, "/exp/a", "/exp/b")
				known, _ := r.m.Names.Stat(t.Context(), alice, "/exp/b")
				own, e, err := r.m.Files.Pending(t.Context(), alice, "/exp/b", "host/7", known)
				if err != nil || e.Name != "b" || e.ID != g.Permit.File || own.Permit.Nonce != g.Permit.Nonce || own.Permit.Path != "/exp/b" {
					t.Errorf("its process finds %+v, %+v, %v", own.Permit, e, err)
				}
				_, _, err = r.m.Files.Pending(t.Context(), alice, "/exp/a", "host/7", hemera.Entry{})
				wantKind(t, err, errs.NotFound)
				_, err = r.m.Files.Open(t.Context(), bob, hemera.OpenRequest{Path: "/exp/b", Access: hemera.AccessCreate, Mode: 0o644})
				if err == nil {
					t.Error("another may write the new name")
				}
				r.move(t, "/exp/b", "/exp/c")
				other := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
				if restart {
					r.back()
				}
				for range 2 {
					if e, err := r.commit(r.seal(g, 5)); err != nil || e.Name != "c" {
						t.Fatalf("%+v, %v", e, err)
					}
				}
				if _, err := r.m.Control.Commit(t.Context(), r.seal(other, 7)); err != nil {
					t.Error(err)
				}
				r.wantFile(t, "/exp/a", 7)
				r.wantFile(t, "/exp/b", -1)
				r.wantFile(t, "/exp/c", 5)
				if n := r.m.Writes.pending.size(); n > 0 {
					t.Errorf("%d writes are left", n)
				}
				r.m.Writes.pending.renamed.Range(func(k, n any) bool { t.Errorf("%v is remembered as %v", k, n); return true })
				if problems, err := r.m.tree.CheckWith(t.Context(), namespace.CheckOptions{}); err != nil || len(problems.Problems) > 0 {
					t.Errorf("%+v, %v", problems, err)
				}
			})
		}
	}
}

// TestRenameOfAnOpenFileThatCannotBe: such a rename fails like that of a file which is not there, and changes nothing.
func TestRenameOfAnOpenFileThatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		r.write("/exp/sub/other", 1)
		r.write("/exp/taken", 1)
		g := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
		r.mustOpen("/exp/busy", hemera.AccessCreate, by("host/7", "s"))
		for _, to := range []string{"/exp/sub/a", "/exp/taken", "/exp/busy", "/exp/a"} {
			wantKind(t, r.m.Files.Move(t.Context(), alice, "/exp/a", to, "host/7"), errs.NotFound)
			if _, _, err := r.m.Files.Pending(t.Context(), alice, "/exp/a", "host/7", hemera.Entry{}); err != nil {
				t.Errorf("after a rename to %s: %v", to, err)
			}
		}
		if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 5)); err != nil {
			t.Error(err)
		}
		r.wantFile(t, "/exp/a", 5)
	})
}

// TestRemovalOfARenamedWrite, as FUSE does when an open file is removed: without waiting for a close.
func TestRemovalOfARenamedWrite(t *testing.T) {
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 2, 1)
			r.write("/exp/other", 1)
			g := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
			now := time.Now()
			r.move(t, "/exp/a", "/exp/.fuse_hidden1")
			if waited := time.Since(now); waited > 0 {
				t.Errorf("waited %v", waited)
			}
			if err := r.m.Files.Discard(t.Context(), alice, "/exp/.fuse_hidden1", "host/7", "s"); err != nil {
				t.Fatal(err)
			}
			if restart {
				r.back()
			}
			_, err := r.m.Control.Commit(t.Context(), r.seal(g, 5))
			wantKind(t, err, errs.Conflict)
			r.wantFile(t, "/exp/a", -1)
			r.wantFile(t, "/exp/.fuse_hidden1", -1)
		})
	}
}

// TestTheNewNameIsTaken when the manager was restarted, and forgot its locks: the close is told.
func TestTheNewNameIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		r.write("/exp/other", 1)
		g := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
		r.move(t, "/exp/a", "/exp/b")
		r.back()
		r.write("/exp/b", 9)
		_, err := r.m.Control.Commit(t.Context(), r.seal(g, 5))
		wantKind(t, err, errs.Conflict)
		r.wantFile(t, "/exp/a", -1)
		r.wantFile(t, "/exp/b", 9)
	})
}

// TestARenamedWriteMovesToAnotherDisk: what its head gets then is good for longer than the new name is remembered.
func TestARenamedWriteMovesToAnotherDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		r.write("/exp/other", 1)
		g := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
		r.move(t, "/exp/a", "/exp/b")
		last := g.Permit.Targets[len(g.Permit.Targets)-1].Disk
		g, err := r.m.Control.Replace(t.Context(), shown(g), []hemera.DiskID{last})
		if err != nil || g.Permit.Name != "b" {
			t.Fatalf("%+v, %v", g.Permit, err)
		}
		if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 5)); err != nil {
			t.Fatal(err)
		}
		r.wantFile(t, "/exp/b", 5)
		if n := r.m.Writes.pending.size(); n > 0 {
			t.Errorf("%d writes are left", n)
		}
	})
}

// TestHeadsAreAskedAboutRenamedWrites, by whatever name they had when that began.
func TestHeadsAreAskedAboutRenamedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		r.write("/exp/other", 1)
		g := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
		r.move(t, "/exp/a", "/exp/b")
		at := name{g.Permit.Parent, "a"}
		if r.m.Writes.pending.hear(at, hemera.WriteState{Nonce: g.Permit.Nonce, Pending: true, Size: 8}, time.Now()) != nil {
			t.Error("the lock is free")
		}
		if _, e, err := r.m.Files.Pending(t.Context(), alice, "/exp/b", "host/7", hemera.Entry{}); err != nil || e.Size != 8 {
			t.Errorf("%+v, %v", e, err)
		}
		if r.m.Writes.pending.hear(at, hemera.WriteState{Nonce: g.Permit.Nonce}, time.Now()) == nil || r.m.Writes.pending.size() > 0 {
			t.Error("the lock stays")
		}
	})
}

// TestRenamesBesideCloses: files are renamed, closed and removed by several at once. Each is there once or not at all,
// and no lock is left.
func TestRenamesBesideCloses(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/exp/other", 1)
	for i := range 50 {
		at := func(name string) string { return fmt.Sprintf("/exp/%s%d", name, i) }
		g := r.mustOpen(at("a"), hemera.AccessCreate, by("host/7", "s"))
		seal := r.seal(g, 5)
		var work sync.WaitGroup
		var closed error
		work.Go(func() { _, closed = r.m.Control.Commit(t.Context(), seal) })
		for _, names := range [][2]string{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"a", "d"}} {
			work.Go(func() {
				_, _ = r.m.Files.moveOwn(t.Context(), alice, at(names[0]), at(names[1]), "host/7")
				r.m.Writes.pending.hear(name{g.Permit.Parent, g.Permit.Name}, hemera.WriteState{Nonce: g.Permit.Nonce, Pending: true}, time.Now())
			})
		}
		discard := i%2 == 0
		if discard {
			work.Go(func() { _ = r.m.Files.Discard(t.Context(), alice, at("b"), "host/7", "s") })
		}
		work.Wait()
		found := 0
		for _, n := range []string{"a", "b", "c", "d"} {
			if _, err := r.m.Names.Stat(t.Context(), alice, at(n)); err == nil {
				found++
			}
		}
		if found > 1 || !discard && (closed != nil || found == 0) || closed != nil && found > 0 {
			t.Errorf("%d: it is there %d times after its close: %v", i, found, closed)
		}
	}
	if n := r.m.Writes.pending.size(); n > 0 || len(r.m.Writes.pending.processes.names) > 0 {
		t.Errorf("%d writes are left, of %v", n, r.m.Writes.pending.processes.names)
	}
	r.m.Writes.pending.renamed.Range(func(k, n any) bool { t.Errorf("%v is remembered as %v", k, n); return true })
	if problems, err := r.m.tree.CheckWith(t.Context(), namespace.CheckOptions{}); err != nil || len(problems.Problems) > 0 {
		t.Errorf("%+v, %v", problems, err)
	}
}
