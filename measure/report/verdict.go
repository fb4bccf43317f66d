package report

import (
	"fmt"
	"strings"

	"hemera/measure/result"
	"hemera/measure/stats"
)

// differencesMax bounds the differences in the head of a page; the tables have all.
const differencesMax = 20

// comparison compares a run with the first one, which is the base.
type comparison struct {
	of      map[stats.Key]stats.Pair
	Overall string // empty for the base, and for published results
	Differ  []difference
	More    int // differences that are not listed
}

// difference is a measure with the verdict difference.
type difference struct {
	What, Ratio, Verdict string
	Worse, Better        bool
}

// comparisons has the comparison of each run with the first one, in their order; that of the base is empty.
type comparisons []comparison

// compare compares all runs with the first one.
func compare(runs []*result.Run, confidence float64) (all comparisons) {
	for i, r := range runs {
		c := comparison{of: map[stats.Key]stats.Pair{}}
		if i > 0 {
			pairs, _, _ := stats.CompareRuns(runs[0], r, confidence)
			c.take(pairs, r.Source != "" || runs[0].Source != "")
		}
		all = append(all, c)
	}
	return all
}

// take adds the pairs of a run. Published results have no overall verdict, because they are of other machines.
func (c *comparison) take(pairs []stats.Pair, published bool) {
	for _, p := range pairs {
		c.of[p.Key] = p
		if p.Verdict != stats.Difference || published {
			continue
		}
		if len(c.Differ) == differencesMax {
			c.More++
			continue
		}
		c.Differ = append(c.Differ, difference{What: strings.TrimSpace(p.Level + " " + p.Name + " " + p.Labels), Ratio: fmt.Sprintf("× %.3g", p.Ratio),
			Verdict: p.Judgement(), Worse: p.Better == "A", Better: p.Better == "B"})
	}
	if !published {
		c.Overall = stats.Overall(pairs)
	}
}
