package timing

import (
	"math"
	"time"
)

// Geometry is the layout of a tape. Wraps are written one behind the other, even ones from the beginning of the tape to its end, odd ones back; wraps
// of a band lie side by side. LPOS counts along the tape from its beginning, about 5.7 mm a unit.
type Geometry struct {
	Wraps, Bands     int
	LPOSMin, LPOSMax int64
	Bytes            int64 // that fill all wraps, each wrap with an equal share
}

// Place is a place on tape.
type Place struct {
	Wrap int
	LPOS int64
}

// The cost of a locate, fitted to drives of generation 8 by CERN for its own ordering of recalls (CTA, CTACostHeuristic), in seconds.
// The last one is for a unit of LPOS: the tape winds from end to end in 104 s.
const (
	costStart     = 4.29
	costWrap      = 6.69  // another wrap
	costBand      = 3.2   // another band
	costHalf      = -6.04 // the place is in the other half of the tape: the drive winds at full speed
	costDirection = 5.22  // the other direction of writing
	costBack      = 11.32 // back on the same wrap: the tape stops, winds back past the place, and starts again
	costUnit      = 0.0006192
)

// geometry returns the geometry of a tape of the number of wraps in four bands; its first LPOS is the same for all kinds.
func geometry(wraps int, lposMax, bytes int64) Geometry {
	return Geometry{Wraps: wraps, Bands: 4, LPOSMin: 2696, LPOSMax: lposMax, Bytes: bytes}
}

// Place returns where the byte at this offset is written. Offsets outside of the tape are taken for its ends.
// Callers that know block ids only multiply them by the size of a block.
func (g Geometry) Place(offset int64) Place {
	if g.Wraps < 1 || g.Bytes < 1 {
		return Place{LPOS: g.LPOSMin}
	}
	offset = min(max(offset, 0), g.Bytes-1)
	// Floating point, because bytes times wraps may not fit 64 bits for a made-up cartridge.
	wraps := float64(offset) / float64(g.Bytes) * float64(g.Wraps)
	wrap := min(int(wraps), g.Wraps-1)
	along := int64((wraps - float64(wrap)) * float64(g.LPOSMax-g.LPOSMin))
	along = min(max(along, 0), g.LPOSMax-g.LPOSMin)
	if wrap%2 == 1 { // back
		return Place{wrap, g.LPOSMax - along}
	}
	return Place{wrap, g.LPOSMin + along}
}

// band returns the band of a wrap. Bands are written one behind the other.
func (g Geometry) band(wrap int) int {
	return wrap * g.Bands / max(g.Wraps, 1)
}

// Locate returns how long a drive takes from one place to another; 0 if it is there already. It is never less than winding the distance
// takes. Between different wraps it is the same in both directions; on one wrap the way ahead is shorter than the way back.
func (g Geometry) Locate(from, to Place) time.Duration {
	if from == to {
		return 0
	}
	distance := math.Abs(float64(to.LPOS - from.LPOS))
	cost := costStart
	switch {
	case from.Wrap != to.Wrap:
		cost += costWrap
		if g.band(from.Wrap) != g.band(to.Wrap) {
			cost += costBand
		}
		if from.Wrap%2 != to.Wrap%2 {
			cost += costDirection
		}
	case (to.LPOS < from.LPOS) == (from.Wrap%2 == 0):
		cost += costBack
	}
	middle := g.LPOSMin + (g.LPOSMax-g.LPOSMin)/2
	if (from.LPOS < middle) != (to.LPOS < middle) {
		cost += costHalf
	}
	return seconds(max(cost, 0) + costUnit*distance)
}

// Rewound returns how long a REWIND takes from a place.
func (g Geometry) Rewound(from Place) time.Duration {
	return g.Locate(from, Place{LPOS: g.LPOSMin})
}

// Unloading returns how long an unload takes after this many bytes were moved since the load, the rewind within it included.
func (m Media) Unloading(moved int64) time.Duration {
	switch {
	case moved < 5000*mb:
		return m.Unload + m.Rewind.Short
	case moved < 50_000*mb:
		return m.Unload + m.Rewind.Medium
	}
	return m.Unload + m.Rewind.Long
}

// seconds makes a duration.
func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second))
}
