package manager

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/rules/quota"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// limit sets a quota and has it counted.
func (r *rig) limit(path string, kind hemera.QuotaKind, id uint32, l hemera.QuotaAmount) {
	r.t.Helper()
	if err := r.m.Quotas.SetQuota(r.t.Context(), hemera.QuotaKey{Path: path, Kind: kind, ID: id}, l); err != nil {
		r.t.Fatal(err)
	}
	if err := r.m.tree.QuotaKeeper.(*namespace.QuotaAdmin).CountQuotas(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// noClaims checks that no claim is left on the project of a directory.
func (r *rig) noClaims(path string) {
	r.t.Helper()
	e, err := r.m.Names.Stat(r.t.Context(), alice, path)
	if err != nil {
		r.t.Fatal(err)
	}
	project := []quota.Standing{{Account: quota.Account{Node: e.ID, Kind: hemera.QuotaProject}}}
	if left := r.m.Writes.pending.claims.With(project)[0].Used; left != (hemera.QuotaAmount{}) {
		r.t.Errorf("claims without a write: %+v", left)
	}
}

func size(n int64) func(*hemera.OpenRequest) {
	return func(r *hemera.OpenRequest) { r.Size = n }
}

func TestQuotaIsEnforcedAtOpen(t *testing.T) {
	r := newRig(t, 3, 1)
	r.write("/exp/a", 600)
	r.limit("/exp", hemera.QuotaUser, alice.UID, hemera.QuotaAmount{Bytes: 1000, Files: 3})
	_, err := r.open("/exp/b", hemera.AccessCreate, size(401))
	wantKind(t, err, errs.OverQuota)
	if err != nil && !strings.Contains(err.Error(), "quota of uid 1000 in /exp: 600 of 1000 bytes are used, 401 more") {
		t.Errorf("does not say why: %v", err)
	}
	if errs.RemedyOf(err) == "" {
		t.Error("no remedy")
	}
	if _, err := r.m.Files.Open(t.Context(), bob, hemera.OpenRequest{Path: "/bob", Access: hemera.AccessCreate, Size: 5000}); err != nil {
		t.Errorf("another user elsewhere: %v", err)
	}
	r.write("/exp/b", 400)
	_, err = r.open("/exp/c", hemera.AccessCreate)
	wantKind(t, err, errs.OverQuota) // nobody knows how much comes, and nothing is left
	_, err = r.open("/exp/a", hemera.AccessUpdate)
	wantKind(t, err, errs.OverQuota)
	if g, err := r.open("/exp/a", hemera.AccessCreate, size(100)); err != nil {
		t.Errorf("a smaller content: %v", err)
	} else if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 100)); err != nil {
		t.Error(err)
	}
	r.write("/exp/c", 5)
	_, err = r.open("/exp/d", hemera.AccessCreate, size(5))
	wantKind(t, err, errs.OverQuota)
	if err != nil && !strings.Contains(err.Error(), "3 of 3 files are used") {
		t.Errorf("does not say why: %v", err)
	}
	if err := r.m.Quotas.RemoveQuota(t.Context(), hemera.QuotaKey{Path: "/exp"}); err != nil {
		t.Fatal(err)
	}
	r.write("/exp/d", 5000)
}

