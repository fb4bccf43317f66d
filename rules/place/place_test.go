package place

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// view makes nodes with that many disks each; the zone of node i is zones[i%len(zones)].
func view(zones []string, disksPerNode ...int) *hemera.View {
	v := &hemera.View{Spaces: []hemera.Space{{Name: "default"}}}
	id := hemera.DiskID(1)
	for i, n := range disksPerNode {
		node := hemera.NodeInfo{
			ID: hemera.NodeID(i + 1), Addr: fmt.Sprintf("n%d:1095", i+1), Status: hemera.NodeOnline, Enabled: true,
		}
		if len(zones) > 0 {
			node.Zone = zones[i%len(zones)]
		}
		v.Nodes = append(v.Nodes, node)
		for range n {
			v.Disks = append(v.Disks, hemera.Disk{
				ID: id, Node: node.ID, Space: "default", Zone: node.Zone, Config: hemera.ConfigRW,
				Health: hemera.HealthOK, Active: true, DiskStats: hemera.DiskStats{Capacity: 1000, Free: 500},
			})
			id++
		}
	}
	return v
}

func TestRefusalsSayWhy(t *testing.T) {
	v := view(nil, 7, 1, 1, 1)
	v.Disks[0].Config = hemera.ConfigRO
	v.Disks[1].Health = hemera.HealthFull
	v.Disks[2].Free = 5
	v.Disks[3].Space = "other"
	v.Disks[6].Active = false
	v.Nodes[1].Status = hemera.NodeOffline
	v.Nodes[2].Enabled = false
	_, err := Choose(v, Request{
		Space: "default", Want: 2, Min: 1, Size: 10,
		Have: []hemera.DiskID{5}, ExcludeDisks: []hemera.DiskID{6}, ExcludeNodes: []hemera.NodeID{4},
	})
	if !errors.Is(err, errs.NoSpace) || errs.RemedyOf(err) == "" {
		t.Fatal(err)
	}
	for _, why := range []string{
		"0 of its 9 disks", "1 have configstatus ro", "1 are full", "1 have too little free space", "1 are not active",
		"1 are on offline nodes", "1 are on nodes that are switched off", "1 already hold", "1 failed for this file", "tried in vain",
	} {
		if !strings.Contains(err.Error(), why) {
			t.Errorf("no %q in %v", why, err)
		}
	}
	_, err = Choose(v, Request{Space: "none", Want: 1})
	if !errors.Is(err, errs.NoSpace) || !strings.Contains(errs.RemedyOf(err), "add disks") {
		t.Errorf("empty space: %v", err)
	}
}

// A disk that is drained has not failed: the refusal separates it from disks with failed writes.
func TestADrainedDiskHasNotFailed(t *testing.T) {
	v := view(nil, 1, 1, 1)
	v.Disks[0].Config = hemera.ConfigDrain
	for disk, why := range map[hemera.DiskID]string{1: "1 is the one that is drained", 2: "1 has the piece that is to be replaced"} {
		r := Request{Space: "default", Want: 1, Leave: []hemera.DiskID{disk}}
		for _, d := range v.Disks {
			if d.ID != disk {
				r.Have = append(r.Have, d.ID)
			}
		}
		_, err := Choose(v, r)
		if !errors.Is(err, errs.NoSpace) || !strings.Contains(err.Error(), why+", 2 already hold a piece of the file") || strings.Contains(err.Error(), "failed") {
			t.Errorf("disk %d: %v", disk, err)
		}
	}
}

// bestSpread returns, as the oracle, over all subsets of the given size, the largest number of nodes, then of zones, including
// those of the existing pieces.
func bestSpread(v *hemera.View, have []hemera.DiskID, want int) (nodes, zones int) {
	var free []hemera.Disk
	var base []hemera.Disk
	for _, d := range v.Disks {
		if slices.Contains(have, d.ID) {
			base = append(base, d)
		} else if d.Writable() {
			free = append(free, d)
		}
	}
	want = min(want, len(free))
	for set := range 1 << len(free) {
		picked := slices.Clone(base)
		for i, d := range free {
			if set>>i&1 == 1 {
				picked = append(picked, d)
			}
		}
		if len(picked) == want+len(base) {
			n, z := spreadOf(picked)
			if n > nodes || n == nodes && z > zones {
				nodes, zones = n, z
			}
		}
	}
	return nodes, zones
}

