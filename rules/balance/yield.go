package balance

import (
	"time"

	"hemera/words/hemera"
)

// YieldMost is how long balancing gives way to writes: a space that is written to all the time is balanced all the same.
const YieldMost = time.Hour

// nearlyFull is the filling of a volume from which balancing does not give way: writes are about to fail there.
const nearlyFull = 0.9

// Yields reports whether balancing gives way to the writes under way, and on how many of how many disks they are. It does while
// a quarter of the disks or more are written to: a move takes two disks at their speed, and what is written next would
// meet it. How long it has given way already is the caller's to compare with [YieldMost].
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
