package move

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"hemera/words/errs"
	"hemera/words/hemera"
)

func two() hemera.Entry {
	return hemera.Entry{
		ID: 9, Gen: 4, Size: 100, Space: "default", Layout: hemera.Replica(2),
		Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}},
	}
}

func TestPlan(t *testing.T) {
	e := two()
	for _, c := range []struct {
		name    string
		view    func(*hemera.View)
		wants   Spec
		to      []hemera.DiskID
		sources int
		err     errs.Kind
	}{
		{"drain", nil, Spec{Index: 0, Drop: e.Pieces[:1]}, []hemera.DiskID{3, 4}, 2, 0},
		{"lost", func(v *hemera.View) { v.Disks[0].Active = false }, Spec{Index: 0, Drop: e.Pieces[:1]}, []hemera.DiskID{3, 4}, 1, 0},
		{"bad source", nil, Spec{Index: 0, Drop: e.Pieces[:1], Avoid: []hemera.DiskID{1}}, []hemera.DiskID{3, 4}, 1, 0},
		{"full disk", nil, Spec{Index: 0, Drop: e.Pieces[:1], full: []hemera.DiskID{3}}, []hemera.DiskID{4}, 2, 0},
		{"no source", func(v *hemera.View) { v.Disks[0].Active, v.Disks[1].Active = false, false }, Spec{Index: 0, Drop: e.Pieces[:1]}, nil, 0, errs.NoReplicas},
		{"no room", func(v *hemera.View) { v.Disks[2].Free, v.Disks[3].Config = 99, hemera.ConfigRO }, Spec{Index: 0, Drop: e.Pieces[:1]}, nil, 0, errs.NoSpace},
	} {
		v := fleet(4)
		if c.view != nil {
			c.view(v)
		}
		m, err := NewPlan(v, e, c.wants)
		if c.err != 0 {
			if !errors.Is(err, c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || !slices.Contains(c.to, m.Add.Disk) || m.Add.Index != c.wants.Index || len(m.Sources) != c.sources {
			t.Errorf("%s: %+v, %v", c.name, m, err)
		}
	}
}

// A large piece that no disk has room for may have holes: the plan tries a disk all the same, but not instead of one that
// has room and is busy.
func TestPlanOfWhatMayBeSparse(t *testing.T) {
	e := two()
	e.Size = sparseAsk
	m, err := NewPlan(fleet(4), e, Spec{Index: 0, Drop: e.Pieces[:1]})
	if err != nil || m.Add.Disk < 3 {
		t.Errorf("without room: %+v, %v", m, err)
	}
	v := fleet(4)
	v.Disks[2].Free = 2 * sparseAsk
	if m, err := NewPlan(v, e, Spec{Index: 0, Drop: e.Pieces[:1]}); err != nil || m.Add.Disk != 3 {
		t.Errorf("with room on disk 3: %+v, %v", m, err)
	}
	if _, err := NewPlan(v, e, Spec{Index: 0, Drop: e.Pieces[:1], full: []hemera.DiskID{3}}); !errors.Is(err, errs.NoSpace) {
		t.Errorf("while that is busy: %v", err)
	}
}

// A drain that has nowhere to go does not say of the drained disk that it failed.
func TestADrainNamesTheDrainedDisk(t *testing.T) {
	v, e := fleet(2), two()
	v.Disks[0].Config = hemera.ConfigDrain
	_, err := NewPlan(v, e, Spec{Index: 0, Drop: e.Pieces[:1]})
	if want := "1 already hold a piece of the file, 1 is the one that is drained"; !errors.Is(err, errs.NoSpace) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestNodesGetEvenParts: of disks that are alike, those whose node receives fewer copies get most of the next ones,
// also where the counts are large and differ by little.
func TestNodesGetEvenParts(t *testing.T) {
	v := fleet(5)
	e := two()
	for _, arriving := range []map[hemera.NodeID]int64{{4: 1, 5: 2}, {3: 2, 4: 4, 5: 4}, {3: 1, 4: 3, 5: 3}, {3: 30, 4: 31, 5: 31}} {
		w := Spec{Index: 0, Drop: e.Pieces[:1], Writes: traffic{receives: arriving}.evenly(v, e, 1, func(hemera.DiskID) int { return 0 })}
		got := map[hemera.DiskID]int{}
		for w.Seed = range 1000 {
			m, err := NewPlan(v, e, w)
			if err != nil {
				t.Fatal(err)
			}
			got[m.Add.Disk]++
		}
		if got[3] < 700 {
			t.Errorf("nodes receive %v: disks got %v", arriving, got)
		}
	}
}

// TestArrivingCopiesAreCounted by the node that receives them, until they end.
func TestArrivingCopiesAreCounted(t *testing.T) {
	l := newLimiter(8, 8)
	e := two()
	m := Plan{Entry: e, Add: hemera.Target{Index: 0, Disk: 3, Node: 3}, Sources: []hemera.Target{{Index: 1, Disk: 2, Node: 2}}}
	if !l.count(0, m) || l.traffic().receives[3] != 100 || l.traffic().sends[2] != 100 {
		t.Errorf("under way: %v", l.traffic())
	}
	// What has arrived is no load any more. Reports that are late or make no sense take nothing back.
	for _, bytes := range []int64{60, 40, 1000} {
		if l.arrived(m, bytes); l.traffic().receives[3] != 40 || l.traffic().sends[2] != 40 {
			t.Errorf("after a report of %d: %v", bytes, l.traffic())
		}
	}
	l.release(m)
	l.arrived(m, 80)
	if len(l.traffic().receives)+len(l.traffic().sends) != 0 {
		t.Errorf("when it has ended: %v", l.traffic())
	}
}

func TestCopyLimiterBoundsCopiesToADisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLimiter(2, 100)
		view := fleet(3)
		enter := func(file hemera.FileID) (Plan, error) {
			e := two()
			e.ID = file
			return g.acquire(t.Context(), UrgencyDrain, func(full []hemera.DiskID, _ map[hemera.DiskID]int) (Plan, error) {
				return NewPlan(view, e, Spec{Drop: e.Pieces[:1], full: full})
			})
		}
		var under []Plan
		for file := range hemera.FileID(2) {
			m, err := enter(file + 1)
			if err != nil || m.Add.Disk != 3 {
				t.Fatal(m, err)
			}
			under = append(under, m)
		}
		third := make(chan error, 1)
		go func() { _, err := enter(3); third <- err }()
		synctest.Wait()
		select {
		case err := <-third:
			t.Fatalf("a third copy went through: %v", err)
		default:
		}
		g.release(under[0])
		if err := <-third; err != nil {
			t.Error(err)
		}
		view = fleet(2)
		if _, err := g.acquire(t.Context(), UrgencyDrain, func([]hemera.DiskID, map[hemera.DiskID]int) (Plan, error) {
			return Plan{}, errs.New(errs.NoReplicas, "", "", "")
		}); !errors.Is(err, errs.NoReplicas) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.acquire(ctx, UrgencyDrain, func([]hemera.DiskID, map[hemera.DiskID]int) (Plan, error) {
			return Plan{}, errs.New(errs.NoSpace, "", "", "")
		}); err == nil {
			t.Error("entered with a cancelled context")
		}
	})
}

func TestOneRelocationOfAFileAtATime(t *testing.T) {
	g := newLimiter(1, 1)
	if !g.LockFile(1) || g.LockFile(1) || !g.LockFile(2) {
		t.Error("hold")
	}
	g.UnlockFile(1)
	if !g.LockFile(1) {
		t.Error("release")
	}
}

// fleet returns a view of the given number of nodes with one disk each.
func fleet(n int) *hemera.View {
	v := &hemera.View{}
	for i := range n {
		id := hemera.NodeID(i + 1)
		v.Nodes = append(v.Nodes, hemera.NodeInfo{ID: id, Addr: "n:1", Status: hemera.NodeOnline, Enabled: true})
		v.Disks = append(v.Disks, hemera.Disk{
			ID: hemera.DiskID(i + 1), Node: id, Space: "default", Config: hemera.ConfigRW, Health: hemera.HealthOK, Active: true, DiskStats: hemera.DiskStats{Free: 1000},
		})
	}
	return v
}
