package manager

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/namespace/accounts"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// kept has the head of a write say that it keeps it.
func (r *rig) kept(g hemera.Grant, size int64) {
	r.t.Helper()
	if err := r.m.Control.Keep(r.t.Context(), shown(g), size); err != nil {
		r.t.Fatal(err)
	}
}

// leftCommit returns the commit of a write whose client is gone.
func (r *rig) leftCommit(g hemera.Grant, size int64) error {
	req := r.seal(g, size)
	req.Left = true
	_, err := r.m.Control.Commit(r.t.Context(), req)
	return err
}

// wantRoom has a new file of the size fit, and no larger one.
func (r *rig) wantRoom(size int64) {
	r.t.Helper()
	try := func(n int64) error {
		g, err := r.m.Files.Open(r.t.Context(), alice, hemera.OpenRequest{Path: "/exp/try", Access: hemera.AccessCreate, Mode: 0o644, Size: n})
		if err == nil {
			err = r.m.Control.Abort(r.t.Context(), shown(g))
		}
		return err
	}
	if err := try(size); size > 0 && err != nil {
		r.t.Errorf("%d bytes: %v", size, err)
	}
	if err := try(size + 1); errs.KindOf(err) != errs.OverQuota {
		r.t.Errorf("%d bytes: %v", size+1, err)
	}
}