func spreadOf(disks []hemera.Disk) (int, int) {
	nodes, zones := map[hemera.NodeID]bool{}, map[string]bool{}
	for _, d := range disks {
		nodes[d.Node], zones[d.Zone] = true, true
	}
	return len(nodes), len(zones)
}

func TestSpreadAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		zones := []string{"a", "b", "c"}[:1+r.IntN(3)]
		shape := make([]int, 1+r.IntN(4))
		for i := range shape {
			shape[i] = 1 + r.IntN(3)
		}
		v := view(zones, shape...)
		for i := range v.Disks {
			v.Disks[i].Free = 1 + r.Int64N(1000)
			if r.IntN(4) == 0 {
				v.Disks[i].Config = hemera.ConfigRO
			}
		}
		var have []hemera.DiskID
		if r.IntN(2) == 0 {
			have = append(have, v.Disks[r.IntN(len(v.Disks))].ID)
		}
		want := 1 + r.IntN(4)
		choice, err := Choose(v, Request{Space: "default", Want: want, Have: have, Seed: r.Uint64()})
		nodes, zones2 := bestSpread(v, have, want)
		if err != nil {
			if choice.Eligible != 0 {
				t.Fatal(err)
			}
			continue
		}
		check(t, v, choice, have, want)
		var picked []hemera.Disk
		for _, d := range v.Disks {
			if slices.Contains(have, d.ID) || slices.ContainsFunc(choice.Targets, func(t hemera.Target) bool { return t.Disk == d.ID }) {
				picked = append(picked, d)
			}
		}
		if n, z := spreadOf(picked); n != nodes || z != zones2 {
			t.Fatalf("shape %v: %d nodes and %d zones, best is %d and %d", shape, n, z, nodes, zones2)
		}
	}
}

// check checks the properties of every choice.
func check(t *testing.T, v *hemera.View, c Choice, have []hemera.DiskID, want int) {
	t.Helper()
	if len(c.Targets) != min(want, c.Eligible) {
		t.Fatalf("%d targets of %d wanted, %d eligible", len(c.Targets), want, c.Eligible)
	}
	seen := map[hemera.DiskID]bool{}
	for i, target := range c.Targets {
		d, ok := v.Disk(target.Disk)
		n, _ := v.Node(target.Node)
		if !ok || !d.Writable() || seen[d.ID] || slices.Contains(have, d.ID) || target.Index != uint8(i) || target.Addr != n.Addr || d.Node != n.ID {
			t.Fatalf("bad target %+v", target)
		}
		seen[d.ID] = true
	}
}

// counts returns the number of pieces of the busiest node, and of the busiest zone.
func counts(v *hemera.View, disks []hemera.DiskID) (node, zone int) {
	nodes, zones := map[hemera.NodeID]int{}, map[string]int{}
	for _, id := range disks {
		d, _ := v.Disk(id)
		nodes[d.Node]++
		zones[d.Zone]++
		node, zone = max(node, nodes[d.Node]), max(zone, zones[d.Zone])
	}
	return node, zone
}

func chosen(c Choice) (ids []hemera.DiskID) {
	for _, t := range c.Targets {
		ids = append(ids, t.Disk)
	}
	return ids
}

