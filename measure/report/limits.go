package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"hemera/measure/result"
	"hemera/measure/stats"
)

// limit is the fraction of the hardware's theoretical rate that a run reached with one load, under its best conditions.
type limit struct {
	Run     string // its title
	Colour  string // the class of its colour
	Level   string
	What    string // the quantity, and the conditions that are not a ramp
	At      string // the conditions of the best value that other values of the load do not have
	Value   string // the mean, with its unit
	Peak    string
	From    string // derivation of the peak
	Percent string
	Width   float64 // of the bar, in percent
	share   float64 // of the peak; not bounded, because a measured peak can be exceeded
}

// limits returns the highest fractions of the peak, for each run, level and load. The lowest come first: there the
// hardware has most left.
func limits(runs []*result.Run) (all []limit) {
	// A run beside published ones is sorted among them, for comparison.
	for i, r := range runs {
		for _, l := range r.Levels {
			best := map[string]limit{}
			ramps := ramps(l)
			for _, m := range l.Measures {
				if m.Peak <= 0 || len(m.Samples) == 0 {
					continue
				}
				// The mean and not the best sample, because one good iteration is no rate.
				mean := stats.Of(m).Mean
				share := shareOf(m)
				fixed, ramp := split(m.Labels, ramps)
				what := strings.TrimSpace(m.Name + " " + stats.Conditions(fixed))
				one := limit{Run: title(r), Colour: paint(i).name(), Level: l.Name, What: what, At: stats.Conditions(ramp), Value: stats.Quantity(mean, 0, m.Unit),
					Peak: stats.Quantity(m.Peak, m.PeakSD, m.Unit), From: m.PeakFrom, Percent: share, Width: 100 * min(1, mean/m.Peak), share: mean / m.Peak}
				if have, ok := best[what]; !ok || one.share > have.share {
					best[what] = one
				}
			}
			for _, what := range slices.Sorted(maps.Keys(best)) {
				all = append(all, best[what])
			}
		}
	}
	// Equal fractions stay in the order of the runs.
	slices.SortStableFunc(all, func(a, b limit) int { return cmp.Compare(a.share, b.share) })
	return all
}

// ramps returns the labels on the axes of the level's lines, such as the number of clients. A ramp is represented by its
// best value.
func ramps(l result.Level) map[string]bool {
	keys := map[string]bool{}
	for _, f := range l.Figures {
		if f.Kind == result.Lines && f.X != "" {
			keys[f.X] = true
		}
	}
	return keys
}

// split separates the labels of a ramp from others. Both results are new maps.
func split(labels result.Labels, ramps map[string]bool) (fixed, ramp result.Labels) {
	fixed, ramp = result.Labels{}, result.Labels{}
	for k, v := range labels {
		if ramps[k] {
			ramp[k] = v
		} else {
			fixed[k] = v
		}
	}
	return fixed, ramp
}
