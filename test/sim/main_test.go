package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage seldom: simulations make much of it and live shortly.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
