package balance

import (
	"time"

	"hemera/words/hemera"
)

// YieldMost is the longest time that balancing gives way to writes: a space with writes at all times is balanced all the
// same.
const YieldMost = time.Hour

// nearlyFull is the filling of a volume from which balancing does not give way: writes are about to fail there.
const nearlyFull = 0.9

// Yields reports whether balancing gives way to the writes under way, and counts the disks with writes and all disks. It
// gives way while at least a quarter of the disks are written to: a move occupies two disks at their full speed, and the
// next writes would meet it. The caller compares the time that it gave way already with [YieldMost].
func Yields(volumes []Volume, writers func(hemera.DiskID) int) (written, disks int, yields bool) {
	full := false
	for _, v := range volumes {
		full = full || v.Filling() >= nearlyFull
		for _, id := range v.Disks {
			disks++
			if writers(id) > 0 {
				written++
			}
		}
	}
	return written, disks, written > 0 && 4*written >= disks && !full
}
