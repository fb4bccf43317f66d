package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/rules/condition"
	"hemera/rules/layout"
	"hemera/rules/policy"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// newCodedRig makes a rig whose default space has a layout.
func newCodedRig(t *testing.T, nodes, disks int, of string) *rig {
	t.Helper()
	r := newRig(t, nodes, disks)
	if err := r.m.Admin.SetSpace(t.Context(), "default", "policy.layout", of); err != nil {
		t.Fatal(err)
	}
	return r
}

// indexes returns the indexes of the targets, in their order.
func indexes(ts []hemera.Target) (is []int) {
	for _, t := range ts {
		is = append(is, int(t.Index))
	}
	return is
}

// TestWritesOfCodedFiles: an open needs disks for as many pieces as the file can be read from, and those that the space asks
// for besides; missing ones are made later.
func TestWritesOfCodedFiles(t *testing.T) {
	for _, c := range []struct {
		layout, minimum string
		disks           int
		targets, least  int // 0 targets: NoSpace
	}{
		{"rs:4+2", "auto", 9, 6, 6}, {"rs:4+2", "auto", 7, 6, 6}, {"rs:4+2", "auto", 6, 6, 5}, {"rs:4+2", "auto", 5, 5, 4}, {"rs:4+2", "auto", 4, 4, 4},
		{"rs:4+2", "auto", 3, 0, 0}, {"rs:4+2", "5", 4, 0, 0}, {"rs:4+2", "5", 5, 5, 5}, {"rs:4+2", "5", 9, 6, 5},
		{"stripe:4", "auto", 4, 4, 4}, {"stripe:4", "auto", 3, 0, 0}, {"lrc:4+2+1", "auto", 7, 7, 6}, {"lrc:4+2+1", "auto", 3, 0, 0},
	} {
		r := newCodedRig(t, c.disks, 1, c.layout)
		if err := r.m.Admin.SetSpace(t.Context(), "default", "policy.minpieces", c.minimum); err != nil {
			t.Fatal(err)
		}
		g, err := r.open("/f", hemera.AccessCreate)
		if c.targets == 0 {
			if wantKind(t, err, errs.NoSpace); errs.RemedyOf(err) == "" {
				t.Errorf("%+v: no remedy in %v", c, err)
			}
			continue
		}
		if err != nil || len(g.Permit.Targets) != c.targets || int(g.Permit.PiecesMin) != c.least {
			t.Errorf("%+v: %d targets, at least %d, %v", c, len(g.Permit.Targets), g.Permit.PiecesMin, err)
			continue
		}
		for i, target := range g.Permit.Targets {
			if int(target.Index) != i {
				t.Errorf("%+v: pieces %v", c, indexes(g.Permit.Targets))
			}
		}
	}
}

// TestUpdatesOfCodedFiles: pieces stay on their disks under their indexes, and what is missing is made on others.
func TestUpdatesOfCodedFiles(t *testing.T) {
	r := newCodedRig(t, 8, 1, "rs:4+2")
	e := r.write("/f", 64<<20)
	on := map[uint8]hemera.DiskID{}
	for _, p := range e.Pieces {
		on[p.Index] = p.Disk
	}
	for _, gone := range [][]uint8{nil, {1}, {0, 5}} {
		for _, i := range gone {
			if err := r.m.Admin.SetDisk(t.Context(), on[i], "configstatus", "ro"); err != nil {
				t.Fatal(err)
			}
		}
		g := r.mustOpen("/f", hemera.AccessUpdate, force)
		if got := indexes(g.Permit.Targets); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) || g.Permit.HeadNode() != g.Permit.Targets[0].Node {
			t.Errorf("without %v: pieces %v, head %d", gone, got, g.Permit.HeadNode())
		}
		for _, target := range g.Permit.Targets {
			if moved := target.Disk != on[target.Index]; moved != slices.Contains(gone, target.Index) {
				t.Errorf("without %v: piece %d moved from disk %d to %d", gone, target.Index, on[target.Index], target.Disk)
			}
		}
		for _, i := range gone {
			if err := r.m.Admin.SetDisk(t.Context(), on[i], "configstatus", "rw"); err != nil {
				t.Fatal(err)
			}
		}
	}
	// An update keeps the file's layout and the space's safety, whatever new files get.
	for _, s := range [][2]string{{"policy.layout", "replica:2"}, {"policy.minpieces", "2"}} {
		if err := r.m.Admin.SetSpace(t.Context(), "default", s[0], s[1]); err != nil {
			t.Fatal(err)
		}
	}
	if g := r.mustOpen("/f", hemera.AccessUpdate, force); g.Permit.Layout != e.Layout || g.Permit.PiecesMin != 5 {
		t.Errorf("%s, at least %d", g.Permit.Layout, g.Permit.PiecesMin)
	}
	// Three disks that stay are too few for four data pieces.
	for _, n := range r.nodes[:5] {
		if err := r.m.Admin.SetNode(t.Context(), n.id, "status", "off"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.open("/f", hemera.AccessUpdate, force)
	if kind := errs.KindOf(err); kind != errs.NoSpace && kind != errs.NoReplicas {
		t.Errorf("with three disks: %v", err)
	}
}

// TestReadsOfCodedFiles: a grant is for pieces that the file can be read from, and goes to the node of a data piece.
func TestReadsOfCodedFiles(t *testing.T) {
	for _, size := range []int64{1, 100 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) { readCoded(t, size) })
	}
}

