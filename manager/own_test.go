package manager

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

func by(process, session string) func(*hemera.OpenRequest) {
	return func(r *hemera.OpenRequest) { r.Process, r.Session = process, session }
}

// TestPendingFileIsFoundByItsProcess: xrootdfs looks at a file that it made before the close has arrived.
func TestPendingFileIsFoundByItsProcess(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/exp/other", 1)
	g := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
	own, e, err := r.m.Files.Pending(t.Context(), alice, "/exp/a", "host/7", hemera.Entry{})
	if err != nil || e.ID != g.Permit.File || e.Mode != 0o644 || e.UID != alice.UID || e.Kind != hemera.KindFile {
		t.Errorf("%+v, %v", e, err)
	}
	if own.Permit.Nonce != g.Permit.Nonce || own.Addr != g.Addr || own.Permit == nil {
		t.Errorf("is sent to %+v, not to %+v", own, g)
	}
	for _, c := range []struct {
		who           hemera.Identity
		path, process string
	}{{alice, "/exp/a", "host/8"}, {alice, "/exp/a", ""}, {bob, "/exp/a", "host/7"}, {alice, "/exp/b", "host/7"}, {alice, "/", "host/7"}} {
		_, _, err := r.m.Files.Pending(t.Context(), c.who, c.path, c.process, hemera.Entry{})
		wantKind(t, err, errs.NotFound)
	}
	if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 5)); err != nil {
		t.Fatal(err)
	}
	_, _, err = r.m.Files.Pending(t.Context(), alice, "/exp/a", "host/7", hemera.Entry{})
	wantKind(t, err, errs.NotFound)
}

// TestUpdateIsFoundByItsProcess: a file that is being written over or updated shows its writer what was written.
func TestUpdateIsFoundByItsProcess(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/exp/a", 3)
	for _, access := range []hemera.Access{hemera.AccessUpdate, hemera.AccessCreate} {
		known, err := r.m.tree.Stat(t.Context(), alice, "/exp/a")
		if err != nil {
			t.Fatal(err)
		}
		g := r.mustOpen("/exp/a", access, by("host/7", "s"))
		own, e, err := r.m.Files.Pending(t.Context(), alice, "/exp/a", "host/7", known)
		if err != nil || own.Permit.Nonce != g.Permit.Nonce || e.ID != known.ID || e.Mode != known.Mode {
			t.Errorf("%+v, %+v, %v", own, e, err)
		}
		_, _, err = r.m.Files.Pending(t.Context(), alice, "/exp/a", "host/8", known)
		wantKind(t, err, errs.NotFound)
		if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 5)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewFilesAreListedToTheirProcess: only those that are not visible yet, and to nobody else.
func TestNewFilesAreListedToTheirProcess(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/exp/old", 1)
	r.write("/exp/sub/old", 1)
	var making []hemera.Grant
	for _, p := range []string{"/exp/b", "/exp/a", "/exp/old", "/exp/sub/c"} {
		making = append(making, r.mustOpen(p, hemera.AccessCreate, by("host/7", "s")))
	}
	listed := func(who hemera.Identity, dir, process string, want ...string) {
		t.Helper()
		list, err := r.m.Files.PendingIn(t.Context(), who, dir, process)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range list {
			names = append(names, e.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s of %s: %q, not %q", dir, process, names, want)
		}
	}
	listed(alice, "/exp", "host/7", "a", "b")
	listed(alice, "/exp/sub", "host/7", "c")
	listed(alice, "/exp", "host/8")
	listed(alice, "/exp", "")
	listed(bob, "/exp", "host/7")
	for _, g := range making {
		if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 5)); err != nil {
			t.Fatal(err)
		}
	}
	listed(alice, "/exp", "host/7")
	if n := len(r.m.Writes.pending.processes.names); n > 0 {
		t.Errorf("%d processes are remembered when all is over", n)
	}
}

// TestOpenWaitsForTheCloseOfItsProcess: a second handle of a process is given what the first one wrote,
// whose close is on its way. It would be told of a conflict at its own close otherwise.
func TestOpenWaitsForTheCloseOfItsProcess(t *testing.T) {
	for _, exists := range []bool{false, true} {
		for _, access := range []hemera.Access{hemera.AccessUpdate, hemera.AccessCreate, hemera.AccessRead} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 2, 1)
				if r.write("/exp/other", 1); exists {
					r.write("/exp/a", 3)
				}
				first := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
				var second hemera.Grant
				done := make(chan error)
				go func() {
					var err error
					second, err = r.open("/exp/a", access, by("host/7", "other"))
					done <- err
				}()
				synctest.Wait()
				select {
				case err := <-done:
					t.Fatalf("does not wait: %v", err)
				default:
				}
				e, err := r.commit(r.seal(first, 5))
				if err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if access == hemera.AccessRead {
					if second.Permit.Gen != e.Gen {
						t.Errorf("reads generation %d, not %d", second.Permit.Gen, e.Gen)
					}
					return
				}
				if _, err := r.m.Control.Commit(t.Context(), r.seal(second, 7)); err != nil {
					t.Errorf("the second close: %v", err)
				}
			})
		}
	}
}

