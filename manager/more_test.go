package manager

import (
	"slices"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

func TestOfflineDisksShowInFsckAndFileInfo(t *testing.T) {
	running(t, 2, 1, func(t *testing.T, r *rig) {
		r.write("/f", 10)
		r.nodes[0].stop()
		time.Sleep(hemera.HeartbeatTimeout + 2*time.Second)
		report, err := r.m.Maint.Fsck(t.Context(), false)
		if err != nil || len(report.Problems) != 1 || report.Problems[0].Tag != "offline" || report.Problems[0].Count != 1 {
			t.Errorf("%+v, %v", report, err)
		}
		info, err := r.m.Maint.FileInfo(t.Context(), hemera.SystemIdentity(), "/f")
		if err != nil || info.Status[:8] != "degraded" || len(info.Pieces) != 2 || info.Pieces[0].Host == "" {
			t.Errorf("%+v, %v", info, err)
		}
		checks, err := r.m.Maint.CheckFile(t.Context(), "/f", false)
		if err != nil || slices.IndexFunc(checks, func(c adminapi.PieceCheck) bool { return !c.OK && c.Error != "" }) < 0 {
			t.Errorf("%+v, %v", checks, err)
		}
	})
}

func TestBadPagesAreRewrittenInPlace(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		e := r.write("/f", 10)
		d, _ := r.m.Cluster.View().Disk(e.Pieces[0].Disk)
		r.node(d.Node).badPages = 3
		checks, err := r.m.Maint.CheckFile(t.Context(), "/f", true)
		if err != nil || !checks[0].OK || !checks[0].Repaired || !checks[1].OK || checks[1].Repaired {
			t.Errorf("%+v, %v", checks, err)
		}
		if now := r.entry("/f"); !slices.Equal(now.Pieces, e.Pieces) {
			t.Errorf("pieces moved from %v to %v", e.Pieces, now.Pieces)
		}
	})
}

func TestDiskIsAuditedAfterItReturns(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		dead := r.nodes[0]
		time.Sleep(20 * time.Second) // it has been seen
		g := r.mustOpen("/lost", hemera.AccessCreate)
		left := hemera.PieceStat{ID: hemera.PieceID{File: g.Permit.File, Gen: g.Permit.Gen}, Sealed: time.Now()}
		dead.put(dead.disks[0].ID, left) // sealed, and its head died before the commit
		dead.stop()
		time.Sleep(15 * time.Second)
		dead.register()
		go dead.run(r.ctx)
		time.Sleep(hemera.UnsealedLifetime + 10*time.Minute)
		if dead.count(dead.disks[0].ID) != 0 {
			t.Error("the orphan is still there")
		}
	})
}

func TestObserver(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/f", 10)
	r.mustOpen("/g", hemera.AccessCreate)
	if s, err := r.m.Observer.Sessions(t.Context()); err != nil || len(s) != 0 {
		t.Error(s, err)
	}
	r.m.Observer.sessions = func() []adminapi.SessionInfo { return []adminapi.SessionInfo{{Addr: "a"}, {Addr: "b"}} }
	if s, err := r.m.Observer.Sessions(t.Context()); err != nil || len(s) != 2 {
		t.Error(s, err)
	}
	s, err := r.m.Observer.NamespaceStats(t.Context())
	if err != nil || s.Pending != 1 || s.Goroutines == 0 || s.Totals.Files != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if events, err := r.m.Observer.Events(t.Context(), 0, 10); err != nil || len(events) == 0 {
		t.Error(events, err)
	}
}

func TestPendingWritesExpire(t *testing.T) {
	r := newRig(t, 2, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	r.m.Writes.pending.look(g.Permit.Expires)
	if r.m.Writes.pending.size() != 1 || r.m.Writes.pending.load(g.Permit.Targets[0].Disk) != 1 {
		t.Error("expired too early")
	}
	r.m.Writes.pending.look(g.Permit.Expires.Add(hemera.PendingHold + time.Second))
	if r.m.Writes.pending.size() != 0 || r.m.Writes.pending.load(g.Permit.Targets[0].Disk) != 0 {
		t.Error("not expired")
	}
	if _, err := r.m.Control.Commit(t.Context(), r.seal(g, 3)); err != nil {
		t.Errorf("a late commit: %v", err)
	}
}

// TestEmptyFilesAreReadEverywhere: they have no pieces, so all nodes that can share the opens.
func TestEmptyFilesAreReadEverywhere(t *testing.T) {
	v := &hemera.View{Nodes: []hemera.NodeInfo{
		{ID: 1, Status: hemera.NodeOnline, Enabled: true}, {ID: 2, Status: hemera.NodeOffline, Enabled: true},
		{ID: 3, Status: hemera.NodeOnline}, {ID: 4, Status: hemera.NodeOnline, Enabled: true},
	}}
	chosen := map[hemera.NodeID]int{}
	for seed := range uint64(100) {
		chosen[anyNode(v, nil, seed)[0].Node]++
	}
	if len(chosen) != 2 || chosen[1] < 20 || chosen[4] < 20 {
		t.Errorf("chosen %v", chosen)
	}
	if to := anyNode(v, []hemera.NodeID{1}, 0); len(to) != 1 || to[0].Node != 4 {
		t.Errorf("1 was tried: %v", to)
	}
	if to := anyNode(v, []hemera.NodeID{1, 4}, 0); to != nil {
		t.Errorf("all were tried: %v", to)
	}
	if to := anyNode(&hemera.View{}, nil, 7); to != nil {
		t.Errorf("no node: %v", to)
	}
}
