package place

import (
	"slices"
	"testing"

	"hemera"
)

// thousands is a big cluster: 1000 nodes of 10 disks.
func thousands() *hemera.View {
	return view([]string{"a", "b", "c"}, slices.Repeat([]int{10}, 1000)...)
}

func BenchmarkChoose(b *testing.B) {
	v, seed := thousands(), uint64(0)
	for b.Loop() {
		seed++
		if _, err := Choose(v, Request{Space: "default", Want: 2, Client: "elsewhere", Seed: seed}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	v, seed := thousands(), uint64(0)
	pieces := []hemera.Piece{{Index: 0, Disk: 17}, {Index: 1, Disk: 9000}}
	for b.Loop() {
		seed++
		if len(Order(v, pieces, "elsewhere", nil, seed)) != 2 {
			b.Fatal("a piece is missing")
		}
	}
}

// TestBigClusters holds that looking at a part of the disks keeps the rule of spreading and the
// shares, and that a space of few disks is still found.
func TestBigClusters(t *testing.T) {
	v := thousands()
	for i := range 3 { // three disks of three nodes, and no other, are in the space
		v.Disks[3333*i].Space = "rare"
	}
	zones := map[string]int{}
	for seed := range uint64(150) {
		c, err := Choose(v, Request{Space: "default", Want: 3, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		check(t, v, c, nil, 3)
		var picked []hemera.Disk
		for _, target := range c.Targets {
			d, _ := v.Disk(target.Disk)
			picked = append(picked, d)
			zones[d.Zone]++
		}
		if n, z := spreadOf(picked); n != 3 || z != 3 {
			t.Fatalf("seed %d: %d nodes and %d zones of three", seed, n, z)
		}
		if seed%50 != 0 {
			continue
		}
		if c, err = Choose(v, Request{Space: "rare", Want: 2, Seed: seed}); err != nil || len(c.Targets) != 2 || c.Eligible != 3 {
			t.Fatalf("the rare space: %+v, %v", c, err)
		}
	}
	first := map[hemera.DiskID]int{}
	for seed := range uint64(2000) {
		c, err := Choose(v, Request{Space: "default", Want: 1, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		first[c.Targets[0].Disk]++
	}
	most := 0
	for _, n := range first {
		most = max(most, n)
	}
	// 2,000 throws on 10,000 alike disks hit 1,813 of them (1-e^-0.2), and none more than some times.
	if len(first) < 1700 || most > 8 {
		t.Errorf("%d disks of 10,000 were chosen, one %d times", len(first), most)
	}
}
