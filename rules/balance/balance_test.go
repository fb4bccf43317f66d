package balance

import (
	"math/rand/v2"
	"testing"

	"hemera/words/hemera"
)

const tb = int64(1e12)

// volumes returns volumes of 10 TB that are filled to percent.
func volumes(percent ...int64) (list []Volume) {
	for i, p := range percent {
		list = append(list, Volume{Disks: []hemera.DiskID{hemera.DiskID(i + 1)}, Capacity: 10 * tb, Used: p * tb / 10, Own: p * tb / 10, Gives: true, Takes: true})
	}
	return list
}

func TestStep(t *testing.T) {
	for _, c := range []struct {
		name    string
		volumes []Volume
		change  func([]Volume)
		was     bool
		busy    bool
		left    int64
	}{
		{name: "no disks"},
		{name: "one disk", volumes: volumes(90)},
		{name: "equal", volumes: volumes(60, 60, 60)},
		{name: "within the threshold", volumes: volumes(58, 62)},
		{name: "the same while it is at work", volumes: volumes(56, 64), was: true, busy: true, left: 4 * tb / 10},
		{name: "within half of the threshold", volumes: volumes(58, 62), was: true},
		{name: "one too full", volumes: volumes(50, 50, 80), busy: true, left: 2 * tb},
		{name: "one of many is new: no other is far from the mean", volumes: append(volumes(60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60), volumes(0)...), busy: true, left: 57 * tb / 10},
		{name: "above 90 %", volumes: volumes(99, 99, 89), busy: true, left: 667 * tb / 1000},
		{name: "full", volumes: volumes(100, 100)},
		{name: "the one that is too full cannot remove", volumes: volumes(40, 40, 90), change: func(v []Volume) { v[2].Gives = false }},
		{name: "the one that is empty takes nothing", volumes: volumes(60, 60, 0), change: func(v []Volume) { v[2].Takes = false }},
		{name: "it is full of what is not ours", volumes: volumes(40, 40, 90), change: func(v []Volume) { v[2].Own = 0 }},
		{name: "a part of it is ours", volumes: volumes(40, 40, 90), change: func(v []Volume) { v[2].Own = tb }, busy: true, left: tb},
		{name: "no capacity is known", volumes: []Volume{{Gives: true, Takes: true}, {Gives: true, Takes: true}}},
	} {
		if c.change != nil {
			c.change(c.volumes)
		}
		p := Step(c.volumes, 0.05, c.was)
		if p.Busy != c.busy || max(p.Left-c.left, c.left-p.Left) > tb/100 {
			t.Errorf("%s: busy %v, %d bytes left, want %v and %d", c.name, p.Busy, p.Left, c.busy, c.left)
		}
	}
}

// TestFillingConverges simulates spaces of disks of many sizes and fillings, with pieces of many sizes. Some disks give or
// take nothing. Each ends within the threshold, or nothing more can be moved; it stops, and stays stopped; no byte
// is moved back, so that no more is moved than it takes.
func TestFillingConverges(t *testing.T) {
	const threshold = 0.05
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 2 + r.IntN(30)
		list := make([]Volume, n)
		for i := range list {
			capacity := (1 + r.Int64N(20)) * tb
			used := int64(r.Float64() * float64(capacity))
			list[i] = Volume{Capacity: capacity, Used: used, Own: used, Gives: r.IntN(8) > 0, Takes: r.IntN(8) > 0}
			if r.IntN(6) == 0 {
				list[i].Own = used / 3
			}
		}
		p := Step(list, threshold, false)
		need, moved := p.Left, int64(0)
		gave, took := make([]bool, n), make([]bool, n)
		for step := 0; p.Busy; step++ {
			if step > 10_000 {
				t.Fatalf("seed %d: still busy, %.3f off", seed, p.Off)
			}
			for range 50 { // as many pieces before it is planned again
				from, to := r.IntN(n), r.IntN(n)
				size := 1 + r.Int64N(tb/50)
				if size > p.Gives[from] || size > p.Takes[to] {
					size = min(p.Gives[from], p.Takes[to])
				}
				if size <= 0 {
					continue
				}
				gave[from], took[to] = true, true
				p.Gives[from] -= size
				p.Takes[to] -= size
				list[from].Used -= size
				list[from].Own -= size
				list[to].Used += size
				list[to].Own += size
				moved += size
			}
			p = Step(list, threshold, true)
		}
		for i := range list {
			if gave[i] && took[i] {
				t.Errorf("seed %d: volume %d gave and took", seed, i)
			}
			if list[i].Used > list[i].Capacity {
				t.Errorf("seed %d: volume %d is beyond its end", seed, i)
			}
		}
		if moved > need+tb/1000 {
			t.Errorf("seed %d: %d bytes were moved, %d had to", seed, moved, need)
		}
		if Step(list, threshold, false).Busy {
			t.Errorf("seed %d: it starts again at once", seed)
		}
	}
}

