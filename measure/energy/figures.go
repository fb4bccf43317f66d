package energy

import (
	"maps"
	"slices"

	"hemera/measure/result"
)

// figures returns the plots of the level: power over time, efficiency over clients, the energy-delay product and capacity
// per watt.
func figures(done []work) []result.Figure {
	all := []result.Figure{{ID: "energy-power", Title: "Power", Kind: result.Course, Names: []string{nameMeter}, Group: []string{"meter"},
		Caption: "Power over the time of the run, from the idle time at its begin. Nothing is subtracted."}}
	// Each level has its own work and conditions.
	for _, level := range levelsOf(done) {
		x, group := axis(done, level)
		if x == "" {
			continue
		}
		// Lines need numbers.
		kind, unit := result.Bars, nameOperations
		if x == "clients" || x == "streams" {
			kind = result.Lines
		}
		if slices.ContainsFunc(done, func(w work) bool { return w.labels["level"] == level && w.unit == "B" }) {
			unit = nameEfficiency
		}
		where := result.Labels{"level": level}
		all = append(all,
			result.Figure{ID: "energy-efficiency-" + level, Title: "Work for a joule, " + level, Kind: kind, Names: []string{unit}, Where: where, X: x, Group: group,
				Caption: "More is better. It equals the throughput for a watt."},
			result.Figure{ID: "energy-delay-" + level, Title: "Energy-delay product, " + level, Kind: result.Bars, Names: []string{nameNormalised}, Where: where, X: x, Group: group,
				Caption: "For the same amount of work, divided by the lowest of the same kind of work: 1 is the best, less is better."})
	}
	return append(all, result.Figure{ID: "energy-capacity", Title: "Capacity for a watt", Kind: result.Bars, Names: []string{nameCapacity}, X: "state",
		Caption: "Capacity divided by the idle power. More is better."})
}

// levelsOf returns the levels with work, in their order.
func levelsOf(done []work) []string {
	var names []string
	for _, w := range done {
		if !slices.Contains(names, w.labels["level"]) {
			names = append(names, w.labels["level"])
		}
	}
	return names
}

// axis returns the label of a plot's axis and the labels that distinguish its lines. The axis is the number of clients if
// it is a condition, otherwise the kind of work. Each other condition makes a line of its own, so that each point is one
// measure.
func axis(done []work, level string) (x string, group []string) {
	keys := map[string]bool{}
	for _, w := range done {
		if w.labels["level"] == level {
			for k := range w.labels {
				keys[k] = true
			}
		}
	}
	delete(keys, "level")
	for _, k := range append([]string{"clients", "streams", "load", "phase"}, slices.Sorted(maps.Keys(keys))...) {
		if keys[k] {
			delete(keys, k)
			return k, slices.Sorted(maps.Keys(keys))
		}
	}
	return "", nil
}
