package maint

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hemera/maint/move"
	"hemera/rules/balance"
	"hemera/rules/layout"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// running runs an engine of a miniature, and its nodes, until stop.
func running(t *testing.T, m *miniature, o Options) (e *Engine, stop func()) {
	e = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	for _, n := range m.view.Nodes {
		go m.serve(ctx, e.Orders, n.ID)
	}
	return e, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	}
}

// fourDisks returns a space of four nodes with a disk of 100 GB each.
func fourDisks(t *testing.T) *miniature {
	m := newMiniature(t)
	m.rate = 1 << 30
	m.view.Spaces = []hemera.Space{{Name: "default"}}
	for range 4 {
		m.node("", 100*gb)
	}
	return m
}

// balanced runs the engine of a miniature until nothing is balanced any more, or for that long.
func balanced(t *testing.T, m *miniature, most time.Duration) (jobs []adminapi.JobStatus, took time.Duration) {
	t.Helper()
	e, stop := running(t, m, m.options())
	began := time.Now()
	time.Sleep(balanceDelay + balanceRest)
	for time.Since(began) < most {
		var err error
		if jobs, err = e.Jobs(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(jobs) > 0 && jobs[0].State != adminapi.JobRunning {
			break
		}
		if len(jobs) > 0 && jobs[0].BytesLeft == 0 {
			t.Errorf("nothing is left of a job that is at work: %+v", jobs[0])
		}
		time.Sleep(time.Second)
	}
	took = time.Since(began)
	// A balanced space stays as it is.
	copies := len(m.copies)
	time.Sleep(10 * balanceRest)
	if len(m.copies) != copies && len(jobs) > 0 && jobs[0].State == adminapi.JobDone {
		t.Errorf("%d pieces were moved after the end", len(m.copies)-copies)
	}
	stop()
	return jobs, took
}

// fillings returns the used share of each disk.
func (m *miniature) fillings() (list []float64) {
	for _, d := range m.View().Disks {
		list = append(list, float64(d.Used)/float64(d.Capacity))
	}
	return list
}

// off returns the largest distance of a filling from their mean; disks are equally large.
func off(fillings []float64) (most float64) {
	mean := 0.0
	for _, f := range fillings {
		mean += f / float64(len(fillings))
	}
	for _, f := range fillings {
		most = max(most, f-mean, mean-f)
	}
	return most
}

const gb = int64(1e9)

// TestANewDiskIsFilled: the space is 92 % full, a disk is added, and no admin does anything.
func TestANewDiskIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fourDisks(t)
		r := rand.New(rand.NewPCG(1, 2))
		for range 460 {
			a := r.IntN(4)
			// Disks are equally full before: 92 GB each, of 460 files of 400 MB with two copies.
			m.file(hemera.Replica(2), 400e6, hemera.DiskID(a+1), hemera.DiskID((a+1+r.IntN(3))%4+1))
		}
		m.node("", 100*gb)
		before := m.fillings()
		jobs, took := balanced(t, m, 24*time.Hour)
		if after := off(m.fillings()); after > 0.05 {
			t.Errorf("%.3f were used, %.3f are: %.3f off", before, m.fillings(), after)
		}
		if len(jobs) != 1 || jobs[0].Kind != adminapi.JobBalance || jobs[0].Space != "default" || jobs[0].State != adminapi.JobDone || jobs[0].BytesDone == 0 || jobs[0].BytesLeft != 0 {
			t.Errorf("%+v", jobs)
		}
		// About 74 GB come to the disk, at 50 MB/s.
		if rate := float64(jobs[0].BytesDone) / took.Seconds(); rate > 1.05*hemera.BalancerRate {
			t.Errorf("%.0f bytes per second went to one disk", rate)
		}
		if most := 80 * gb; jobs[0].BytesDone > most {
			t.Errorf("%d bytes were moved", jobs[0].BytesDone)
		}
	})
}

// TestBalancingKeepsNodesAndZonesApart: two nodes, two copies: what is too much on one node cannot go to the other, which
// has the other copy. It is said, and not tried for ever.
func TestBalancingKeepsNodesAndZonesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMiniature(t)
		m.view.Spaces = []hemera.Space{{Name: "default"}}
		m.node("a", 10*gb)
		m.node("b", 20*gb)
		for range 80 {
			m.file(hemera.Replica(2), 100e6, 1, 2)
		}
		jobs, _ := balanced(t, m, time.Hour)
		if len(m.copies) > 0 {
			t.Errorf("%d pieces were moved", len(m.copies))
		}
		if len(jobs) != 1 || jobs[0].State != adminapi.JobWaiting || !strings.Contains(jobs[0].Why, "disk 1 is 80.0 % full, the space 53.3 %") {
			t.Errorf("%+v", jobs)
		}
	})
}

// TestPiecesThatShareANodeAreMovedApart: the third node is new, and all files get their spread, though no disk is too full.
func TestPiecesThatShareANodeAreMovedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMiniature(t)
		m.rate = 1 << 30
		m.view.Spaces = []hemera.Space{{Name: "default"}}
		m.node("", 1000*gb, 1000*gb, 1000*gb)
		m.node("", 1000*gb, 1000*gb, 1000*gb)
		rs := hemera.ReedSolomon(4, 2)
		for range 50 {
			m.file(rs, 40<<20, 1, 2, 3, 4, 5, 6)
			m.file(hemera.Replica(2), 4<<20, 1, 2)
		}
		m.node("", 1000*gb, 1000*gb, 1000*gb)
		jobs, _ := balanced(t, m, time.Hour)
		view := m.View()
		for _, e := range m.files {
			on := map[hemera.NodeID]int{}
			for _, p := range e.Pieces {
				d, _ := view.Disk(p.Disk)
				on[d.Node]++
			}
			for node, n := range on {
				if want := (len(e.Pieces) + 2) / 3; n > want {
					t.Fatalf("file %d of %s has %d pieces on node %d: %v", e.ID, e.Layout, n, node, e.Pieces)
				}
			}
		}
		if len(jobs) != 1 || jobs[0].State != adminapi.JobDone || jobs[0].FilesDone != 50*3 {
			t.Errorf("%+v", jobs)
		}
	})
}