// keptRig has a directory with a quota of 1000 bytes.
func keptRig(t *testing.T) *rig {
	r := newRig(t, 3, 1)
	if _, err := r.m.Names.Mkdir(t.Context(), alice, "/exp", 0o755, false); err != nil {
		t.Fatal(err)
	}
	r.limit("/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 1000})
	return r
}

// TestAKeptWriteHoldsItsClaim: as many bytes as it has, whatever was announced, until its commit, its end, or its time is over.
func TestAKeptWriteHoldsItsClaim(t *testing.T) {
	for how, announced := range map[string]int64{"less than announced": 900, "all that was announced": 600, "more than announced": 100, "not announced": 0} {
		for _, end := range []string{"commit", "abort", "time"} {
			for _, restart := range []bool{false, true} {
				t.Run(how+"/"+end, func(t *testing.T) {
					r := keptRig(t)
					g := r.mustOpen("/exp/a", hemera.AccessCreate, size(announced))
					if restart {
						r.restart()
						for _, n := range r.nodes {
							n.register()
						}
						r.wantRoom(1000)
					}
					r.kept(g, 600)
					r.kept(g, 600) // it says so again
					r.wantRoom(400)
					// The name is free for others.
					if err := r.m.Control.Abort(t.Context(), shown(r.mustOpen("/exp/a", hemera.AccessCreate, size(10)))); err != nil {
						t.Error(err)
					}
					left := int64(1000)
					switch end {
					case "commit":
						if err := r.leftCommit(g, 600); err != nil {
							t.Fatal(err)
						}
						left = 400
						r.kept(g, 600) // on its way for long
					case "abort":
						if err := r.m.Control.Abort(t.Context(), shown(g)); err != nil {
							t.Fatal(err)
						}
					case "time":
						r.m.Writes.pending.look(time.Now().Add(keptTime - time.Second))
						r.wantRoom(400)
						r.m.Writes.pending.look(time.Now().Add(keptTime + time.Minute))
					}
					r.wantRoom(left)
					r.noClaims("/exp")
				})
			}
		}
	}
}

// TestAKeptUpdateClaimsWhatItAdds: its file has the rest.
func TestAKeptUpdateClaimsWhatItAdds(t *testing.T) {
	r := keptRig(t)
	r.write("/exp/f", 500)
	g := r.mustOpen("/exp/f", hemera.AccessUpdate)
	r.kept(g, 700)
	r.wantRoom(300)
	if err := r.leftCommit(g, 700); err != nil {
		t.Fatal(err)
	}
	r.wantRoom(300)
}

// TestAKeptWriteWithoutAClaimIsPromisedNothing: another write has taken its name and its claim, and a third one the room.
func TestAKeptWriteWithoutAClaimIsPromisedNothing(t *testing.T) {
	r := keptRig(t)
	a := r.mustOpen("/exp/a", hemera.AccessCreate, size(700))
	if err := r.m.Control.Abort(t.Context(), shown(r.mustOpen("/exp/a", hemera.AccessCreate, size(1)))); err != nil {
		t.Fatal(err)
	}
	b := r.mustOpen("/exp/b", hemera.AccessCreate, size(600))
	r.kept(a, 700)
	r.wantRoom(0)
	wantKind(t, r.leftCommit(a, 700), errs.OverQuota)
	if _, err := r.m.Control.Commit(t.Context(), r.seal(b, 600)); err != nil {
		t.Errorf("what was promised: %v", err)
	}
	if err := r.m.Control.Abort(t.Context(), shown(a)); err != nil {
		t.Fatal(err)
	}
	r.wantRoom(400)
	r.noClaims("/exp")
}

// TestKeptWritesShareAQuota: none was promised what it did not announce, so one that does not fit waits until it does.
func TestKeptWritesShareAQuota(t *testing.T) {
	r := keptRig(t)
	a, b := r.mustOpen("/exp/a", hemera.AccessCreate), r.mustOpen("/exp/b", hemera.AccessCreate)
	r.kept(a, 700)
	r.kept(b, 700)
	r.wantRoom(0)
	for range 2 {
		wantKind(t, r.leftCommit(b, 700), errs.OverQuota)
		r.kept(b, 700)
		r.wantRoom(0)
	}
	if err := r.m.Control.Abort(t.Context(), shown(a)); err != nil {
		t.Fatal(err)
	}
	r.wantRoom(300)
	if err := r.leftCommit(b, 700); err != nil {
		t.Fatal(err)
	}
	r.wantRoom(300)
}

// TestARefusedCommitOfAKeptWriteMayComeAgain: once what is in its way is gone. What a client closed stays refused.
func TestARefusedCommitOfAKeptWriteMayComeAgain(t *testing.T) {
	for name, left := range map[string]bool{"a client's": false, "a kept one": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 3, 1)
			g := r.mustOpen("/f", hemera.AccessCreate)
			if left {
				r.kept(g, 10)
			} else if err := r.m.Control.Abort(t.Context(), shown(g)); err != nil {
				t.Fatal(err)
			}
			r.write("/f", 20)
			req := r.seal(g, 10)
			req.Left = left
			_, err := r.m.Control.Commit(t.Context(), req)
			wantKind(t, err, errs.Conflict)
			if err := r.m.Names.Rename(t.Context(), alice, "/f", "/g"); err != nil {
				t.Fatal(err)
			}
			_, err = r.m.Control.Commit(t.Context(), req)
			if !left {
				wantKind(t, err, errs.Conflict)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestClaimsOfKeptWritesAreBounded: what is beyond the bound holds nothing, and frees its lock all the same.
func TestClaimsOfKeptWritesAreBounded(t *testing.T) {
	r := keptRig(t)
	for n := range accounts.ClaimID(accounts.KeptMax) {
		r.m.Writes.pending.claims.KeepNew(1<<63+n, &accounts.Claim{}, 0, 0, time.Now().Add(time.Hour))
	}
	g := r.mustOpen("/exp/a", hemera.AccessCreate, size(600))
	r.kept(g, 600)
	r.wantRoom(1000)
	r.mustOpen("/exp/a", hemera.AccessCreate, size(600))
}

// TestARebuildLeavesOutWhatIsKept: its pieces are sealed, but nobody closed the file. What lasts is the file.
func TestARebuildLeavesOutWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, 1)
		d := r.nodes[0].disks[0].ID
		id := func(file int, gen int) hemera.PieceID {
			return hemera.PieceID{File: hemera.FileID(file), Gen: hemera.Generation(gen)}
		}
		for _, p := range []hemera.PieceID{id(50, 1), id(51, 1), id(52, 1), id(53, 1), id(53, 54), id(55, 1)} {
			r.nodes[0].put(d, hemera.PieceStat{ID: p})
		}
		r.nodes[0].left = []hemera.WriteInfo{
			{File: 50, Gen: 1, Then: hemera.ThenRemove}, {File: 51, Gen: 1, Then: hemera.ThenCommit}, {File: 53, Gen: 54, Then: hemera.ThenRemove}, {File: 55, Gen: 1, Then: hemera.ThenRemove},
		}
		defer r.start()()
		for _, limit := range []int{1, 2, 100} {
			kept, silent := r.m.Rebuild.kept(t.Context())
			if len(silent) > 0 {
				t.Fatalf("%v did not answer", silent)
			}
			list := r.m.Rebuild.listWithout(kept)
			var found []hemera.PieceID
			for after := (hemera.PieceID{}); ; after = found[len(found)-1] {
				page, err := list(t.Context(), d, after, limit)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				for _, p := range page {
					found = append(found, p.ID)
				}
			}
			if want := []hemera.PieceID{id(51, 1), id(52, 1), id(53, 1)}; !slices.Equal(found, want) {
				t.Errorf("%d at a time: %v, want %v", limit, found, want)
			}
		}
	})
}

// TestTheListSaysWhatAKilledNodeFound: of a write whose node was killed after a sync, and the end of it says how many pages differ from that.
func TestTheListSaysWhatAKilledNodeFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, 1)
		r.nodes[0].left = []hemera.WriteInfo{{ID: "a", Path: "/f", Who: alice, State: hemera.WriteKept, Then: hemera.ThenRemove, Found: true}}
		defer r.start()()
		list, err := r.m.Writes.Writes(t.Context(), alice)
		if err != nil || len(list) != 1 || !list[0].Found || list[0].Differ != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		if w, err := r.m.Writes.EndWrite(t.Context(), alice, "a", true); err != nil || !w.Found || w.Differ != 7 {
			t.Errorf("%+v, %v", w, err)
		}
	})
}