func readCoded(t *testing.T, size int64) {
	r := newCodedRig(t, 8, 1, "rs:4+2")
	e := r.writeCoded("/f", size)
	if len(e.Pieces) != layout.Count(e.Layout, size) {
		t.Fatalf("%d pieces", len(e.Pieces))
	}
	nodeOf := map[uint8]hemera.NodeID{}
	view := r.m.Cluster.View()
	for _, p := range e.Pieces {
		d, _ := view.Disk(p.Disk)
		nodeOf[p.Index] = d.Node
	}
	for range 20 {
		if g := r.mustOpen("/f", hemera.AccessRead); g.Permit.Targets[0].Index >= e.Layout.Data || len(g.Permit.Targets) != len(e.Pieces) {
			t.Fatalf("pieces %v", indexes(g.Permit.Targets))
		}
	}
	// Nodes that the client could not reach come last. The head may still reach them.
	tried := []hemera.NodeID{nodeOf[0], nodeOf[4]}
	g := r.mustOpen("/f", hemera.AccessRead, func(o *hemera.OpenRequest) { o.Tried = tried })
	last := g.Permit.Targets[len(g.Permit.Targets)-2:]
	if len(g.Permit.Targets) != len(e.Pieces) || !slices.Contains(tried, last[0].Node) || !slices.Contains(tried, last[1].Node) {
		t.Errorf("tried %v, got %+v", tried, g.Permit.Targets)
	}
	// As many as there are parities may be away, and no more.
	away := []uint8{0, 4, 5}
	for i, index := range away {
		if err := r.m.Admin.SetNode(t.Context(), nodeOf[index], "status", "off"); err != nil {
			t.Fatal(err)
		}
		g, err := r.open("/f", hemera.AccessRead)
		if i < e.Layout.Parity() {
			if err != nil || slices.Contains(indexes(g.Permit.Targets), int(index)) {
				t.Errorf("without %v: %v, %v", away[:i+1], g.Permit, err)
			}
			continue
		}
		if wantKind(t, err, errs.NoReplicas); errs.RemedyOf(err) == "" {
			t.Errorf("no remedy in %v", err)
		}
	}
}

