package balance

import (
	"math"
)

// Plan is what a space has to move.
type Plan struct {
	// Busy: there is something to move. It is handed to the next [Step].
	Busy bool
	// Above: a volume is further from the mean than the threshold. Without it, what is left is only to be safe from starting again.
	Above bool
	Mean  float64 // filling of the space
	// Off is how far the volume that is furthest from the mean is from it, and Most which one that is; -1 without volumes.
	Off  float64
	Most int
	// Gives and Takes are the bytes that each volume is to give or take, by its index; nil while not busy.
	Gives, Takes []int64
	Left         int64 // bytes that can be moved: the smaller of both sums
}

// Step plans the moves of a space. busy is whether the plan before was, and threshold the share by which a volume may
// differ from the mean, above 0.
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
		// Only what can be helped starts anything.
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

// plus adds and stays at the greatest number where there is no greater one: capacities are what nodes say.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