// TestPiecesAreSpreadEvenly: with fewer nodes than pieces, no node has more than its share, rounded up. The same is true
// for zones, if the zones differ by at most one node.
func TestPiecesAreSpreadEvenly(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e"}
	for _, layout := range [][2]int{{2, 1}, {4, 2}, {8, 3}, {10, 4}, {12, 4}, {28, 4}} {
		pieces := layout[0] + layout[1]
		for nodes := 1; nodes <= 10; nodes++ {
			for zones := 1; zones <= min(nodes, len(all)); zones++ {
				v := view(all[:zones], slices.Repeat([]int{pieces}, nodes)...)
				for seed := range uint64(5) {
					c, err := Choose(v, Request{Space: "default", Want: pieces, Spare: layout[1], Seed: seed})
					if err != nil {
						t.Fatal(err)
					}
					check(t, v, c, nil, pieces)
					node, zone := counts(v, chosen(c))
					// A zone with one node more has up to one piece more for each piece that nodes have.
					uneven := 0
					if nodes%zones != 0 {
						uneven = node
					}
					if most, share := (pieces+nodes-1)/nodes, (pieces+zones-1)/zones; node > most && node > layout[1] || zone > share+uneven {
						t.Fatalf("%d+%d on %d nodes in %d zones: %d on a node, of at most %d; %d in a zone, of at most %d",
							layout[0], layout[1], nodes, zones, node, most, zone, share)
					}
				}
			}
		}
	}
}