// TestBalancingIsSwitchedOff: no piece moves, and moves under way are the last.
func TestBalancingIsSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMiniature(t)
		m.view.Spaces = []hemera.Space{{Name: "default", Balancer: hemera.Balancer{Off: true}}}
		m.node("", 10*gb)
		for range 90 {
			m.file(hemera.Plain(), 100e6, 1)
		}
		m.node("", 10*gb)
		if jobs, _ := balanced(t, m, time.Hour); len(jobs)+len(m.copies) > 0 {
			t.Errorf("%d copies, %+v", len(m.copies), jobs)
		}
	})
}

// TestBalancingGivesWayToWrites: while disks are written to it begins nothing, and after an hour it goes on all the same.
func TestBalancingGivesWayToWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fourDisks(t)
		for range 100 {
			m.file(hemera.Plain(), 400e6, 1)
		}
		o := m.options()
		var writes atomic.Bool
		writes.Store(true)
		o.Writers = func(id hemera.DiskID) int {
			if writes.Load() && id == 4 {
				return 1
			}
			return 0
		}
		e, stop := running(t, m, o)
		moved := func() int {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.copies)
		}
		time.Sleep(balance.YieldMost - time.Second)
		jobs, err := e.Jobs(t.Context())
		if err != nil || moved() != 0 || len(jobs) != 1 || jobs[0].State != adminapi.JobWaiting || !strings.Contains(jobs[0].Why, "writes on 1 of 4 disks") {
			t.Errorf("%d pieces were moved, %+v, %v", moved(), jobs, err)
		}
		time.Sleep(balanceDelay + balanceRest + time.Minute)
		before := moved()
		if jobs, err = e.Jobs(t.Context()); err != nil || before == 0 || jobs[0].State != adminapi.JobRunning {
			t.Errorf("after an hour %d, %+v, %v", before, jobs, err)
		}
		// A moment without writes, and it gives way to those that come.
		writes.Store(false)
		time.Sleep(time.Minute)
		writes.Store(true)
		time.Sleep(time.Minute)
		before = moved()
		time.Sleep(10 * time.Minute)
		if n := moved(); n != before {
			t.Errorf("%d pieces were moved, with %d before", n, before)
		}
		writes.Store(false)
		time.Sleep(time.Hour)
		if after := off(m.fillings()); after > 0.05 {
			t.Errorf("%.3f off: %v", after, m.fillings())
		}
		stop()
	})
}

// TestBalancingConverges: spaces of many shapes end within the threshold or say that they cannot, and no file lies worse.
func TestBalancingConverges(t *testing.T) {
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			m := newMiniature(t)
			m.rate = 1 << 30
			m.view.Spaces = []hemera.Space{{Name: "default", Balancer: hemera.Balancer{Rate: 1e12}}}
			nodes := 3 + r.IntN(5)
			for i := range nodes {
				var disks []int64
				for range 1 + r.IntN(3) {
					disks = append(disks, 100*gb)
				}
				m.node([]string{"a", "b", "c"}[i%3], disks...)
			}
			old := len(m.view.Disks)
			layouts := []hemera.Layout{hemera.Plain(), hemera.Replica(2), hemera.ReedSolomon(2, 1)}
			for range 300 {
				l := layouts[r.IntN(len(layouts))]
				disks := r.Perm(old)[:min(old, int(l.Pieces))]
				if len(disks) < int(l.Pieces) {
					continue
				}
				var ids []hemera.DiskID
				for _, d := range disks {
					ids = append(ids, hemera.DiskID(d+1))
				}
				m.file(l, 1+r.Int64N(int64(400e6)), ids...)
			}
			for range 1 + r.IntN(3) {
				m.node([]string{"a", "b", "c"}[r.IntN(3)], 100*gb)
			}
			view, before := m.View(), map[hemera.FileID]hemera.Entry{}
			for id, e := range m.files {
				before[id] = e
			}
			jobs, _ := balanced(t, m, 24*time.Hour)
			for id, e := range m.files {
				if len(layout.Missing(e.Layout, e.Size, e.Pieces)) > 0 {
					t.Errorf("seed %d: file %d lacks pieces", seed, id)
				}
				if now, old := move.SpreadOf(view, e, move.DisksOf(e.Pieces)), move.SpreadOf(view, e, move.DisksOf(before[id].Pieces)); old.Gains(now) {
					t.Errorf("seed %d: file %d lies worse: %+v, was %+v", seed, id, now, old)
				}
			}
			if most := off(m.fillings()); most > 0.05 && (len(jobs) == 0 || jobs[0].State != adminapi.JobWaiting) {
				t.Errorf("seed %d: %.3f off, %+v", seed, most, jobs)
			}
			if len(jobs) > 0 && jobs[0].FilesDone > 900 {
				t.Errorf("seed %d: pieces are moved to and fro: %+v", seed, jobs)
			}
			if len(jobs) > 0 && jobs[0].State == adminapi.JobRunning {
				t.Errorf("seed %d: it does not end: %+v", seed, jobs)
			}
		})
	}
}
