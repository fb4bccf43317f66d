package simkv

import (
	"math/rand/v2"
	"testing"

	"hemera/platform/kv"
	"hemera/platform/kv/kvtest"
)

// TestKV holds the manager's store of the simulator to what every engine must do.
func TestKV(t *testing.T) {
	kvtest.Run(t, func(*testing.T) kv.Store {
		return New().Open(rand.New(rand.NewPCG(1, 2)))
	})
}
