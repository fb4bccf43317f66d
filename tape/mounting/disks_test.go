package mounting_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hemera/tape/mounting"
	"hemera/words/hemera"
)

// reads returns files of 4 GB on the disks.
func reads(disks ...hemera.DiskID) (out []mounting.Read) {
	for _, d := range disks {
		out = append(out, mounting.Read{Disk: d, Bytes: 4e9})
	}
	return out
}

// disksOf returns the disks in an order.
func disksOf(all []mounting.Read, order []int) (out []hemera.DiskID) {
	for _, i := range order {
		out = append(out, all[i].Disk)
	}
	return out
}

func TestSpreadDisks(t *testing.T) {
	for _, one := range []struct {
		what   string
		reads  []mounting.Read
		beside [][]mounting.Read
		want   []hemera.DiskID
	}{
		{"nothing", nil, nil, nil},
		{"alone, from disk to disk", reads(1, 1, 2, 2), nil, []hemera.DiskID{1, 2, 1, 2}},
		{"a disk with more has its turn more often", reads(1, 2, 2, 2), nil, []hemera.DiskID{2, 2, 1, 2}},
		{"not where another one is", reads(1, 2, 3, 4), [][]mounting.Read{reads(1, 2, 3, 4)}, []hemera.DiskID{3, 4, 1, 2}},
		{"of two others", reads(1, 2, 3), [][]mounting.Read{reads(1), reads(2)}, []hemera.DiskID{3, 1, 2}},
		{"only one disk", reads(7, 7), [][]mounting.Read{reads(7, 7)}, []hemera.DiskID{7, 7}},
	} {
		if got := disksOf(one.reads, mounting.SpreadDisks(one.reads, one.beside)); !slices.Equal(got, one.want) {
			t.Errorf("%s: %v, want %v", one.what, got, one.want)
		}
	}
}

// TestSpreadDisksKeepsAll: whatever is read, each file comes once, and those of one disk in their order.
func TestSpreadDisksKeepsAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	some := func() (out []mounting.Read) {
		for range r.IntN(30) {
			out = append(out, mounting.Read{Disk: hemera.DiskID(r.IntN(5)), Bytes: r.Int64N(1000)})
		}
		return out
	}
	for range 300 {
		all := some()
		order := mounting.SpreadDisks(all, [][]mounting.Read{some(), some()})
		last := map[hemera.DiskID]int{}
		for _, i := range order {
			if before, is := last[all[i].Disk]; is && before > i {
				t.Fatalf("%v: file %d comes behind %d", all, i, before)
			}
			last[all[i].Disk] = i
		}
		if slices.Sort(order); len(order) != len(all) || len(slices.Compact(order)) != len(all) {
			t.Fatalf("%v: %v", all, order)
		}
	}
}

// TestReadsPass: what a session has read leaves the list, a file that it is in the middle of does not.
func TestReadsPass(t *testing.T) {
	var r mounting.Reads
	if left := r.Left(100); len(left) != 0 {
		t.Errorf("of nothing %v is left", left)
	}
	for _, bytes := range []int64{10, 20, 30} {
		r.Add(mounting.Read{Disk: 1, Bytes: bytes})
	}
	for _, c := range []struct {
		done int64
		left int
	}{{0, 3}, {9, 3}, {10, 2}, {29, 2}, {30, 1}, {60, 0}, {1000, 0}} {
		if left := r.Left(c.done); len(left) != c.left {
			t.Errorf("after %d bytes %v is left", c.done, left)
		}
	}
}
