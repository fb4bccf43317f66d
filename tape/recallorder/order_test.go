package recallorder

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

// block is the size of an object on tape, in bytes.
const block = 256 << 10

// requests makes random ones: files of 2 GB anywhere on an LTO-9 tape.
func requests(seed uint64, n int) (list []Segment) {
	r := rand.New(rand.NewPCG(seed, 4))
	const objects, size = 18_000_000_000_000 / block, 2_000_000_000 / block
	for range n {
		at := r.Uint64N(objects - size)
		list = append(list, Segment{at, at + size})
	}
	return list
}

// asked returns the order of asking.
func asked(n int) (order []int) {
	for i := range n {
		order = append(order, i)
	}
	return order
}

// On random requests the tape travels less than a third of what it does in the order of asking.
func TestTravelsLessThanAThird(t *testing.T) {
	cost := lto9()
	sizes := []int{30, 100, 1000, 4000}
	if testing.Short() {
		sizes = []int{100, 300}
	}
	for _, n := range sizes {
		s := requests(uint64(n), n)
		first := travel(0, s, asked(n), cost)
		linear := travel(0, s, Linear(s), cost)
		order := Order(0, s, cost)
		ours := travel(0, s, order, cost)
		t.Logf("%d requests: %.1f s each as asked, %.1f s linear, %.1f s ordered (%.3f)", n, first.Seconds()/float64(n),
			linear.Seconds()/float64(n), ours.Seconds()/float64(n), float64(ours)/float64(first))
		if n >= 100 && ours*3 > first {
			t.Errorf("%d requests: %s ordered, %s as asked", n, ours, first)
		}
		if ours > linear {
			t.Errorf("%d requests: %s ordered, %s linear", n, ours, linear)
		}
	}
}

// permutation fails if an order does not have each index once.
func permutation(t *testing.T, order []int, n int) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(order))
	if !slices.Equal(sorted, asked(n)) {
		t.Fatalf("%v is no order of %d", order, n)
	}
}

// cheapest tries all orders.
func cheapest(start uint64, s []Segment, left []int, cost Cost) time.Duration {
	best := time.Duration(-1)
	for i, one := range left {
		rest := slices.Delete(slices.Clone(left), i, i+1)
		d := cost(start, s[one].Begin) + cheapest(s[one].End, s, rest, cost)
		if best < 0 || d < best {
			best = d
		}
	}
	return max(best, 0)
}

// Few segments are in the best order, or nearly: within a tenth of it in the mean, and never worse than linear.
func TestFewAgainstAllOrders(t *testing.T) {
	cost := lto9()
	var ours, best time.Duration
	for seed := range uint64(60) {
		n := int(2 + seed%6)
		s := requests(seed, n)
		order := Order(1000, s, cost)
		permutation(t, order, n)
		o, b := travel(1000, s, order, cost), cheapest(1000, s, asked(n), cost)
		if o < b {
			t.Fatalf("seed %d: %s is better than all orders: %s", seed, o, b)
		}
		if o > travel(1000, s, Linear(s), cost) {
			t.Errorf("seed %d: worse than linear", seed)
		}
		ours, best = ours+o, best+b
	}
	t.Logf("%s, all orders %s", ours, best)
	if float64(ours) > 1.1*float64(best) {
		t.Errorf("%s, and the best orders take %s", ours, best)
	}
}

func TestEdges(t *testing.T) {
	straight := func(from, to uint64) time.Duration {
		if to < from {
			from, to = to, from
		}
		return time.Duration(to - from)
	}
	for name, one := range map[string]struct {
		start uint64
		s     []Segment
		want  []int
	}{
		"none":             {0, nil, []int{}},
		"one":              {9, []Segment{{5, 6}}, []int{0}},
		"ahead":            {0, []Segment{{7, 8}, {1, 2}, {4, 5}}, []int{1, 2, 0}},
		"from the far end": {100, []Segment{{10, 10}, {20, 20}, {90, 90}}, []int{2, 1, 0}},
		"equal ones":       {0, []Segment{{5, 5}, {5, 5}, {5, 5}}, []int{0, 1, 2}},
	} {
		if got := Order(one.start, one.s, straight); !slices.Equal(got, one.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	// A cost that is the same for all leaves the linear order.
	flat := func(uint64, uint64) time.Duration { return 1 }
	s := requests(1, 50)
	permutation(t, Order(0, s, flat), 50)
}

func TestManySegmentsAreCut(t *testing.T) {
	const n = 2*chunkMax + 1
	s := requests(7, n)
	for i := range s {
		s[i].End = s[i].Begin // reading takes the tape nowhere, so that it can go backwards at no cost
	}
	near := func(from, to uint64) time.Duration { return time.Duration(max(from, to) - min(from, to)) }
	if testing.Short() {
		t.Skip("the greedy order of 8,001 segments takes a second")
	}
	order := Order(1<<60, s, near)
	permutation(t, order, n)
	// The first chunk lies before the second one on tape.
	third := n / 3
	last := uint64(0)
	for _, i := range order[:third] {
		last = max(last, s[i].Begin)
	}
	for _, i := range order[third:] {
		if s[i].Begin < last {
			t.Fatal("chunks are mixed")
		}
	}
	// The tape comes from behind all of them, goes through the first chunk backwards, and on from where that ends.
	if s[order[0]].Begin != last || s[order[third]].Begin > s[order[third+1]].Begin {
		t.Error("the second chunk does not begin where the first one ends")
	}
}

// The same input gives the same order.
func TestDeterministic(t *testing.T) {
	cost, s := lto9(), requests(3, 300)
	if !slices.Equal(Order(5, s, cost), Order(5, s, cost)) {
		t.Error("two orders of the same segments")
	}
}

func BenchmarkOrder(b *testing.B) {
	cost := lto9()
	for _, n := range []int{100, 1000, 4000} {
		s := requests(1, n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				Order(0, s, cost)
			}
		})
	}
}

// travel returns how long the locates of an order take; reading is not in it.
func travel(start uint64, segments []Segment, order []int, cost Cost) (total time.Duration) {
	for _, i := range order {
		total += cost(start, segments[i].Begin)
		start = segments[i].End
	}
	return total
}
