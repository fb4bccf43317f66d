package place

import (
	"slices"
	"testing"

	"hemera/words/hemera"
)

// thousands returns a big cluster: 1000 nodes of 10 disks.
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

// TestBigClusters: looking at a part of the disks keeps the rule of spreading and the shares, and a space of few disks is
// still found.
func TestBigClusters(t *testing.T) {
	v := thousands()
	for i := range 3 { // only three disks of three nodes are in the space
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
	// 2,000 draws from 10,000 equal disks hit 1,813 of them (1-e^-0.2), and none more than a few times.
	if len(first) < 1700 || most > 8 {
		t.Errorf("%d disks of 10,000 were chosen, one %d times", len(first), most)
	}
}

// TestTheLastDiskOfABigClusterIsLikeOthers: the number of disks is rarely a multiple of the step.
func TestTheLastDiskOfABigClusterIsLikeOthers(t *testing.T) {
	v := view(nil, slices.Repeat([]int{1}, 4*sample+1)...)
	last := 0
	for seed := range uint64(4000) {
		c, err := Choose(v, Request{Space: "default", Want: 1, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if int(c.Targets[0].Disk) == len(v.Disks) {
			last++
		}
	}
	if last > 10 { // about two are its share
		t.Errorf("%d of 4000 files on one of %d disks", last, len(v.Disks))
	}
}

// TestBigClustersOfOnePattern: the part that is looked at does not follow the pattern in which nodes were set up: racks
// in turn, ten disks each.
func TestBigClustersOfOnePattern(t *testing.T) {
	for _, zones := range [][]string{{"a", "b"}, {"a", "b", "c"}} {
		period := 10 * len(zones)
		v := view(zones, slices.Repeat([]int{10}, (sample*period+20)/10)...)
		if step := len(v.Disks) / sample; step != period {
			t.Fatalf("%d disks are looked at in steps of %d", len(v.Disks), step)
		}
		for seed := range uint64(200) {
			c, err := Choose(v, Request{Space: "default", Want: 2, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			one, _ := v.Disk(c.Targets[0].Disk)
			two, _ := v.Disk(c.Targets[1].Disk)
			if one.Zone == two.Zone || one.Node == two.Node {
				t.Fatalf("%d zones, seed %d: disks %v and %v are both in zone %q", len(zones), seed, one.ID, two.ID, one.Zone)
			}
		}
	}
}
