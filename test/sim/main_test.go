package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage more seldom than usual: simulations make much of it and live shortly. A dead cluster takes several
// collections to go, as finalizers hold parts of it. At 400 percent those come so late that the heap grows with each seed,
// to 24 GB in 2,000; at 200 it stays below 500 MB.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	os.Exit(m.Run())
}
