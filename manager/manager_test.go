package manager

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func force(r *hemera.OpenRequest) { r.Force = true }

func TestWriteThenRead(t *testing.T) {
	r := newRig(t, 3, 2)
	e := r.write("/data/run1", 1000)
	if len(e.Pieces) != 2 || e.Layout != hemera.Replica(2) || e.Space != "default" {
		t.Fatalf("committed %+v", e)
	}
	g := r.mustOpen("/data/run1", hemera.AccessRead)
	if g.Permit.Size != 1000 || g.Permit.Gen != e.Gen || len(g.Permit.Targets) != 2 || g.Addr != g.Permit.Targets[0].Addr {
		t.Errorf("grant %+v", g)
	}
	c, err := r.m.Cluster.Keys.Ring().Verify(tokenOf(g), time.Now())
	if err != nil || c.File != e.ID {
		t.Errorf("token: %v", err)
	}
	if n := r.m.Writes.pending.size(); n != 0 {
		t.Errorf("%d writes pending", n)
	}
}

func TestTriedNodesAreLeftToLast(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/f", 10)
	for _, n := range r.nodes {
		g := r.mustOpen("/f", hemera.AccessRead, func(o *hemera.OpenRequest) { o.Tried = []hemera.NodeID{n.id} })
		if g.Permit.Targets[0].Node == n.id || len(g.Permit.Targets) != 2 {
			t.Errorf("tried %d, got %+v", n.id, g.Permit.Targets)
		}
	}
	_, err := r.open("/f", hemera.AccessRead, func(o *hemera.OpenRequest) { o.Tried = []hemera.NodeID{r.nodes[0].id, r.nodes[1].id} })
	wantKind(t, err, errs.NoReplicas)
	if err != nil && !strings.Contains(err.Error(), "was tried") {
		t.Errorf("does not say why: %v", err)
	}
}

func TestEmptyFile(t *testing.T) {
	r := newRig(t, 2, 1)
	e := r.write("/empty", 0)
	if len(e.Pieces) != 0 {
		t.Errorf("pieces %v", e.Pieces)
	}
	g := r.mustOpen("/empty", hemera.AccessRead)
	if g.Permit.Size != 0 || g.Addr == "" {
		t.Errorf("grant %+v", g)
	}
	if ts, err := r.m.Files.Locate(t.Context(), alice, "/empty"); err != nil || len(ts) != 1 {
		t.Errorf("locate: %v, %v", ts, err)
	}
}

func TestSecondWriterIsLockedOut(t *testing.T) {
	r := newRig(t, 2, 1)
	first := r.mustOpen("/f", hemera.AccessCreate)
	_, err := r.m.Files.Open(t.Context(), bob, hemera.OpenRequest{Path: "/f", Access: hemera.AccessCreate})
	wantKind(t, err, errs.Locked)
	if err := r.m.Control.Abort(t.Context(), shown(first)); err != nil {
		t.Fatal(err)
	}
	second := r.mustOpen("/f", hemera.AccessCreate)
	if second.Permit.File == first.Permit.File {
		t.Error("a new file took an aborted one's id")
	}
	if _, err := r.m.Control.Commit(t.Context(), r.seal(second, 5)); err != nil {
		t.Fatal(err)
	}
	_, err = r.m.Control.Commit(t.Context(), r.seal(first, 6))
	wantKind(t, err, errs.Conflict)
}

func TestSameClientComesBackAfterAFailedNode(t *testing.T) {
	r := newRig(t, 3, 1)
	first := r.mustOpen("/f", hemera.AccessCreate)
	tried := []hemera.NodeID{first.Permit.Targets[0].Node}
	second := r.mustOpen("/f", hemera.AccessCreate, func(o *hemera.OpenRequest) { o.Tried = tried })
	for _, target := range second.Permit.Targets {
		if target.Node == tried[0] {
			t.Error("sent to the node it could not reach")
		}
	}
	_, err := r.m.Files.Open(t.Context(), bob, hemera.OpenRequest{Path: "/f", Access: hemera.AccessCreate, Tried: tried})
	wantKind(t, err, errs.Locked)
}