func TestFewNodesInAZone(t *testing.T) {
	zones := func(v *hemera.View, of ...string) *hemera.View {
		for i := range v.Nodes {
			v.Nodes[i].Zone = of[i]
		}
		for i := range v.Disks {
			v.Disks[i].Zone = of[v.Disks[i].Node-1]
		}
		return v
	}
	for _, c := range []struct {
		name       string
		v          *hemera.View
		want       int
		spare      int
		node, zone int
	}{
		{"4+2, zones of 1, 1 and 10 nodes", zones(view(nil, 9, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), "a", "b", "c", "c", "c", "c", "c", "c", "c", "c", "c", "c"), 6, 2, 2, 2},
		{"2+1 there: one on each node, and in each zone", zones(view(nil, 9, 9, 1, 1, 1, 1), "a", "b", "c", "c", "c", "c"), 3, 1, 1, 1},
		{"4+2 in two zones: no zone can be lost, nodes can", zones(view(nil, 9, 9, 9, 9), "a", "a", "a", "b"), 6, 2, 2, 4},
		{"4+2 in zones of 1 and 5 nodes: no zone can be lost, so there is one on each node", zones(view(nil, 9, 9, 9, 9, 9, 9), "a", "b", "b", "b", "b", "b"), 6, 2, 1, 5},
		{"the same with a third zone that is small", zones(view(nil, 1, 9, 9, 9, 9, 9), "a", "b", "b", "b", "c", "b"), 6, 2, 1, 4},
		{"4+2 on two nodes", zones(view(nil, 9, 9), "a", "b"), 6, 2, 3, 3},
		{"10+4 on 4 nodes with few disks on one", zones(view(nil, 9, 9, 9, 2), "a", "a", "a", "a"), 14, 4, 4, 14},
	} {
		for seed := range uint64(20) {
			choice, err := Choose(c.v, Request{Space: "default", Want: c.want, Spare: c.spare, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if node, zone := counts(c.v, chosen(choice)); node != c.node || zone != c.zone {
				t.Fatalf("%s: %d on a node and %d in a zone, want %d and %d", c.name, node, zone, c.node, c.zone)
			}
		}
	}
}

// TestSpareAgainstBruteForce: if some choice survives the loss of each node, and of each zone, the result does.
func TestSpareAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	nodesOnly, both := 0, 0
	for range 400 {
		shape := make([]int, 1+r.IntN(5))
		for i := range shape {
			shape[i] = 1 + r.IntN(3)
		}
		v := view(nil, shape...)
		for i := range v.Nodes {
			v.Nodes[i].Zone = []string{"a", "b", "c"}[r.IntN(3)]
		}
		for i := range v.Disks {
			v.Disks[i].Zone = v.Nodes[v.Disks[i].Node-1].Zone
		}
		var have []hemera.DiskID
		if r.IntN(2) == 0 {
			have = append(have, v.Disks[r.IntN(len(v.Disks))].ID)
		}
		want, spare := 1+r.IntN(5), 1+r.IntN(2)
		if want > len(v.Disks)-len(have) {
			continue
		}
		byNode, byZone := false, false
		for set := range 1 << len(v.Disks) {
			picked := slices.Clone(have)
			for i, d := range v.Disks {
				if set>>i&1 == 1 && !slices.Contains(have, d.ID) {
					picked = append(picked, d.ID)
				}
			}
			if len(picked) == want+len(have) {
				node, zone := counts(v, picked)
				byNode, byZone = byNode || node <= spare, byZone || node <= spare && zone <= spare
			}
		}
		c, err := Choose(v, Request{Space: "default", Want: want, Spare: spare, Have: have, Seed: r.Uint64()})
		if err != nil {
			t.Fatal(err)
		}
		node, zone := counts(v, append(chosen(c), have...))
		if byNode && node > spare || byZone && zone > spare {
			t.Fatalf("%v: %d on a node and %d in a zone, with %d to spare", shape, node, zone, spare)
		}
		if byZone {
			both++
		} else if byNode {
			nodesOnly++
		}
	}
	if both < 50 || nodesOnly < 20 {
		t.Errorf("only %d and %d cases had something to find", both, nodesOnly)
	}
}

func TestLead(t *testing.T) {
	v := view(nil, 1, 1, 1, 1, 1)
	v.Disks[0].Health = hemera.HealthFailing
	v.Disks[4].Stopping = true
	target := func(index, disk int) hemera.Target {
		return hemera.Target{Index: uint8(index), Disk: hemera.DiskID(disk), Node: hemera.NodeID(disk), Addr: v.Nodes[disk-1].Addr}
	}
	for _, c := range []struct {
		name    string
		targets []hemera.Target
		client  string
		want    []int // disks
	}{
		{"data before parity, the others stay in order", []hemera.Target{target(4, 4), target(5, 3), target(1, 2)}, "", []int{2, 4, 3}},
		{"the first is a data piece", []hemera.Target{target(1, 3), target(0, 2)}, "", []int{3, 2}},
		{"not on a failing disk", []hemera.Target{target(4, 4), target(0, 1)}, "", []int{4, 1}},
		{"not at a node that is about to stop", []hemera.Target{target(4, 4), target(0, 5), target(1, 2)}, "", []int{2, 4, 5}},
		{"the client's own host", []hemera.Target{target(4, 4), target(0, 2)}, "n4", []int{4, 2}},
		{"no data piece", []hemera.Target{target(4, 4), target(5, 2)}, "", []int{4, 2}},
		{"nothing", nil, "", nil},
	} {
		Lead(v, c.targets, 4, c.client)
		var got []int
		for _, t := range c.targets {
			got = append(got, int(t.Disk))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: disks %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTogether(t *testing.T) {
	v := view([]string{"a", "b"}, 2, 2, 2) // nodes 1 and 3 in a, 2 in b
	var ts []hemera.Target
	for _, id := range []hemera.DiskID{5, 3, 1, 6, 4, 2} {
		d, _ := v.Disk(id)
		ts = append(ts, hemera.Target{Disk: id, Node: d.Node})
	}
	Together(v, ts)
	var got []int
	for _, t := range ts {
		got = append(got, int(t.Disk))
	}
	if !slices.Equal(got, []int{5, 6, 1, 2, 3, 4}) {
		t.Errorf("disks %v", got)
	}
}

func TestSharesFollowFreeSpace(t *testing.T) {
	v := view(nil, 1, 1, 1, 1)
	for i := range v.Disks {
		v.Disks[i].Free = int64(i+1) * 100
	}
	counts := map[hemera.DiskID]float64{}
	const rounds = 20000
	for seed := range uint64(rounds) {
		c, err := Choose(v, Request{Space: "default", Want: 1, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		counts[c.Targets[0].Disk]++
	}
	for id, n := range counts {
		want := float64(id) / 10
		if got := n / rounds; math.Abs(got-want) > 0.02 {
			t.Errorf("disk %d got %.3f of the files, its share is %.3f", id, got, want)
		}
	}
}

func TestWritesUnderWayRepel(t *testing.T) {
	v := view(nil, 6)
	busy := map[hemera.DiskID]int{}
	most := 0
	for seed := range uint64(60) {
		c, err := Choose(v, Request{Space: "default", Want: 1, Writers: func(id hemera.DiskID) int { return busy[id] }, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		busy[c.Targets[0].Disk]++
		most = max(most, busy[c.Targets[0].Disk])
	}
	if most > 15 {
		t.Errorf("60 streams on 6 disks, %d on one", most)
	}
}

// TestLargePiecesGoToDisksThatNothingIsWrittenTo: some small pieces join a write, but no large one while there is another
// disk.
func TestLargePiecesGoToDisksThatNothingIsWrittenTo(t *testing.T) {
	v := view(nil, 4)
	for i := range v.Disks {
		v.Disks[i].Free = 4 * streamSize
	}
	for _, size := range []int64{0, streamSize - 1, streamSize} {
		joined, all := 0, 0
		for seed := range uint64(1000) {
			r := Request{Space: "default", Want: 1, Size: size, Seed: seed, Writers: func(id hemera.DiskID) int { return int(id) - 1 }}
			one, err := Choose(v, r)
			if err != nil {
				t.Fatal(err)
			}
			if one.Targets[0].Disk != 1 {
				joined++
			}
			r.Have = []hemera.DiskID{1}
			if other, err := Choose(v, r); err != nil || len(other.Targets) != 1 {
				t.Errorf("all others are written to: %+v, %v", other, err)
			} else if other.Targets[0].Disk == 2 {
				all++
			}
		}
		if large := size >= streamSize; joined > 0 == large || all < 700 || all == 1000 {
			t.Errorf("%d bytes: %d of 1000 joined a write, and %d of 1000 the least one where all are written to", size, joined, all)
		}
	}
}

func TestOneDiskLessMovesOnlyItsFiles(t *testing.T) {
	v, less := view(nil, 1, 1, 1, 1, 1), view(nil, 1, 1, 1, 1, 1)
	less.Disks[2].Config = hemera.ConfigRO
	for seed := range uint64(500) {
		a, _ := Choose(v, Request{Space: "default", Want: 1, Seed: seed})
		b, _ := Choose(less, Request{Space: "default", Want: 1, Seed: seed})
		if a.Targets[0].Disk != 3 && a.Targets[0].Disk != b.Targets[0].Disk {
			t.Fatalf("seed %d moved from %d to %d", seed, a.Targets[0].Disk, b.Targets[0].Disk)
		}
	}
}

func TestHeadIsCloseToTheClient(t *testing.T) {
	v := view([]string{"a", "b"}, 1, 1, 1, 1)
	for seed := range uint64(50) {
		c, _ := Choose(v, Request{Space: "default", Want: 4, Client: "n3", Seed: seed})
		if c.Targets[0].Node != 3 {
			t.Fatalf("seed %d: head on node %d", seed, c.Targets[0].Node)
		}
	}
}

func TestOrder(t *testing.T) {
	v := view([]string{"a", "b"}, 1, 1, 1, 1)
	pieces := []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}, {Index: 2, Disk: 3}, {Index: 3, Disk: 4}, {Index: 4, Disk: 99}}
	for _, c := range []struct {
		name   string
		change func(*hemera.View)
		client string
		tried  []hemera.NodeID
		first  hemera.DiskID // zero: any
		count  int
	}{
		{"all", nil, "", nil, 0, 4},
		{"own host", nil, "n2", nil, 2, 4},
		{"own zone", func(v *hemera.View) { v.Disks[1].Active = false }, "n2", nil, 4, 3},
		{"tried", nil, "n2", []hemera.NodeID{2}, 4, 3},
		{"failing last", func(v *hemera.View) { v.Disks[1].Health = hemera.HealthFailing }, "n2", nil, 4, 4},
		{"off", func(v *hemera.View) { v.Disks[0].Config = hemera.ConfigOff }, "", nil, 0, 3},
		{"draining and full are read", func(v *hemera.View) {
			v.Disks[0].Config, v.Disks[1].Health = hemera.ConfigDrain, hemera.HealthFull
		}, "", nil, 0, 4},
		{"a node that stops last", func(v *hemera.View) { v.Nodes[1].Stopping = true }, "n2", nil, 4, 4},
		{"node offline", func(v *hemera.View) { v.Nodes[3].Status = hemera.NodeOffline }, "", nil, 0, 3},
		{"none", nil, "", []hemera.NodeID{1, 2, 3, 4}, 0, 0},
	} {
		w := view([]string{"a", "b"}, 1, 1, 1, 1)
		if c.change != nil {
			c.change(w)
		}
		got := Order(w, pieces, c.client, c.tried, 7)
		if len(got) != c.count || c.first != 0 && got[0].Disk != c.first {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if why := Unreadable(v, pieces[3:], []hemera.NodeID{4}); why != "disk 4 (piece 3) was tried, disk 99 (piece 4) is not in the cluster" {
		t.Error(why)
	}
}

func TestReadsAreShared(t *testing.T) {
	v := view(nil, 1, 1)
	v.Disks[1].Load.Busy = 1
	pieces := []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}
	first := 0
	for seed := range uint64(6000) {
		if Order(v, pieces, "", nil, seed)[0].Disk == 1 {
			first++
		}
	}
	if share := float64(first) / 6000; share < 0.78 || share > 0.88 { // 1 to 0.2
		t.Errorf("the idle disk got %.2f of the reads", share)
	}
}

// A node whose network is suspected gets its share of new pieces and of reads, and the other nodes get the rest.
func TestSharesFollowTheNetwork(t *testing.T) {
	const rounds = 20000
	for _, c := range []struct{ weight, share float64 }{{0.25, 0.25 / 3.25}, {0.05, 0.05 / 3.05}, {1, 0.25}, {0, 0.25}, {-1, 0.25}, {7, 0.25}, {math.NaN(), 0.25}} {
		v := view(nil, 1, 1, 1, 1)
		v.Nodes[2].NetworkWeight = c.weight
		pieces := []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}, {Index: 2, Disk: 3}, {Index: 3, Disk: 4}}
		written, read := 0.0, 0.0
		for seed := range uint64(rounds) {
			choice, err := Choose(v, Request{Space: "default", Want: 1, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if choice.Targets[0].Node == 3 {
				written++
			}
			if Order(v, pieces, "", nil, seed)[0].Node == 3 {
				read++
			}
		}
		if math.Abs(written/rounds-c.share) > 0.015 || math.Abs(read/rounds-c.share) > 0.015 {
			t.Errorf("weight %v: %.3f of the pieces and %.3f of the reads, not %.3f", c.weight, written/rounds, read/rounds, c.share)
		}
	}
}

// A suspected node does not count as near in its zone. It does on its own host, as nothing crosses the network there.
func TestASuspectedNodeIsNotNear(t *testing.T) {
	v := view([]string{"a", "b"}, 1, 1, 1, 1)
	v.Disks[0].Active = false // on the client's own host
	v.Nodes[2].NetworkWeight = 0.05
	pieces := []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}, {Index: 2, Disk: 3}}
	others := 0
	for seed := range uint64(1000) {
		if Order(v, pieces, "n1", nil, seed)[0].Node == 2 {
			others++
		}
		if first := Order(v, pieces, "n3", nil, seed)[0].Node; first != 3 {
			t.Fatalf("seed %d: a client on the host of its piece reads from node %d", seed, first)
		}
	}
	if others < 900 {
		t.Errorf("the other zone got %d of 1000 reads", others)
	}
}

func FuzzChoose(f *testing.F) {
	f.Add(uint64(1), 3, 2, int64(10), 2, "n1")
	f.Fuzz(func(t *testing.T, seed uint64, nodes, perNode int, size int64, want int, client string) {
		if nodes < 0 || nodes > 8 || perNode < 0 || perNode > 8 || want < 0 || want > 64 {
			return
		}
		shape := slices.Repeat([]int{perNode}, nodes)
		v := view([]string{"x", "y", ""}, shape...)
		c, err := Choose(v, Request{Space: "default", Want: want, Size: size, Client: client, Seed: seed})
		if err != nil {
			if !errors.Is(err, errs.NoSpace) {
				t.Fatal(err)
			}
			return
		}
		check(t, v, c, nil, want)
	})
}
