package replkv_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hemera/test/fixture/etcd"
)

// managers starts three managers in processes of their own, on one disk, with a journal, and returns them with the one that leads.
func managers(b testing.TB, heartbeat time.Duration) (all []*process, leader *process) {
	b.Helper()
	for _, o := range etcd.Options(b, 3) {
		o.Heartbeat, o.Election = heartbeat, 10*heartbeat
		all = append(all, startProcess(b, o))
	}
	leader = leaderOf(b, all)
	leader.ask(b, "create")
	return all, leader
}

// leaderOf waits for a leader among managers that obey.
func leaderOf(b testing.TB, all []*process) *process {
	b.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		for _, p := range all {
			if p.ask(b, "leads") == "ok true" {
				return p
			}
		}
	}
	b.Fatal("no member leads")
	return nil
}

// BenchmarkAgainstPebble compares the commits of three managers on one disk with those of Pebble alone, through kv. Each iteration is a round of all rows, so
// that all sides meet the same machine: go test -run - -bench AgainstPebble -benchtime 10x ./platform/kv/replkv. TMPDIR chooses the disk. The journal alone is
// what etcd makes of the same bytes, in a journal beside, which no store applies.
func BenchmarkAgainstPebble(b *testing.B) {
	_, leader := managers(b, 50*time.Millisecond)
	alone := pebble(b, filepath.Join(b.TempDir(), "db"), false)
	defer alone.Close()
	w, err := alone.Acquire(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	leader.ask(b, "acquire")
	names := []string{"one", "batch", "batches", "large"}
	rates := make(map[string][]float64)
	note := func(row string, n int) { rates[row] = append(rates[row], float64(n)/loadTime.Seconds()) }
	answered := func(line string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(line, "ok "))
		if err != nil {
			b.Fatal(line)
		}
		return n
	}
	for b.Loop() {
		for _, name := range names {
			n, err := loads[name].run(w, loadTime)
			if err != nil {
				b.Fatal(err)
			}
			note(name+" alone", n)
			note(name+" replicated", answered(leader.ask(b, "load "+name)))
			note(name+" journal", answered(leader.ask(b, "journal "+name)))
		}
		leader.ask(b, "trim")
	}
	for _, name := range names {
		replicated, journal := ratios(rates[name+" replicated"], rates[name+" alone"]), ratios(rates[name+" journal"], rates[name+" alone"])
		b.Logf("%-8s Pebble %6.0f/s, replicated %6.0f/s, journal %6.0f/s; ratio to Pebble in the same round: replicated %.2f (%.2f to %.2f), journal %.2f", name,
			median(rates[name+" alone"]), median(rates[name+" replicated"]), median(rates[name+" journal"]),
			median(replicated), slices.Min(replicated), slices.Max(replicated), median(journal))
		b.ReportMetric(median(replicated), name+"-ratio")
	}
}

// ratios returns those of neighbouring measurements.
func ratios(of, to []float64) (all []float64) {
	for i := range of {
		all = append(all, of[i]/max(to[i], 1))
	}
	return all
}

// median returns the one in the middle.
func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// BenchmarkFailover kills the process of the manager that writes, and measures the time to the first change that the next one acknowledges. Each iteration
// is a kill: go test -run - -bench Failover -benchtime 8x ./platform/kv/replkv.
func BenchmarkFailover(b *testing.B) {
	for _, heartbeat := range []time.Duration{50 * time.Millisecond, 20 * time.Millisecond} {
		b.Run(fmt.Sprint(heartbeat), func(b *testing.B) { failover(b, heartbeat) })
	}
}

func failover(b *testing.B, heartbeat time.Duration) {
	all, _ := managers(b, heartbeat)
	for _, p := range all {
		p.ask(b, "auto")
	}
	var times []float64
	writer, _ := firstOf(b, all, nil)
	for b.Loop() {
		b.StopTimer()
		time.Sleep(time.Second) // under load
		dead := all[writer]
		killed := time.Now()
		dead.kill()
		acknowledged := drained(dead)
		next, first := firstOf(b, all, dead)
		took := time.Unix(0, first.at).Sub(killed)
		if first.seq <= acknowledged {
			b.Errorf("%d was acknowledged, and the next writer begins with %d", acknowledged, first.seq)
		}
		times = append(times, took.Seconds())
		all[writer] = startProcess(b, dead.options)
		all[writer].ask(b, "auto")
		writer = next
		b.StartTimer()
	}
	b.Logf("heartbeat %v: median %.2f s, %.2f to %.2f s, %d kills", heartbeat, median(times), slices.Min(times), slices.Max(times), len(times))
	b.ReportMetric(median(times), "s/failover")
}

// first is the first change of a writer.
type first struct {
	at  int64
	seq uint64
}

// firstOf waits until a manager other than a dead one begins to write, and returns which one.
func firstOf(b testing.TB, all []*process, dead *process) (int, first) {
	b.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for i, p := range all {
			if p == dead {
				continue
			}
			for len(p.out) > 0 {
				var f first
				if n, _ := fmt.Sscanf(<-p.out, "first %d %d", &f.at, &f.seq); n == 2 {
					return i, f
				}
			}
		}
	}
	b.Fatal("nobody writes")
	return 0, first{}
}

// drained returns the last number that a dead manager acknowledged.
func drained(dead *process) (last uint64) {
	for line := range dead.out {
		var seq uint64
		if n, _ := fmt.Sscanf(line, "acknowledged %d", &seq); n == 1 {
			last = seq
		}
	}
	return last
}
