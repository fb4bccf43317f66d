package stats

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hemera/measure/result"
)

// Key identifies a measure in a run: two runs measured the same thing under the same conditions if their keys are equal.
type Key struct {
	Level  string
	Name   string
	Labels string // key=value, sorted, separated by blanks
}

// KeyOf returns the key of a measure of a level.
func KeyOf(level string, m result.Measure) Key { return Key{level, m.Name, Conditions(m.Labels)} }

// Conditions returns labels as one text, in the order of their keys, so that the same conditions have the same text in
// every run.
func Conditions(labels result.Labels) string {
	parts := make([]string, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+"="+labels[k])
	}
	return strings.Join(parts, " ")
}

// First returns the value of the first of the keys that the labels have, or "".
func First(labels result.Labels, keys ...string) string {
	for _, k := range keys {
		if v, ok := labels[k]; ok {
			return v
		}
	}
	return ""
}

// disturbance is the fraction of a machine's processors from which other work changes results by more than noise.
const disturbance = 0.1

// Disturbed reports whether the machine of a run had other work. A run without the information counts as undisturbed.
func Disturbed(r *result.Run) bool {
	return r.Others != nil && max(r.Others.Before, r.Others.Steal) > disturbance
}

// Pair is a measure of two runs.
type Pair struct {
	Key
	Unit string
	Comparison
}

// CompareRuns compares all measures of both runs, in the order of a, and returns the keys that only one of them has.
// Measures with different units are different quantities. If a machine had other work, a difference becomes Unknown.
func CompareRuns(a, b *result.Run, confidence float64) (pairs []Pair, onlyA, onlyB []Key) {
	theirs := map[Key]result.Measure{}
	for _, l := range b.Levels {
		for _, m := range l.Measures {
			theirs[KeyOf(l.Name, m)] = m
		}
	}
	met := map[Key]bool{}
	for _, l := range a.Levels {
		for _, m := range l.Measures {
			key := KeyOf(l.Name, m)
			other, ok := theirs[key]
			if !ok || other.Unit != m.Unit {
				onlyA = append(onlyA, key)
				continue
			}
			met[key] = true
			pair := Pair{key, m.Unit, Compare(m, other, confidence)}
			if pair.Verdict == Difference && (Disturbed(a) || Disturbed(b)) {
				pair.Verdict, pair.Better, pair.Basis = Unknown, "", "the machine had other work"
			}
			pairs = append(pairs, pair)
		}
	}
	// In the order of b, because a map has none.
	for _, l := range b.Levels {
		for _, m := range l.Measures {
			if key := KeyOf(l.Name, m); !met[key] {
				onlyB = append(onlyB, key)
			}
		}
	}
	return pairs, onlyA, onlyB
}

// Overall returns a sentence about all comparisons of two runs, for people: how many measures are better, worse, the same
// within their noise, and not comparable, with the most frequent reason.
func Overall(pairs []Pair) string {
	if len(pairs) == 0 {
		return "not comparable: the runs have no measure in common"
	}
	var better, worse, other, same, unknown int
	reasons := map[string]int{}
	for _, p := range pairs {
		switch {
		case p.Verdict == Unknown:
			unknown++
			reasons[p.Basis]++
		case p.Verdict == Noise:
			same++
		case p.Better == "B":
			better++
		case p.Better == "A":
			worse++
		default:
			other++
		}
	}
	parts := []string{fmt.Sprintf("of %d measures %d are better, %d worse, %d the same within their noise", len(pairs), better, worse, same)}
	if other > 0 {
		parts = append(parts, fmt.Sprintf("%d differ and are neither", other))
	}
	if unknown > 0 {
		most := slices.MinFunc(slices.Sorted(maps.Keys(reasons)), func(a, b string) int { return cmp.Compare(reasons[b], reasons[a]) })
		parts = append(parts, fmt.Sprintf("%d are not comparable (%s)", unknown, most))
	}
	return strings.Join(parts, "; ")
}