// TestWritesAtTheSameTimeShareAQuota opens without committing: what is under way counts.
func TestWritesAtTheSameTimeShareAQuota(t *testing.T) {
	r := newRig(t, 3, 1)
	if _, err := r.m.Names.Mkdir(t.Context(), alice, "/exp", 0o755, false); err != nil {
		t.Fatal(err)
	}
	r.limit("/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Physical: 2000})
	first := r.mustOpen("/exp/a", hemera.AccessCreate, size(600))
	_, err := r.open("/exp/b", hemera.AccessCreate, size(500))
	wantKind(t, err, errs.OverQuota)
	r.mustOpen("/exp/a", hemera.AccessCreate, size(700)) // the same client comes back: its own claim is no hindrance
	if err := r.m.Control.Abort(t.Context(), shown(first)); err != nil {
		t.Fatal(err)
	}
	r.mustOpen("/exp/b", hemera.AccessCreate, size(300))
	g := r.mustOpen("/exp/a", hemera.AccessCreate, size(10))
	// More comes than was said, of a node that does not hold the bound.
	_, err = r.m.Control.Commit(t.Context(), r.seal(g, 3000))
	wantKind(t, err, errs.OverQuota)
	r.m.Writes.pending.look(time.Now().Add(24 * time.Hour))
	r.noClaims("/exp")
}

// TestAPromiseEndsWithItsClaim: a write whose claim is given back, to another one of its name or with its lock, may still be
// committed, and takes no room that was promised to others since.
func TestAPromiseEndsWithItsClaim(t *testing.T) {
	for how, lose := range map[string]func(r *rig, g hemera.Grant){
		"another write takes its name": func(r *rig, _ hemera.Grant) {
			r.mustOpen("/exp/a", hemera.AccessCreate, size(1))
		},
		"and is cancelled": func(r *rig, _ hemera.Grant) {
			if err := r.m.Control.Abort(r.t.Context(), shown(r.mustOpen("/exp/a", hemera.AccessCreate, size(1)))); err != nil {
				r.t.Error(err)
			}
		},
		"its head does not have it": func(r *rig, g hemera.Grant) {
			r.m.Writes.pending.hear(name{g.Permit.Parent, g.Permit.Name}, hemera.WriteState{Nonce: g.Permit.Nonce}, time.Now())
		},
	} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t, 3, 1)
			if _, err := r.m.Names.Mkdir(t.Context(), alice, "/exp", 0o755, false); err != nil {
				t.Fatal(err)
			}
			r.limit("/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 1000})
			g := r.mustOpen("/exp/a", hemera.AccessCreate, size(1000))
			lose(r, g)
			other := r.mustOpen("/exp/b", hemera.AccessCreate, size(999))
			_, err := r.m.Control.Commit(t.Context(), r.seal(g, 1000))
			wantKind(t, err, errs.OverQuota)
			if _, err := r.m.Control.Commit(t.Context(), r.seal(other, 999)); err != nil {
				t.Errorf("what was promised: %v", err)
			}
			r.m.Writes.pending.look(time.Now().Add(24 * time.Hour))
			r.noClaims("/exp")
		})
	}
}

// TestALongWriteKeepsItsPromise: another may take its lock once its capability has ended, but as long as its head has it, its room is not
// promised to others.
func TestALongWriteKeepsItsPromise(t *testing.T) {
	r := newRig(t, 3, 1)
	if _, err := r.m.Names.Mkdir(t.Context(), alice, "/exp", 0o755, false); err != nil {
		t.Fatal(err)
	}
	r.limit("/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 1000})
	g := r.mustOpen("/exp/a", hemera.AccessCreate, size(600))
	end := g.Permit.Expires.Add(hemera.PendingHold)
	p := r.m.Writes.pending
	p.hear(name{g.Permit.Parent, g.Permit.Name}, hemera.WriteState{Nonce: g.Permit.Nonce, Pending: true}, end)
	p.look(end.Add(reportTime))
	r.wantRoom(400)
	if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 600)); err != nil {
		t.Error(err)
	}
	g = r.mustOpen("/exp/b", hemera.AccessCreate, size(400))
	p.hear(name{g.Permit.Parent, g.Permit.Name}, hemera.WriteState{Nonce: g.Permit.Nonce, Pending: true}, end)
	p.look(end.Add(time.Hour)) // its head is silent
	r.wantRoom(400)
	r.noClaims("/exp")
}

