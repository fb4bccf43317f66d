package sim

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"hemera/test/fixture/effort"
)

// seeds says which seeds to run: one by HEMERA_SIM_SEED, else as many as HEMERA_SIM_SEEDS says, from
// HEMERA_SIM_FIRST on.
func seeds(t *testing.T) (first, n uint64) {
	number := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		v, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return v
	}
	if one := number("HEMERA_SIM_SEED", 0); one != 0 {
		return one, 1
	}
	return number("HEMERA_SIM_FIRST", 1), number("HEMERA_SIM_SEEDS", effort.Of[uint64](100, 20))
}

// stateDir returns a directory in memory where there is one.
func stateDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "hemera-sim")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func simulate(t *testing.T, o Options) (r Report) {
	o.Dir = stateDir(t)
	synctest.Test(t, func(*testing.T) { r = Run(o) })
	return r
}

// traceShown is the number of lines of a failed simulation that are printed; HEMERA_SIM_TRACE names a file for all of
// them.
const traceShown = 80

func show(t *testing.T, seed uint64, r Report) {
	t.Helper()
	if path := os.Getenv("HEMERA_SIM_TRACE"); path != "" {
		if err := os.WriteFile(path, []byte(strings.Join(r.Trace, "\n")+"\n"), 0o600); err != nil {
			t.Log(err)
		}
	}
	if len(r.Failures) == 0 {
		return
	}
	t.Errorf("seed %d:\n  %s\nreplay: HEMERA_SIM_SEED=%d HEMERA_SIM_TRACE=trace.txt go test -count=1 -run 'TestSeeds' ./test/sim/\nthe end of the trace:\n%s",
		seed, strings.Join(r.Failures, "\n  "), seed, strings.Join(r.Trace[max(0, len(r.Trace)-traceShown):], "\n"))
}

func TestSeeds(t *testing.T) {
	first, n := seeds(t)
	var idle, taped, untaped atomic.Uint64
	t.Cleanup(func() { // when all have ended
		if few := 1 + n/100; idle.Load() > few {
			t.Errorf("in %d of %d simulations no write was acknowledged: they prove nothing", idle.Load(), n)
		}
		if few := 1 + taped.Load()/20; untaped.Load() > few {
			t.Errorf("in %d of %d simulations with tape nothing was on tape at the end", untaped.Load(), taped.Load())
		}
	})
	for i := range n {
		seed := first + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := simulate(t, Options{Seed: seed})
			show(t, seed, r)
			if r.Acknowledged == 0 { // a short one, with a manager that was away most of the time
				idle.Add(1)
			}
			if r.Taped >= 0 {
				taped.Add(1)
			}
			if r.Taped == 0 {
				untaped.Add(1)
			}
		})
	}
}