// writeCoded writes a file and commits only its pieces with bytes, as heads do.
func (r *rig) writeCoded(path string, size int64) hemera.Entry {
	r.t.Helper()
	g := r.mustOpen(path, hemera.AccessCreate)
	req := r.seal(g, size)
	req.Pieces = slices.DeleteFunc(req.Pieces, func(p hemera.Piece) bool { return !layout.Stored(g.Permit.Layout, size, p.Index) })
	e, err := r.commit(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// TestLossesThatAreSurvived: what a space survives follows from its layout and from where its disks are.
func TestLossesThatAreSurvived(t *testing.T) {
	for _, c := range []struct {
		layout       string
		nodes, disks int
		zones        int // in which the nodes are, in turn
		known        bool
		disk         bool
		node, zone   bool
	}{
		{"replica:2", 2, 1, 1, true, true, true, false}, {"replica:2", 1, 3, 1, true, true, false, false}, {"replica:2", 2, 2, 2, true, true, true, true},
		{"plain", 3, 1, 3, true, false, false, false}, {"stripe:4", 4, 1, 1, true, false, false, false},
		{"rs:4+2", 6, 1, 3, true, true, true, true}, {"rs:4+2", 3, 2, 1, true, true, true, false}, {"rs:4+2", 2, 3, 2, true, true, false, false},
		{"rs:4+2", 5, 1, 1, false, false, false, false}, {"rs:10+4", 4, 4, 4, true, true, true, true}, {"rs:10+4", 3, 5, 3, true, true, false, false},
		{"lrc:12+2+2", 4, 4, 4, true, true, true, true}, {"lrc:12+2+2", 8, 2, 4, true, true, true, true}, {"lrc:12+2+2", 16, 1, 3, true, true, true, false},
		{"lrc:12+2+2", 3, 6, 1, true, true, false, false},
	} {
		r := newCodedRig(t, c.nodes, c.disks, c.layout)
		for i, n := range r.nodes {
			if err := r.m.Admin.SetNode(t.Context(), n.id, "zone", fmt.Sprint("z", i%c.zones)); err != nil {
				t.Fatal(err)
			}
		}
		// A node that is away is no news here.
		if err := r.m.Admin.SetNode(t.Context(), r.nodes[0].id, "status", "off"); err != nil {
			t.Fatal(err)
		}
		got := losses(r.m.Cluster.View())
		if len(got) != 1 || !c.known {
			if len(got) != 0 || c.known {
				t.Errorf("%+v: %+v", c, got)
			}
			continue
		}
		if l := got[0]; l.Nodes != c.nodes || l.Zones != c.zones || l.Disk != c.disk || l.Node != c.node || l.Zone != c.zone {
			t.Errorf("%+v: %+v", c, l)
		}
	}
}

// TestGroupsAreDealtToZones: pieces of a locally repairable code in one zone are of different groups, and the head still holds
// the first data piece.
func TestGroupsAreDealtToZones(t *testing.T) {
	r := newCodedRig(t, 16, 1, "lrc:12+2+2")
	for i, n := range r.nodes {
		if err := r.m.Admin.SetNode(t.Context(), n.id, "zone", fmt.Sprint("z", i%4)); err != nil {
			t.Fatal(err)
		}
	}
	heads := map[hemera.NodeID]bool{}
	for i := range 20 {
		g := r.mustOpen(fmt.Sprint("/f", i), hemera.AccessCreate)
		heads[g.Permit.HeadNode()] = true
		view, groups := r.m.Cluster.View(), map[string]int{}
		for at, target := range g.Permit.Targets {
			d, _ := view.Disk(target.Disk)
			if int(target.Index) != at {
				t.Fatalf("pieces %v", indexes(g.Permit.Targets))
			}
			switch i := target.Index; {
			case i < 6 || i == 12:
				groups[d.Zone+" first"]++
			case i < 12 || i == 13:
				groups[d.Zone+" second"]++
			}
		}
		for zone, n := range groups {
			if n > 2 {
				t.Errorf("%d pieces of group %s", n, zone)
			}
		}
	}
	if len(heads) < 8 {
		t.Errorf("20 files have %d heads", len(heads))
	}
}

// TestPhysicalLimitsOfCodedFiles: a write is bounded by what its pieces take, and the last byte that fits is stored.
func TestPhysicalLimitsOfCodedFiles(t *testing.T) {
	const limit = 600 << 20
	r := newCodedRig(t, 7, 1, "rs:4+2")
	if _, err := r.m.Names.Mkdir(t.Context(), alice, "/exp", 0o755, false); err != nil {
		t.Fatal(err)
	}
	r.limit("/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Physical: limit})
	for _, c := range []struct {
		path    string
		size    int64
		sizeMax int64
	}{
		{"/exp/a", 100<<20 + 1, 400 << 20},   // 100 MiB take 150, and the byte after them three
		{"/exp/b", 300<<20 - 3, 300<<20 - 3}, // of 450 MiB less 3 bytes; the last row needs its parities as long as its first block
	} {
		g := r.mustOpen(c.path, hemera.AccessCreate)
		if g.Permit.SizeMax != c.sizeMax {
			t.Errorf("%s may have %d bytes, want %d", c.path, g.Permit.SizeMax, c.sizeMax)
		}
		if _, err := r.commit(r.seal(g, c.size)); err != nil {
			t.Errorf("%s with %d bytes: %v", c.path, c.size, err)
		}
		if limit, used, err := r.m.Quotas.Allowance(t.Context(), alice, "/exp"); err != nil || limit != 400<<20 || used > limit {
			t.Errorf("after %s: %d of %d used, %v", c.path, used, limit, err)
		}
	}
	_, err := r.open("/exp/c", hemera.AccessCreate)
	wantKind(t, err, errs.OverQuota)
}

// TestCommitsWithTooFewPieces: of a code with local groups not every choice of as many pieces as it has data is enough, and a
// close that may lack one fewer than the code survives to lose leaves every file that survives one.
func TestCommitsWithTooFewPieces(t *testing.T) {
	for _, c := range []struct {
		least   string
		lacking []uint8
		ok      bool
	}{
		{"5", nil, true}, {"5", []uint8{0, 6}, true}, {"5", []uint8{0, 2, 6}, false}, {"5", []uint8{0, 1, 4}, false},
		{"6", []uint8{0}, true}, {"6", []uint8{0, 6}, false},
	} {
		r := newCodedRig(t, 7, 1, "lrc:4+2+1")
		if err := r.m.Admin.SetSpace(t.Context(), "default", "policy.minpieces", c.least); err != nil {
			t.Fatal(err)
		}
		req := r.seal(r.mustOpen("/f", hemera.AccessCreate), 64<<20)
		req.Pieces = slices.DeleteFunc(req.Pieces, func(p hemera.Piece) bool { return slices.Contains(c.lacking, p.Index) })
		_, err := r.commit(req)
		if (err == nil) != c.ok || err != nil && errs.KindOf(err) != errs.Invalid {
			t.Errorf("at least %s, without %v: %v", c.least, c.lacking, err)
		}
		// A capability that asks for too few.
		req.Pieces = slices.DeleteFunc(req.Pieces, func(p hemera.Piece) bool { return slices.Contains([]uint8{0, 1, 4}, p.Index) })
		asked := req.Permit.Capability
		asked.PiecesMin = 4
		wantKind(t, checkPieces(asked, req), errs.Invalid)
	}
}

// TestHeldPiecesMakeRoomForPieces: each disk needs room for its piece only, not for the file.
func TestHeldPiecesMakeRoomForPieces(t *testing.T) {
	holding(t, 5*time.Hour, func(t *testing.T, r *rig) {
		r.write("/f", 200<<10)
		r.write("/f", 200<<10)
		for _, s := range [][2]string{{"policy.layout", "stripe:2"}, {"policy.blocksize", "64k"}} {
			if err := r.m.Admin.SetSpace(t.Context(), "default", s[0], s[1]); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range r.nodes {
			n.setFree(900 << 10)
		}
		time.Sleep(time.Minute)
		_, err := r.open("/large", hemera.AccessCreate, func(o *hemera.OpenRequest) { o.Size = 2 << 20 })
		wantKind(t, err, errs.Unavailable)
		_, err = r.open("/larger", hemera.AccessCreate, func(o *hemera.OpenRequest) { o.Size = 3 << 20 })
		wantKind(t, err, errs.NoSpace)
	})
}

// A directory's layout may put more pieces in a zone than it has parities, where the space's own is well: the directory, the
// file and the status say so.
func TestLayoutsOfDirectoriesThatLoseAZone(t *testing.T) {
	running(t, 3, 2, func(t *testing.T, r *rig) {
		for i, zone := range []string{"a", "a", "b"} {
			if err := r.m.Admin.SetNode(t.Context(), r.nodes[i].id, "zone", zone); err != nil {
				t.Fatal(err)
			}
		}
		// Nodes say with their next heartbeat where their disks are.
		time.Sleep(10 * time.Second)
		if got := losses(r.m.Cluster.View()); len(got) != 1 || !got[0].Node || !got[0].Zone {
			t.Fatalf("the space's own layout: %+v", got)
		}
		if _, err := r.m.Names.Mkdir(t.Context(), alice, "/zz", 0o755, false); err != nil {
			t.Fatal(err)
		}
		if text := r.reasons(adminapi.WhyFile, "/zz"); strings.Contains(text, "do not survive") {
			t.Errorf("with the space's layout: %s", text)
		}
		if err := r.m.Attributes.SetXattr(t.Context(), hemera.SystemIdentity(), "/zz", policy.AttrLayout, []byte("rs:3+3"), false); err != nil {
			t.Fatal(err)
		}
		if text := r.reasons(adminapi.WhyFile, "/zz"); !strings.Contains(text, "do not survive the loss of a zone: layout rs:3+3 puts up to 4 pieces on each of 2 zones") {
			t.Errorf("the directory: %s", text)
		}
		r.writeCoded("/zz/f", 20<<20)
		if text := r.reasons(adminapi.WhyFile, "/zz/f"); !strings.Contains(text, "zone: its loss is not survived: 4 of the file's 6 pieces are in one zone") {
			t.Errorf("the file: %s", text)
		}
		time.Sleep(3 * time.Minute)
		status, err := r.m.Status.Status(t.Context())
		if !slices.ContainsFunc(status.Conditions, func(c adminapi.Condition) bool {
			return c.Code == condition.FilesZoneLoss && c.Count == 1 && strings.Contains(c.Text, "/zz/f")
		}) {
			t.Errorf("the status: %+v, %v", status.Conditions, err)
		}
	})
}

// TestNodesAreToldOfACodedWriteThatDoesNotLive: they remove what a client made of its pieces, without waiting for its capability to end.
func TestNodesAreToldOfACodedWriteThatDoesNotLive(t *testing.T) {
	r := newCodedRig(t, 3, 1, "rs:2+1")
	g := r.mustOpen("/f", hemera.AccessCreate)
	beat := func(n *fakeNode, states ...hemera.WriteState) []hemera.WriteRef {
		t.Helper()
		reply, err := r.m.Control.Heartbeat(t.Context(), n.id, n.epoch, hemera.NodeReport{Disks: n.disks, Writes: states})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Writes
	}
	head := r.node(g.Permit.HeadNode())
	r.m.Writes.asks.set(r.m.Writes.pending.look(time.Now().Add(attachTime + time.Second)))
	if asked := beat(head); len(asked) != 1 || asked[0].Over {
		t.Fatalf("asked about %+v", asked)
	}
	over := hemera.WriteRef{File: g.Permit.File, Gen: g.Permit.Gen, Nonce: g.Permit.Nonce, Over: true}
	told := map[hemera.NodeID][]hemera.WriteRef{head.id: beat(head, hemera.WriteState{Nonce: g.Permit.Nonce})}
	// A sweep in between loses nothing.
	r.m.Writes.asks.set(r.m.Writes.pending.look(time.Now()))
	for _, n := range r.nodes {
		if n != head {
			told[n.id] = beat(n)
		}
	}
	for id, refs := range told {
		if len(refs) != 1 || refs[0] != over {
			t.Errorf("node %d is told %+v", id, refs)
		}
	}
	for _, n := range r.nodes {
		if refs := beat(n); len(refs) != 0 {
			t.Errorf("node %d is told again %+v", n.id, refs)
		}
	}
}

// TestEmptyPiecesOfASmallFileAreNamed: its check, what is known of it and why say that they are not missing.
func TestEmptyPiecesOfASmallFileAreNamed(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		if _, err := r.m.Names.Mkdir(t.Context(), alice, "/small", 0o755, false); err != nil {
			t.Fatal(err)
		}
		if err := r.m.Attributes.SetXattr(t.Context(), hemera.SystemIdentity(), "/small", policy.AttrLayout, []byte("rs:2+1"), false); err != nil {
			t.Fatal(err)
		}
		r.writeCoded("/small/f", 10)
		report, err := r.m.Maint.FileInfo(t.Context(), hemera.SystemIdentity(), "/small/f")
		if err != nil || !slices.Equal(report.Empty, []uint8{1}) || len(report.Pieces) != 2 {
			t.Errorf("%+v, %v", report, err)
		}
		checks, err := r.m.Maint.CheckFile(t.Context(), "/small/f", false)
		if err != nil || len(checks) != 3 {
			t.Fatalf("%+v, %v", checks, err)
		}
		for i, c := range checks {
			if int(c.Piece.Index) != i || c.Empty != (i == 1) || c.Empty && !c.OK {
				t.Errorf("%+v", c)
			}
		}
		if text := r.reasons(adminapi.WhyFile, "/small/f"); !strings.Contains(text, "empty: piece 1: the file is too small") {
			t.Error(text)
		}
	})
}
