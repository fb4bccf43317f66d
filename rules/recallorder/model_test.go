package recallorder

import (
	"math"
	"time"
)

// lto9 is the cost of a locate on LTO-9: 280 wraps in 4 bands, 184,253 units of LPOS (scaled from generation 7 M by the length of the tape), and the times that CERN
// fitted to drives of generation 8 for its own ordering of recalls (CTA, CTACostHeuristic).
func lto9() Cost {
	const wraps, bands, units, bytes = 280, 4, 184_253.0, 18e12
	type place struct {
		wrap int
		lpos float64
	}
	at := func(object uint64) place {
		w, along := math.Modf(min(float64(object)*block/bytes, 1-1e-12) * wraps)
		if int(w)%2 == 1 {
			along = 1 - along
		}
		return place{int(w), along * units}
	}
	return func(from, to uint64) time.Duration {
		if from == to {
			return 0
		}
		a, b := at(from), at(to)
		seconds := 4.29
		if a.wrap != b.wrap {
			seconds += 6.69
		}
		if a.wrap*bands/wraps != b.wrap*bands/wraps {
			seconds += 3.2
		}
		if a.wrap%2 != b.wrap%2 {
			seconds += 5.22
		}
		if a.wrap == b.wrap && (b.lpos < a.lpos) == (a.wrap%2 == 0) {
			seconds += 11.32
		}
		if (a.lpos < units/2) != (b.lpos < units/2) {
			seconds -= 6.04
		}
		seconds = max(seconds, 0) + 0.0006192*math.Abs(a.lpos-b.lpos)
		return time.Duration(seconds * float64(time.Second))
	}
}