func TestSameClientTwiceTheFirstCommitWins(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/f", 1)
	a := r.mustOpen("/f", hemera.AccessUpdate)
	b := r.mustOpen("/f", hemera.AccessUpdate)
	if err := r.m.Control.Abort(t.Context(), shown(b)); err != nil {
		t.Fatal(err)
	}
	c := r.mustOpen("/f", hemera.AccessUpdate)
	if e, err := r.commit(r.seal(a, 2)); err != nil || e.Size != 2 {
		t.Fatalf("%+v, %v", e, err)
	}
	_, err := r.m.Control.Commit(t.Context(), r.seal(c, 3))
	wantKind(t, err, errs.Conflict)
	_, err = r.m.Files.Open(t.Context(), bob, hemera.OpenRequest{Path: "/f", Access: hemera.AccessRead})
	if err != nil {
		t.Error(err)
	}
}

func TestEverythingSurvivesOnPebble(t *testing.T) {
	dir := t.TempDir()
	store, err := pebblekv.Open(dir, pebblekv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, store: store}
	r.restart()
	r.addNodes(2, 1)
	r.write("/f", 7)
	g := r.mustOpen("/pending", hemera.AccessCreate)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if r.store, err = pebblekv.Open(dir, pebblekv.Options{}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.store.Close() }()
	r.restart()
	for _, n := range r.nodes {
		n.register()
	}
	if g := r.mustOpen("/f", hemera.AccessRead); g.Permit.Size != 7 {
		t.Errorf("%+v", g.Permit)
	}
	if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 8)); err != nil {
		t.Error(err)
	}
}

func TestForceLaterCommitWins(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/f", 1)
	a := r.mustOpen("/f", hemera.AccessUpdate)
	b := r.mustOpen("/f", hemera.AccessUpdate, force)
	if a.Permit.Gen == b.Permit.Gen {
		t.Fatal("two writes share a generation")
	}
	if _, err := r.m.Control.Commit(t.Context(), r.seal(a, 2)); err != nil {
		t.Fatal(err)
	}
	if e, err := r.commit(r.seal(b, 3)); err != nil || e.Size != 3 {
		t.Errorf("forced: %+v, %v", e, err)
	}
}

func TestUpdateKeepsLayoutAndPlaces(t *testing.T) {
	r := newRig(t, 4, 2)
	e := r.write("/f", 100)
	if err := r.m.Admin.SetSpace(t.Context(), "default", "policy.layout", "replica:3"); err != nil {
		t.Fatal(err)
	}
	g := r.mustOpen("/f", hemera.AccessUpdate)
	if g.Permit.Base == nil || g.Permit.Base.Gen != e.Gen || g.Permit.Base.Size != 100 || len(g.Permit.Base.Pieces) != 2 {
		t.Fatalf("base %+v", g.Permit.Base)
	}
	held := map[hemera.DiskID]bool{e.Pieces[0].Disk: true, e.Pieces[1].Disk: true}
	for _, target := range g.Permit.Targets {
		if !held[target.Disk] {
			t.Errorf("placed on disk %d, the base is on %v", target.Disk, e.Pieces)
		}
	}
	if !slices.Equal(g.Permit.Sums, e.Checksums) {
		t.Errorf("the base's checksums are %v, not %v", g.Permit.Sums, e.Checksums)
	}
	if g.Permit.Layout != hemera.Replica(2) || g.Permit.BaseGen != e.Gen {
		t.Errorf("layout %s, base generation %d", g.Permit.Layout, g.Permit.BaseGen)
	}
	if again := r.mustOpen("/f", hemera.AccessCreate, force); again.Permit.Layout != hemera.Replica(3) {
		t.Errorf("new content has layout %s", again.Permit.Layout)
	}
}

