package mounting

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// heads makes users with jobs of the given sizes.
func heads(sizes ...[]int64) (list []Head) {
	for i, s := range sizes {
		h := Head{UID: uint32(100 + i)}
		for _, n := range s {
			h.Jobs = append(h.Jobs, Job{Bytes: n})
		}
		list = append(list, h)
	}
	return list
}

func TestNextJobs(t *testing.T) {
	all := Batch{Files: 100, Bytes: 1 << 40}
	for _, one := range []struct {
		name  string
		heads []Head
		batch Batch
		want  []Pick
	}{
		{"nobody", nil, all, nil},
		{"one user in order", heads([]int64{5, 1, 3}), all, []Pick{{0, 0}, {0, 1}, {0, 2}}},
		{"in turn", heads([]int64{1, 1}, []int64{1, 1}), all, []Pick{{0, 0}, {1, 0}, {0, 1}, {1, 1}}},
		{"by bytes", heads([]int64{10, 10}, []int64{4, 4, 4, 4}), all, []Pick{{0, 0}, {1, 0}, {1, 1}, {1, 2}, {0, 1}, {1, 3}}},
		{"so many files", heads([]int64{1, 1}, []int64{1, 1}), Batch{Files: 3, Bytes: 100}, []Pick{{0, 0}, {1, 0}, {0, 1}}},
		{"so many bytes", heads([]int64{6, 6}, []int64{3, 6}), Batch{Files: 9, Bytes: 10}, []Pick{{0, 0}, {1, 0}}},
		{"one that is too large goes alone", heads([]int64{60}, []int64{3}), Batch{Files: 9, Bytes: 10}, []Pick{{0, 0}}},
		{"priority first", []Head{{1, []Job{{1, 0}, {1, 0}}}, {2, []Job{{1, 5}, {1, 0}}}}, all, []Pick{{1, 0}, {0, 0}, {0, 1}, {1, 1}}},
	} {
		got, _ := NextJobs(nil, one.heads, one.batch)
		if diff := cmp.Diff(one.want, got); diff != "" {
			t.Errorf("%s: %s", one.name, diff)
		}
	}
}

func TestNextJobsRemembersWhoWasServed(t *testing.T) {
	// One user has much more, and batches are small.
	both := heads([]int64{10, 10, 10}, []int64{10, 10, 10})
	var served map[uint32]int64
	var got []int
	for range 6 {
		var picks []Pick
		picks, served = NextJobs(served, both, Batch{Files: 1, Bytes: 100})
		got = append(got, picks[0].Head)
	}
	if diff := cmp.Diff([]int{0, 1, 0, 1, 0, 1}, got); diff != "" {
		t.Error(diff)
	}
	// A user who comes later has no claim to what others got before.
	_, served = NextJobs(map[uint32]int64{100: 1000, 101: 1010}, heads([]int64{1}, []int64{1}, []int64{1}), Batch{})
	if diff := cmp.Diff(map[uint32]int64{100: 0, 101: 10, 102: 0}, served); diff != "" {
		t.Error(diff)
	}
	// Users without jobs are forgotten.
	if _, served = NextJobs(served, heads([]int64{1}), Batch{}); len(served) != 1 {
		t.Error(served)
	}
}

// Between users who always have jobs of equal priority, what they were served differs by one job at most.
func TestNextJobsIsFair(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		const users, fileCost, largest = 5, 50, 1000
		var list []Head
		for u := range uint32(users) {
			h := Head{UID: u}
			for range 400 {
				h.Jobs = append(h.Jobs, Job{Bytes: r.Int64N(largest/int64(1+u)) + 1}) // some have small files only
			}
			list = append(list, h)
		}
		var total [users]int64
		var served map[uint32]int64
		for range 20 {
			var picks []Pick
			picks, served = NextJobs(served, list, Batch{Files: 1 + r.IntN(10), Bytes: r.Int64N(5000), FileCost: fileCost})
			if len(picks) == 0 {
				t.Fatal("nothing was picked")
			}
			var done [users]int
			for _, p := range picks {
				if p.Job != done[p.Head] {
					t.Fatalf("seed %d: job %d of user %d, not %d", seed, p.Job, p.Head, done[p.Head])
				}
				done[p.Head]++
				total[p.Head] += list[p.Head].Jobs[p.Job].Bytes + fileCost
			}
			for u := range list {
				list[u].Jobs = list[u].Jobs[done[u]:]
			}
			least, most := total[0], total[0]
			for _, n := range total {
				least, most = min(least, n), max(most, n)
			}
			if most-least > largest+fileCost {
				t.Fatalf("seed %d: users were served %v", seed, total)
			}
		}
	}
}