// TestCommitHoldsWhatTheOpenDidNotPromise: writes that announce nothing share what is left, the first to
// commit has it, and they take nothing from a writer that announced its size.
func TestCommitHoldsWhatTheOpenDidNotPromise(t *testing.T) {
	r := newRig(t, 3, 1)
	if _, err := r.m.Names.Mkdir(t.Context(), alice, "/exp", 0o755, false); err != nil {
		t.Fatal(err)
	}
	r.limit("/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 1000})
	commit := func(g hemera.Grant, size int64) error {
		_, err := r.m.Control.Commit(t.Context(), r.seal(g, size))
		return err
	}
	first, second := r.mustOpen("/exp/first", hemera.AccessCreate), r.mustOpen("/exp/second", hemera.AccessCreate)
	promised := r.mustOpen("/exp/promised", hemera.AccessCreate, size(300))
	if first.Permit.SizeMax != 1000 {
		t.Errorf("the first may have %d bytes", first.Permit.SizeMax)
	}
	if err := commit(first, 600); err != nil {
		t.Errorf("600 of 1000 with 300 claimed: %v", err)
	}
	err := commit(second, 101) // 600 used, 300 promised
	wantKind(t, err, errs.OverQuota)
	if errs.RemedyOf(err) == "" || !strings.Contains(err.Error(), "900 of 1000 bytes are used, 101 more") {
		t.Errorf("does not say why: %v", err)
	}
	wantKind(t, commit(second, 101), errs.Conflict) // what was refused stays refused
	third := r.mustOpen("/exp/third", hemera.AccessCreate)
	// Between the commit of what was promised and the end of its lock it must not count twice.
	r.through(func(tree *namespace.Parts) {
		tree.PendingWrites = &lingering{PendingWrites: tree.PendingWrites, then: func() {
			if err := commit(third, 100); err != nil {
				t.Errorf("the last 100 bytes: %v", err)
			}
		}}
	})
	if err := commit(promised, 300); err != nil {
		t.Errorf("what was promised: %v", err)
	}
	_, err = r.open("/exp/more", hemera.AccessCreate)
	wantKind(t, err, errs.OverQuota)
	r.noClaims("/exp")
}

// lingering is a tree in which something happens when a commit is made, and its claim is still held.
type lingering struct {
	namespace.PendingWrites
	then func()
}

func (l *lingering) Commit(ctx context.Context, c namespace.Commit) (hemera.Entry, error) {
	e, err := l.PendingWrites.Commit(ctx, c)
	if then := l.then; then != nil {
		l.then = nil
		then()
	}
	return e, err
}

// meddling is a tree in which something happens as soon as a write is prepared.
type meddling struct {
	namespace.Opener
	then []func()
}

func (m *meddling) Prepare(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (namespace.Prepared, error) {
	p, err := m.Opener.Prepare(ctx, who, r)
	if len(m.then) > 0 {
		next := m.then[0]
		m.then = m.then[1:]
		next()
	}
	return p, err
}

// TestCommitBetweenPrepareAndClaim: what another writer committed since a writer's standings were read, and
// so neither they nor the claims show, does not let it pass the limit; nor does it stop one that fits.
func TestCommitBetweenPrepareAndClaim(t *testing.T) {
	for _, c := range []struct {
		size int64
		fits bool
	}{{400, true}, {401, false}, {0, true}} {
		r := newRig(t, 2, 1)
		tree := &meddling{Opener: r.m.tree.Opener}
		if _, err := r.m.Names.Mkdir(t.Context(), alice, "/exp", 0o755, false); err != nil {
			t.Fatal(err)
		}
		r.limit("/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 1000})
		r.through(func(t *namespace.Parts) { t.Opener = tree })
		other := r.mustOpen("/exp/a", hemera.AccessCreate, size(600))
		tree.then = []func(){func() {
			if _, err := r.m.Control.Commit(t.Context(), r.seal(other, 600)); err != nil {
				t.Error(err)
			}
		}}
		_, err := r.open("/exp/b", hemera.AccessCreate, size(c.size))
		if c.fits && err != nil {
			t.Errorf("%d bytes: %v", c.size, err)
		}
		if !c.fits {
			wantKind(t, err, errs.OverQuota)
		}
	}
}

// TestQuotaThatNeverStandsStill: others commit each time a writer has looked. The manager answers that it shall try again.
func TestQuotaThatNeverStandsStill(t *testing.T) {
	r := newRig(t, 2, 1)
	tree := &meddling{Opener: r.m.tree.Opener}
	if _, err := r.m.Names.Mkdir(t.Context(), alice, "/exp", 0o755, false); err != nil {
		t.Fatal(err)
	}
	r.limit("/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 1000})
	r.through(func(t *namespace.Parts) { t.Opener = tree })
	var busy func()
	busy = func() {
		other := r.mustOpen("/exp/a", hemera.AccessCreate, size(600))
		if err := r.m.Control.Abort(t.Context(), shown(other)); err != nil {
			t.Error(err)
		}
		tree.then = append(tree.then, busy)
	}
	tree.then = []func(){busy}
	_, err := r.open("/exp/b", hemera.AccessCreate, size(600))
	wantKind(t, err, errs.Overloaded)
	tree.then = nil
	r.mustOpen("/exp/b", hemera.AccessCreate, size(600))
}

// TestAllowance asks for the limit that is in the way first, for others, elsewhere, of what is not there
// yet, and while writes are under way.
func TestAllowance(t *testing.T) {
	r := newRig(t, 3, 1)
	r.write("/exp/a", 600) // two replicas
	ask := func(who hemera.Identity, path string, wantLimit, wantUsed int64) {
		t.Helper()
		limit, used, err := r.m.Quotas.Allowance(t.Context(), who, path)
		if err != nil || limit != wantLimit || used != wantUsed {
			t.Errorf("%s in %s: %d of %d, %v; want %d of %d", who.Name, path, used, limit, err, wantUsed, wantLimit)
		}
	}
	ask(alice, "/exp", 0, 0)
	r.limit("/exp", hemera.QuotaUser, alice.UID, hemera.QuotaAmount{Bytes: 1000, Files: 30})
	ask(alice, "/exp", 1000, 600)
	ask(alice, "/exp/a", 1000, 600)
	ask(alice, "/exp/new/deep", 1000, 600)
	ask(alice, "/", 0, 0)
	ask(bob, "/exp", 0, 0)
	r.limit("/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Physical: 1500})
	ask(alice, "/exp", 750, 600)
	ask(bob, "/exp", 750, 600)
	r.limit("/", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 610})
	ask(bob, "/exp/a", 610, 600)
	g := r.mustOpen("/exp/b", hemera.AccessCreate, size(7))
	ask(bob, "/", 610, 607)
	if err := r.m.Control.Abort(t.Context(), shown(g)); err != nil {
		t.Fatal(err)
	}
	ask(bob, "/", 610, 600)
	if _, _, err := r.m.Quotas.Allowance(t.Context(), alice, "/exp/a/b"); !errors.Is(err, errs.NotDirectory) {
		t.Errorf("below a file: %v", err)
	}
	if err := r.m.Attributes.SetMode(t.Context(), alice, "/exp", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.m.Quotas.Allowance(t.Context(), bob, "/exp/a"); !errors.Is(err, errs.Denied) {
		t.Errorf("behind a closed door: %v", err)
	}
}

// TestRoomBelow asks for the room of all disks, and for what a quota leaves of it.
func TestRoomBelow(t *testing.T) {
	r := newRig(t, 3, 1)
	r.write("/exp/a", 600)
	all, err := r.m.Quotas.RoomBelow(t.Context(), alice, "")
	if err != nil || all.Disks != 3 || all.Quota != 0 || all.Free <= 1000 || all.LargestFree <= 1000 || all.Total < all.Free {
		t.Fatalf("all disks: %+v, %v", all, err)
	}
	if below, err := r.m.Quotas.RoomBelow(t.Context(), alice, "/exp"); err != nil || below != all {
		t.Errorf("without a quota: %+v, %v; want %+v", below, err, all)
	}
	r.limit("/exp", hemera.QuotaUser, alice.UID, hemera.QuotaAmount{Bytes: 1000})
	want := hemera.PathRoom{Name: all.Name, Disks: 3, Quota: 1000, Total: 1000, Used: 600, Free: 400, LargestFree: 400}
	if below, err := r.m.Quotas.RoomBelow(t.Context(), alice, "/exp"); err != nil || below != want {
		t.Errorf("with a quota: %+v, %v; want %+v", below, err, want)
	}
	if other, err := r.m.Quotas.RoomBelow(t.Context(), bob, "/exp"); err != nil || other != all {
		t.Errorf("another user's quota: %+v, %v; want %+v", other, err, all)
	}
	if _, err := r.m.Quotas.RoomBelow(t.Context(), alice, "/exp/a/b"); !errors.Is(err, errs.NotDirectory) {
		t.Errorf("below a file: %v", err)
	}
}

// TestQuotaIsCountedInTheBackground leaves the counting to Run.
func TestQuotaIsCountedInTheBackground(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/exp/a", 600)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.m.Run(ctx) }()
	defer func() { stop(); <-done }()
	if err := r.m.Quotas.SetQuota(t.Context(), hemera.QuotaKey{Path: "/exp", Kind: hemera.QuotaUser, ID: alice.UID}, hemera.QuotaAmount{Bytes: 100}); err != nil {
		t.Fatal(err)
	}
	for t.Context().Err() == nil {
		rows, err := r.m.Quotas.Quotas(t.Context(), "/exp/a")
		if err != nil {
			t.Fatal(err)
		}
		if !rows[0].Counting {
			if len(rows) != 2 || rows[0].Used != (hemera.QuotaAmount{Files: 1, Bytes: 600, Physical: 1200}) {
				t.Errorf("rows %+v", rows)
			}
			return
		}
	}
}

// through changes the tree that the manager uses.
func (r *rig) through(change func(*namespace.Parts)) {
	change(&r.m.Files.opener.tree)
	change(&r.m.Control.pieces.tree)
}