func TestRewriteReplacesOnlyWhatItSaw(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/f", 1)
	a := r.mustOpen("/f", hemera.AccessCreate)
	r.restart() // the lock is gone
	for _, n := range r.nodes {
		n.register()
	}
	r.write("/f", 2)
	_, err := r.m.Control.Commit(t.Context(), r.seal(a, 3))
	wantKind(t, err, errs.Conflict)
}

func TestCapabilityCommitsAfterRestart(t *testing.T) {
	r := newRig(t, 2, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	r.restart()
	req := r.seal(g, 7)
	e, err := r.commit(req)
	if err != nil || e.Size != 7 {
		t.Fatalf("%+v, %v", e, err)
	}
	again, err := r.commit(req)
	if err != nil || again.Gen != e.Gen {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestCommitIsHeldAgainstItsCapability(t *testing.T) {
	r := newRig(t, 4, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	for name, change := range map[string]func(*hemera.CommitRequest){
		"too few":         func(c *hemera.CommitRequest) { c.Pieces = c.Pieces[:1] },
		"no pieces":       func(c *hemera.CommitRequest) { c.Pieces = nil },
		"other disk":      func(c *hemera.CommitRequest) { c.Pieces[0].Disk = 99 },
		"same piece":      func(c *hemera.CommitRequest) { c.Pieces[1] = c.Pieces[0] },
		"negative size":   func(c *hemera.CommitRequest) { c.Size = -1 },
		"impossible size": func(c *hemera.CommitRequest) { c.Size = hemera.FileSizeMax + 1 },
		"no token":        func(c *hemera.CommitRequest) { c.Permit = hemera.ParsePermit("x") },
	} {
		req := r.seal(g, 7)
		change(&req)
		if _, err := r.m.Control.Commit(t.Context(), req); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	read := r.write("/other", 1)
	rg := r.mustOpen("/other", hemera.AccessRead)
	_, err := r.m.Control.Commit(t.Context(), hemera.CommitRequest{Permit: shown(rg), Size: read.Size})
	wantKind(t, err, errs.Denied)
}

func TestCommitSetsNoSystemAttributesForOthers(t *testing.T) {
	r := newRig(t, 2, 1)
	req := r.seal(r.mustOpen("/f", hemera.AccessCreate), 10)
	req.Xattrs = map[string][]byte{"sys.forced.layout": []byte("plain")}
	_, err := r.m.Control.Commit(t.Context(), req)
	wantKind(t, err, errs.Denied)
	req.Xattrs = map[string][]byte{"user.run": []byte("7")}
	if e, err := r.commit(req); err != nil || string(e.Xattrs["user.run"]) != "7" {
		t.Errorf("%v, %v", e.Xattrs, err)
	}
}

func TestReplaceMovesFailedPieces(t *testing.T) {
	r := newRig(t, 4, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	var failed []hemera.DiskID // also those before, as a head names them
	for range 2 {
		failed = append(failed, g.Permit.Targets[1].Disk)
		next, err := r.m.Control.Replace(t.Context(), shown(g), failed)
		if err != nil {
			t.Fatal(err)
		}
		if next.Permit.Targets[0] != g.Permit.Targets[0] || next.Permit.Targets[1].Index != 1 || slices.Contains(failed, next.Permit.Targets[1].Disk) {
			t.Errorf("from %+v to %+v", g.Permit.Targets, next.Permit.Targets)
		}
		g = next
	}
	_, err := r.m.Control.Replace(t.Context(), shown(g), append(failed, g.Permit.Targets[1].Disk))
	wantKind(t, err, errs.NoSpace)
	if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 9)); err != nil {
		t.Error(err)
	}
}

// TestReplaceOfNothingRenews: the same targets, to be opened for longer.
func TestReplaceOfNothingRenews(t *testing.T) {
	r := newRig(t, 3, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	next, err := r.m.Control.Replace(t.Context(), shown(g), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(next.Permit.Targets, g.Permit.Targets) || next.Permit.Expires.Before(g.Permit.Expires) {
		t.Errorf("from %+v to %+v", g.Permit.Capability, next.Permit.Capability)
	}
	if _, err := r.m.Control.Commit(t.Context(), r.seal(next, 9)); err != nil {
		t.Error(err)
	}
}

func TestSmallClusterStoresWhatItCan(t *testing.T) {
	for _, c := range []struct{ nodes, disks, targets, least int }{
		{1, 1, 1, 1}, {1, 2, 2, 1}, {2, 1, 2, 1}, {3, 1, 2, 2}, {1, 3, 2, 2},
	} {
		r := newRig(t, c.nodes, c.disks)
		g := r.mustOpen("/f", hemera.AccessCreate)
		if len(g.Permit.Targets) != c.targets || int(g.Permit.PiecesMin) != c.least {
			t.Errorf("%d nodes with %d disks: %d targets, at least %d", c.nodes, c.disks, len(g.Permit.Targets), g.Permit.PiecesMin)
		}
	}
	r := newRig(t, 1, 1)
	if err := r.m.Admin.SetSpace(t.Context(), "default", "policy.minpieces", "2"); err != nil {
		t.Fatal(err)
	}
	_, err := r.open("/f", hemera.AccessCreate)
	wantKind(t, err, errs.NoSpace)
}

func TestForcedAttributesDecide(t *testing.T) {
	r := newRig(t, 3, 1)
	ctx := t.Context()
	admin := hemera.Identity{Name: "root", Admin: true}
	if _, err := r.m.Names.Mkdir(ctx, admin, "/d", 0o777, false); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"sys.forced.layout": "plain", "sys.forced.checksum": "md5"} {
		if err := r.m.Attributes.SetXattr(ctx, admin, "/d", name, []byte(value), false); err != nil {
			t.Fatal(err)
		}
	}
	g := r.mustOpen("/d/f", hemera.AccessCreate)
	if g.Permit.Layout != hemera.Plain() || g.Permit.Checksums[0] != hemera.MD5 || len(g.Permit.Targets) != 1 {
		t.Errorf("%+v", g.Permit)
	}
	// What would make every later write fail is refused when it is set.
	wantKind(t, r.m.Attributes.SetXattr(ctx, admin, "/d", "sys.forced.space", []byte("nowhere"), false), errs.NotFound)
	wantKind(t, r.m.Attributes.SetXattr(ctx, admin, "/d", "user.forced.space", []byte("nowhere"), false), errs.NotFound)
	wantKind(t, r.m.Attributes.SetXattr(ctx, admin, "/d", "sys.forced.nstripes", []byte("33"), false), errs.Invalid)
	r.mustOpen("/d/g", hemera.AccessCreate)
	_, err := r.m.Files.Open(ctx, admin, hemera.OpenRequest{Path: "/d/h", Access: hemera.AccessCreate, Wish: hemera.Wish{Space: "nowhere"}})
	wantKind(t, err, errs.NotFound)
}

func TestOpenRefusals(t *testing.T) {
	r := newRig(t, 1, 1)
	r.write("/f", 1)
	for _, c := range []struct {
		req  hemera.OpenRequest
		want errs.Kind
	}{
		{hemera.OpenRequest{Path: "/no", Access: hemera.AccessRead}, errs.NotFound},
		{hemera.OpenRequest{Path: "/no", Access: hemera.AccessUpdate}, errs.NotFound},
		{hemera.OpenRequest{Path: "/", Access: hemera.AccessRead}, errs.IsDirectory},
		{hemera.OpenRequest{Path: "/f", Access: hemera.AccessCreate, Exclusive: true}, errs.Exists},
		{hemera.OpenRequest{Path: "/g", Access: hemera.AccessCreate, Size: 1 << 50}, errs.NoSpace},
		{hemera.OpenRequest{Path: "/g", Access: hemera.AccessCreate, Wish: hemera.Wish{Pieces: 99}}, errs.Invalid},
		{hemera.OpenRequest{Path: "/g", Access: hemera.AccessCreate, Wish: hemera.Wish{Unknown: "hem.replica"}}, errs.Invalid},
	} {
		_, err := r.m.Files.Open(t.Context(), alice, c.req)
		if errs.KindOf(err) != c.want {
			t.Errorf("%+v: %v, want %v", c.req, err, c.want)
		}
	}
}

// TestOtherDisksOfTriedNodes: a node that failed has other disks, which will do where nothing else is left.
func TestOtherDisksOfTriedNodes(t *testing.T) {
	r := newRig(t, 1, 4)
	e := r.write("/f", 10)
	node := r.nodes[0].id
	at := func(avoid ...hemera.DiskID) func(*hemera.OpenRequest) {
		return func(o *hemera.OpenRequest) { o.Tried, o.Avoid = []hemera.NodeID{node}, avoid }
	}
	if len(e.Pieces) != 2 {
		t.Fatalf("pieces %v", e.Pieces)
	}
	first, second := e.Pieces[0].Disk, e.Pieces[1].Disk
	if g := r.mustOpen("/f", hemera.AccessRead, at(first)); g.Permit.Targets[0].Disk != second || len(g.Permit.Targets) != 2 {
		t.Errorf("read at %v", g.Permit.Targets)
	}
	_, err := r.open("/f", hemera.AccessRead, at(first, second))
	wantKind(t, err, errs.NoReplicas)

	for range 10 {
		g := r.mustOpen("/new", hemera.AccessCreate, at(first, second))
		for _, target := range g.Permit.Targets {
			if target.Disk == first || target.Disk == second {
				t.Errorf("written to %v", g.Permit.Targets)
			}
		}
	}
	for range 10 { // its base is where it was tried
		g := r.mustOpen("/f", hemera.AccessUpdate, at(first))
		for _, target := range g.Permit.Targets {
			if target.Disk == first {
				t.Errorf("changed at %v", g.Permit.Targets)
			}
		}
	}
	all := make([]hemera.DiskID, 0, 4)
	for _, d := range r.m.Cluster.View().Disks {
		all = append(all, d.ID)
	}
	_, err = r.open("/new", hemera.AccessCreate, at(all...))
	wantKind(t, err, errs.NoSpace)
	if err != nil && !strings.Contains(err.Error(), "tried in vain") {
		t.Errorf("does not say why: %v", err)
	}
}

// TestLeftWriteYieldsToANewerOne: the client of the first write did not come back, and the same user writes the file again.
func TestLeftWriteYieldsToANewerOne(t *testing.T) {
	left := func(r *rig, g hemera.Grant) error {
		req := r.seal(g, 2)
		req.Left = true
		_, err := r.m.Control.Commit(t.Context(), req)
		return err
	}
	r := newRig(t, 2, 1)
	a := r.mustOpen("/f", hemera.AccessCreate)
	b := r.mustOpen("/f", hemera.AccessCreate)
	wantKind(t, left(r, a), errs.Conflict)
	if _, err := r.m.Control.Commit(t.Context(), r.seal(b, 3)); err != nil {
		t.Errorf("the newer write: %v", err)
	}
	wantKind(t, left(r, a), errs.Conflict) // it would replace what it did not see

	// Nobody else writes: it is committed, with its lock and without, and after a restart.
	locked, open := r.mustOpen("/locked", hemera.AccessCreate), r.mustOpen("/open", hemera.AccessCreate)
	if err := r.m.Control.Abort(t.Context(), shown(r.mustOpen("/open", hemera.AccessCreate))); err != nil {
		t.Error(err)
	}
	restarted := r.mustOpen("/restarted", hemera.AccessCreate)
	if err := errors.Join(left(r, locked), left(r, open)); err != nil {
		t.Error(err)
	}
	req := r.seal(restarted, 2)
	req.Left = true
	r.restart()
	if _, err := r.m.Control.Commit(t.Context(), req); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}