// TestMoveWaitsForTheClose of the process, whose file it renames, and for no other's.
func TestMoveWaitsForTheClose(t *testing.T) {
	for _, exists := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 2, 1)
			if r.write("/exp/other", 1); exists {
				r.write("/exp/a", 3)
			}
			g := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
			now := time.Now()
			wantKind(t, r.m.Files.Move(t.Context(), alice, "/exp/b", "/exp/z", "host/7"), errs.NotFound)
			if !exists {
				wantKind(t, r.m.Files.Move(t.Context(), alice, "/exp/a", "/exp/z", "host/8"), errs.NotFound)
				wantKind(t, r.m.Files.Move(t.Context(), bob, "/exp/a", "/exp/z", "host/7"), errs.NotFound)
				wantKind(t, r.m.Files.Move(t.Context(), alice, "/exp/a", "/exp/z", ""), errs.NotFound)
			}
			if waited := time.Since(now); waited > 0 {
				t.Errorf("waited %v for another's write", waited)
			}
			moved := make(chan error)
			go func() { moved <- r.m.Files.Move(t.Context(), alice, "/exp/a", "/exp/z", "host/7") }()
			synctest.Wait()
			select {
			case err := <-moved:
				t.Fatalf("does not wait: %v", err)
			default:
			}
			if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 5)); err != nil {
				t.Fatal(err)
			}
			if err := <-moved; err != nil {
				t.Error(err)
			}
			if waited := time.Since(now); waited > 0 {
				t.Errorf("waited %v when the write was over", waited)
			}
			r.mustOpen("/exp/c", hemera.AccessCreate, by("host/7", "s"))
			if err := r.m.Files.Move(t.Context(), alice, "/exp/c", "/exp/d", "host/7"); err != nil {
				t.Error(err)
			}
			if waited := time.Since(now); waited != ownPatience {
				t.Errorf("waited %v for a file that stays open", waited)
			}
		})
	}
}

// TestTruncationJoinsTheWriteOfItsProcess: xrootdfs opens a file and truncates it by its path.
func TestTruncationJoinsTheWriteOfItsProcess(t *testing.T) {
	r := newRig(t, 2, 1)
	join := func(o *hemera.OpenRequest) { o.Join = true }
	for _, exists := range []bool{false, true} {
		r.write("/exp/other", 1)
		access := hemera.AccessCreate
		if exists {
			access = hemera.AccessUpdate
		}
		first := r.mustOpen("/exp/a", access, by("host/7", "s"))
		g := r.mustOpen("/exp/a", hemera.AccessUpdate, join, by("host/7", "t"))
		if g.Permit.Nonce != first.Permit.Nonce || g.Addr != first.Addr || tokenOf(g) == "" {
			t.Errorf("exists: %v: joins %+v, not %+v", exists, g, first)
		}
		if _, err := r.m.Control.Commit(t.Context(), r.seal(first, 5)); err != nil {
			t.Fatal(err)
		}
		if g := r.mustOpen("/exp/a", hemera.AccessUpdate, join, by("host/7", "t")); g.Permit.Nonce == first.Permit.Nonce {
			t.Error("joins a write that is over")
		} else if err := r.m.Control.Abort(t.Context(), shown(g)); err != nil {
			t.Error(err)
		}
	}
}

// TestOpenBesideAnOpenHandle does not wait for ever, and not at all for who is not of the process or comes back.
func TestOpenBesideAnOpenHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		r.write("/exp/a", 3)
		r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
		now := time.Now()
		r.mustOpen("/exp/a", hemera.AccessRead, by("host/8", "t"))
		r.mustOpen("/exp/a", hemera.AccessRead)
		back := func(o *hemera.OpenRequest) { o.Process, o.Ended = "host/7", []string{"s"} }
		r.mustOpen("/exp/a", hemera.AccessUpdate, back)
		r.mustOpen("/exp/a", hemera.AccessUpdate, by("host/7", "u"), func(o *hemera.OpenRequest) { o.Force = true })
		if waited := time.Since(now); waited > 0 {
			t.Errorf("waited %v", waited)
		}
		r.mustOpen("/exp/a", hemera.AccessUpdate, by("host/7", "u"))
		if waited := time.Since(now); waited != ownSessionPatience {
			t.Errorf("waited %v in one session", waited)
		}
		r.mustOpen("/exp/a", hemera.AccessRead, by("host/7", "v"))
		if waited := time.Since(now); waited != ownSessionPatience+ownPatience {
			t.Errorf("waited %v in all", waited)
		}
	})
}

// TestRemovalOfAnOwnWrite: a process may remove the file that it is writing. What is committed meanwhile is
// removed, and what is not is never committed, whatever becomes of the manager.
func TestRemovalOfAnOwnWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		r.write("/exp/other", 1)
		g := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
		for _, c := range []struct {
			who           hemera.Identity
			path, process string
		}{{alice, "/exp/a", "host/8"}, {alice, "/exp/a", ""}, {bob, "/exp/a", "host/7"}, {alice, "/exp/b", "host/7"}, {alice, "/", "host/7"}} {
			wantKind(t, r.m.Files.Discard(t.Context(), c.who, c.path, c.process, "s"), errs.NotFound)
		}
		now := time.Now()
		if err := r.m.Files.Discard(t.Context(), alice, "/exp/a", "host/7", "s"); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(now); waited != ownSessionPatience {
			t.Errorf("waited %v", waited)
		}
		wantKind(t, r.m.Files.Discard(t.Context(), alice, "/exp/a", "host/7", "s"), errs.NotFound)
		again := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s")) // the name is free
		r.restart()
		for _, n := range r.nodes {
			n.register()
		}
		_, err := r.m.Control.Commit(t.Context(), r.seal(g, 5))
		wantKind(t, err, errs.Conflict)
		if _, err := r.m.Control.Commit(t.Context(), r.seal(again, 7)); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		r.write("/exp/other", 1)
		g := r.mustOpen("/exp/a", hemera.AccessCreate, by("host/7", "s"))
		done := make(chan error)
		go func() { done <- r.m.Files.Discard(t.Context(), alice, "/exp/a", "host/7", "s") }()
		synctest.Wait()
		if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 5)); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		_, err := r.m.Names.Stat(t.Context(), alice, "/exp/a")
		wantKind(t, err, errs.NotFound)
	})
}
