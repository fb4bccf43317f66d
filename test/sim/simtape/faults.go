package simtape

import (
	"math/rand/v2"

	"hemera/tape/device/emulated"
)

// Faults draws what goes wrong with devices for a while: each fault hits some operations of a kind, somewhere among the next ones.
// All of them pass. A cartridge keeps no damage: what was flushed must be readable in the end.
func Faults(r *rand.Rand) (p emulated.Plan) {
	// Few, and each of them for a few operations: a library that never works proves nothing.
	for range 1 + r.IntN(3) {
		f := emulated.Fault{
			Op:    []string{"read", "write", "mark", "flush", "locate", "load", "unload", "move"}[r.IntN(8)],
			After: r.IntN(30), Count: 1 + r.IntN(3),
			Fail: []string{"hardware", "not-ready", "medium", "power", "end", ""}[r.IntN(6)],
		}
		// A device that stands still for up to a minute before it goes on.
		if f.Fail == "" {
			f.Seconds = float64(r.IntN(600))
		}
		p.Faults = append(p.Faults, f)
	}
	return p
}
