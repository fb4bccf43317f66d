package crash

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestKilledUnderLoad kills one process after the other while clients work. HEMERA_CRASH_TIME is for
// how long (20s if it is not set), HEMERA_CRASH_SEED repeats the choices of a run.
func TestKilledUnderLoad(t *testing.T) {
	c := newCluster(t)
	length, seed := 20*time.Second, uint64(time.Now().UnixNano())
	if text := os.Getenv("HEMERA_CRASH_TIME"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv("HEMERA_CRASH_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HEMERA_CRASH_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	const count = 4
	var workers []*worker
	var working sync.WaitGroup
	for i := range count {
		w := newWorker(c, i+1, seed)
		workers = append(workers, w)
		working.Go(func() { w.run(ctx) })
	}
	kills := 0
	for pause(ctx, rng, 2*time.Second) {
		victim := c.Servers()[rng.IntN(1+nodes)]
		victim.Kill()
		kills++
		pause(ctx, rng, 2*time.Second)
		victim.Start()
		if rng.IntN(2) == 0 {
			c.AwaitOnline(nodes)
		}
	}
	working.Wait()
	c.AwaitOnline(nodes)
	acked, failed := 0, 0
	for _, w := range workers {
		w.settle()
		acked, failed = acked+w.acked, failed+w.failed
	}
	t.Logf("%d kills, %d writes acknowledged, %d not", kills, acked, failed)
	if acked == 0 {
		t.Error("no write was acknowledged: nothing was proved")
	}
	if t.Failed() {
		c.Logs()
	}
}

// pause waits up to some time; it reports whether the context still runs.
func pause(ctx context.Context, rng *rand.Rand, most time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(rng.Int64N(int64(most)))):
	}
	return ctx.Err() == nil
}