func TestFoldersOfAFilesystemAreOneVolume(t *testing.T) {
	v := &hemera.View{Nodes: []hemera.NodeInfo{{ID: 1, Addr: "a:1", Enabled: true}, {ID: 2, Addr: "a:2", Enabled: true}, {ID: 3, Addr: "b:1"}}}
	for i, d := range []hemera.Disk{
		{Node: 1, DiskStats: hemera.DiskStats{Filesystem: 7}},
		{Node: 2, DiskStats: hemera.DiskStats{Filesystem: 7}},
		{Node: 3, DiskStats: hemera.DiskStats{Filesystem: 7}}, // of another host
		{Node: 1},
		{Node: 1}, // what is not known is not shared
		{Node: 1, Config: hemera.ConfigDrain},
		{Node: 1, Health: hemera.HealthFailing},
		{Node: 1, Space: "other"},
		{Node: 1, Health: hemera.HealthFull},
		{Node: 1, Config: hemera.ConfigRO},
		{Node: 1, Health: hemera.HealthReadOnly},
	} {
		d.ID, d.Active, d.Used, d.Free = hemera.DiskID(i+1), true, 60, 40
		if d.Config == "" {
			d.Config = hemera.ConfigRW
		}
		if d.Health == "" {
			d.Health = hemera.HealthOK
		}
		if d.Space == "" {
			d.Space = "s"
		}
		v.Disks = append(v.Disks, d)
	}
	got := Volumes(v, "s", func(id hemera.DiskID) Known { return Known{Own: 10 * int64(id), Leaving: -1} })
	want := []Volume{
		{Disks: []hemera.DiskID{1, 2}, Own: 30, Used: 62, Gives: true, Takes: true},
		{Disks: []hemera.DiskID{3}, Own: 30, Used: 61, Gives: true}, // its node is switched off
		{Disks: []hemera.DiskID{4}, Own: 40, Used: 61, Gives: true, Takes: true},
		{Disks: []hemera.DiskID{5}, Own: 50, Used: 61, Gives: true, Takes: true},
		{Disks: []hemera.DiskID{9}, Own: 90, Used: 61, Gives: true},
		{Disks: []hemera.DiskID{10}, Own: 100, Used: 61, Gives: true},
		{Disks: []hemera.DiskID{11}, Own: 110, Used: 61},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		w.Capacity = 100
		if g := got[i]; len(g.Disks) != len(w.Disks) || g.Disks[0] != w.Disks[0] || g.Own != w.Own || g.Used != w.Used || g.Capacity != w.Capacity || g.Gives != w.Gives || g.Takes != w.Takes {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
}

// TestMovesUnderWayChangeNoSides: bytes that count twice do not make a volume give what it takes.
func TestMovesUnderWayChangeNoSides(t *testing.T) {
	v := &hemera.View{Nodes: []hemera.NodeInfo{{ID: 1, Addr: "a:1", Enabled: true}}}
	for i := range 3 {
		v.Disks = append(v.Disks, hemera.Disk{ID: hemera.DiskID(i + 1), Node: 1, Space: "s", Active: true, Config: hemera.ConfigRW, Health: hemera.HealthOK,
			DiskStats: hemera.DiskStats{Used: 50, Free: 50}})
	}
	known := map[hemera.DiskID]Known{1: {Own: 50, Out: 20}, 2: {Own: 50, In: 20}, 3: {Own: 50, Leaving: 10}}
	got := Volumes(v, "s", func(id hemera.DiskID) Known { return known[id] })
	for i, want := range []Volume{{Used: 30, Gives: true}, {Used: 70, Takes: true}, {Used: 40, Gives: true, Takes: true}} {
		if g := got[i]; g.Used != want.Used || g.Gives != want.Gives || g.Takes != want.Takes {
			t.Errorf("%+v, want %+v", g, want)
		}
	}
}

func TestSpread(t *testing.T) {
	// Nodes 1 to 4 with two disks each; nodes 1 and 2 are in zone a, 3 in b, 4 in c.
	v := &hemera.View{}
	for i := range 8 {
		v.Disks = append(v.Disks, hemera.Disk{ID: hemera.DiskID(i + 1), Node: hemera.NodeID(i/2 + 1), Zone: []string{"a", "a", "b", "c"}[i/2]})
	}
	for _, c := range []struct {
		name         string
		old, now     []hemera.DiskID
		spare        int
		keeps, gains bool
	}{
		{"the same node", []hemera.DiskID{1, 5}, []hemera.DiskID{2, 5}, 1, true, false},
		{"away from a shared node", []hemera.DiskID{1, 2}, []hemera.DiskID{1, 3}, 1, true, true},
		{"to a shared node", []hemera.DiskID{1, 3}, []hemera.DiskID{1, 2}, 1, false, false},
		{"away from a shared zone", []hemera.DiskID{1, 3}, []hemera.DiskID{1, 5}, 1, true, true},
		{"to a shared zone", []hemera.DiskID{1, 5}, []hemera.DiskID{1, 3}, 1, false, false},
		{"two on a node of three, which may be", []hemera.DiskID{1, 2, 5}, []hemera.DiskID{1, 3, 5}, 2, true, true},
		{"nothing to share", []hemera.DiskID{1}, []hemera.DiskID{7}, 0, true, false},
		{"a zone for a node", []hemera.DiskID{1, 5, 6}, []hemera.DiskID{1, 5, 3}, 1, true, true},
		{"a disk that is gone is alone", []hemera.DiskID{1, 99}, []hemera.DiskID{1, 2}, 1, false, false},
	} {
		old, now := SpreadOf(v, c.old, c.spare), SpreadOf(v, c.now, c.spare)
		if now.Keeps(old) != c.keeps || now.Gains(old) != c.gains {
			t.Errorf("%s: keeps %v, gains %v: %+v, was %+v", c.name, now.Keeps(old), now.Gains(old), now, old)
		}
		if now.Gains(old) && old.Gains(now) {
			t.Errorf("%s: gains both ways", c.name)
		}
	}
}
