package balance

import (
	"math"
)

// Plan lists the bytes that the volumes of a space have to move.
type Plan struct {
	// Busy reports whether there is something to move. The caller passes it to the next [Step].
	Busy bool
	// Above reports whether a volume is further from the mean than the threshold. If not, moves only continue until all
	// volumes are within half of it.
	Above bool
	Mean  float64 // filling of the space
	// Most is the index of the volume that is furthest from the mean, -1 without volumes. Off is its distance from the
	// mean.
	Off  float64
	Most int
	// Gives and Takes have the bytes that each volume is to give or take, by its index. They are nil while not Busy.
	Gives, Takes []int64
	Left         int64 // bytes that can be moved: the smaller of both sums
}

// Step plans the moves of a space. busy is Plan.Busy of the plan before. threshold, above 0, is the share by which a
// volume may differ from the mean.
func Step(volumes []Volume, threshold float64, busy bool) Plan {
	p := Plan{Most: -1}
	var used, capacity float64
	for _, v := range volumes {
		used, capacity = used+float64(v.Used), capacity+float64(v.Capacity)
	}
	if capacity <= 0 {
		return p
	}
	p.Mean = used / capacity
	gives, takes := make([]int64, len(volumes)), make([]int64, len(volumes))
	var giving, taking int64
	for i, v := range volumes {
		surplus := v.Used - int64(p.Mean*float64(v.Capacity))
		switch {
		case surplus > 0 && v.Gives:
			gives[i] = min(surplus, v.Own)
		case surplus < 0 && v.Takes:
			takes[i] = min(-surplus, v.Capacity-v.Used)
		}
		// A volume that can neither give nor take does not start balancing.
		if gives[i]+takes[i] <= 0 {
			continue
		}
		giving, taking = plus(giving, gives[i]), plus(taking, takes[i])
		if off := math.Abs(v.Filling() - p.Mean); off > p.Off {
			p.Off, p.Most = off, i
		}
	}
	p.Left = min(giving, taking)
	p.Above = p.Off > threshold
	if busy {
		threshold /= 2
	}
	if p.Off <= threshold || p.Left <= 0 {
		p.Left = 0
		return p
	}
	p.Busy, p.Gives, p.Takes = true, gives, takes
	return p
}

// plus adds two numbers and stops at the largest int64. Nodes report the capacities, so the sum may overflow.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
