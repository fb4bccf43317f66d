package nscheck

import (
	"testing"

	"pgregory.net/rapid"

	"hemera/words/hemera"
)

// item is a fact and what its record says.
type item struct {
	fact fact
	says string
}

func drawItems(r *rapid.T) []item {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) item {
		return item{fact{kind: indexKind(rapid.IntRange(0, int(indexKinds)-1).Draw(r, "kind")), index: uint8(rapid.IntRange(0, 2).Draw(r, "index")),
			disk: hemera.DiskID(rapid.IntRange(0, 2).Draw(r, "disk")), file: hemera.FileID(rapid.IntRange(0, 40).Draw(r, "file"))}, rapid.SampledFrom([]string{"", "a", "b"}).Draw(r, "says")}
	}), 0, 30).Draw(r, "items")
}

// sumOf adds up both sides, each in its order, in parts that are merged.
func sumOf(entries, index []item) *sums {
	parts := [2]*sums{new(sums), new(sums)}
	add := func(all []item, from side) {
		for i, it := range all {
			h, _ := it.fact.hash(nil, []byte(it.says))
			parts[i%2].add(it.fact, from, h)
		}
	}
	add(entries, inEntry)
	add(index, inIndex)
	parts[0].merge(parts[1])
	return parts[0]
}

// TestBucketsDifferExactlyWhereTheRecordsDo compares sums with counts of each record, which is how they would be compared if memory were free.
func TestBucketsDifferExactlyWhereTheRecordsDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		entries := drawItems(r)
		index := rapid.Permutation(entries).Draw(r, "order")
		for range rapid.IntRange(0, 3).Draw(r, "damages") {
			switch rapid.IntRange(0, 1).Draw(r, "damage") {
			case 0:
				index = append(index, drawItems(r)...)
			case 1:
				if len(index) > 0 {
					index = index[1:]
				}
			}
		}
		left := map[item]int{}
		for _, it := range entries {
			left[it]++
		}
		for _, it := range index {
			left[it]--
		}
		want := map[indexKind]map[int]bool{}
		for it, n := range left {
			if n != 0 {
				if want[it.fact.kind] == nil {
					want[it.fact.kind] = map[int]bool{}
				}
				want[it.fact.kind][bucketOf(it.fact.file)] = true
			}
		}
		most := rapid.IntRange(0, 4).Draw(r, "most")
		named, more := sumOf(entries, index).differing(most)
		total := 0
		for kind := range indexKinds {
			if len(named[kind]) != min(most, len(want[kind])) {
				r.Fatalf("index %d: %v named, want %v", kind, named[kind], want[kind])
			}
			for b := range named[kind] {
				if !want[kind][b] {
					r.Fatalf("index %d: bucket %d agrees", kind, b)
				}
			}
			total += len(want[kind]) - len(named[kind])
		}
		if more != total {
			r.Fatalf("%d more, want %d", more, total)
		}
	})
}

// TestTheCollectorForgetsWhatBothSidesSay: in any order of both sides, what is left is what one side says, or what they say differently.
func TestTheCollectorForgetsWhatBothSidesSay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		type event struct {
			item
			from side
		}
		var events []event
		want := map[fact]side{}
		ignored := rapid.IntRange(0, 40).Draw(r, "ignored")
		buckets := map[indexKind]map[int]bool{}
		for kind := range indexKinds {
			buckets[kind] = map[int]bool{}
			for file := range 41 {
				buckets[kind][bucketOf(hemera.FileID(file))] = file != ignored
			}
		}
		seen := map[fact]bool{}
		for _, it := range drawItems(r) {
			if seen[it.fact] {
				continue // a side has a record once
			}
			seen[it.fact] = true
			sides := []side{inEntry, inIndex, inEntry | inIndex, 0}[rapid.IntRange(0, 3).Draw(r, "sides")]
			if sides == 0 { // they say different things
				events = append(events, event{it, inEntry}, event{item{it.fact, it.says + "!"}, inIndex})
				want[it.fact] = inEntry | inIndex
				continue
			}
			for _, s := range []side{inEntry, inIndex} {
				if sides&s != 0 {
					events = append(events, event{it, s})
				}
			}
			if sides != inEntry|inIndex {
				want[it.fact] = sides
			}
		}
		c := collector{buckets: buckets, seen: map[fact]sighting{}}
		for _, e := range rapid.Permutation(events).Draw(r, "order") {
			h, _ := e.fact.hash(nil, []byte(e.says))
			c.add(e.fact, e.from, h, []byte(e.says))
		}
		for f, sides := range want {
			if bucketOf(f.file) == bucketOf(hemera.FileID(ignored)) {
				delete(want, f)
			} else if c.seen[f].sides != sides {
				r.Fatalf("%+v: seen by %d, want %d", f, c.seen[f].sides, sides)
			}
		}
		if len(c.seen) != len(want) {
			r.Fatalf("%+v, want %+v", c.seen, want)
		}
	})
}

// TestDirectoriesAreFoundByID in the columns, and nothing else is.
func TestDirectoriesAreFoundByID(t *testing.T) {
	t.Parallel()
	d := dirTable{ids: []hemera.FileID{1, 4, 9}}
	for id, want := range map[hemera.FileID]int{0: -1, 1: 0, 2: -1, 4: 1, 9: 2, 10: -1} {
		if got := d.at(id); got != want {
			t.Errorf("%d: %d, want %d", id, got, want)
		}
	}
}
