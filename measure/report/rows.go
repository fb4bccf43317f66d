package report

import (
	"fmt"
	"math"
	"slices"

	"hemera/measure/result"
	"hemera/measure/stats"
)

// row is one measure in the table of a level.
type row struct {
	Name, Labels string // labels sorted, key=value
	Cells        []cell // one for each run
}

// cell has the values of a measure in one run.
type cell struct {
	Value   string // empty: the run does not have it
	Median  string
	Samples int
	OfPeak  string // percent; empty if no peak is known
	Ratio   string // to the first run
	Verdict string // for people; empty if it is unknown for published results
	Worse   bool   // a difference for the worse
	Better  bool   // a difference for the better
	Why     string // basis of the verdict
}

// usualConfidence is the confidence of intervals in reports. hemera bench compare can use others.
const usualConfidence = 0.95

// rows returns all measures of a level, in the order of the runs.
func rows(level string, runs []*result.Run, with comparisons) (all []row) {
	index := map[stats.Key]int{}
	for i, r := range runs {
		for _, l := range r.Levels {
			if l.Name != level {
				continue
			}
			for _, m := range l.Measures {
				key := stats.KeyOf(level, m)
				at, have := index[key]
				if !have {
					at = len(all)
					index[key] = at
					all = append(all, row{Name: m.Name, Labels: key.Labels, Cells: make([]cell, len(runs))})
				}
				all[at].Cells[i] = newCell(m)
				if p, ok := with[i].of[key]; ok {
					all[at].Cells[i].compare(p.Comparison, r.Source != "")
				}
			}
		}
	}
	// Courses have no samples and no row.
	return slices.DeleteFunc(all, func(r row) bool {
		return !slices.ContainsFunc(r.Cells, func(c cell) bool { return c.Value != "" })
	})
}

// newCell returns a measure as text, in units for people. Without samples it is empty: the values are in a plot over
// time.
func newCell(m result.Measure) cell {
	s := stats.Of(m)
	if s.N == 0 {
		return cell{}
	}
	c := cell{Value: stats.Quantity(s.Mean, s.SD, m.Unit), Median: stats.Quantity(s.Median, 0, m.Unit), Samples: s.N}
	if m.Estimate {
		c.Value += " (estimate)"
	}
	if m.Peak > 0 {
		c.OfPeak = shareOf(m)
	}
	return c
}

// compare adds the comparison with the base. A meaningless ratio leaves the cell unchanged.
func (c *cell) compare(with stats.Comparison, published bool) {
	if with.Ratio == 0 {
		return
	}
	c.Ratio, c.Why = fmt.Sprintf("× %.3g", with.Ratio), with.Basis
	// The ratio to published results is of interest, although it cannot be judged.
	if with.Verdict != stats.Unknown || !published {
		c.Verdict = with.Judgement()
	}
	if with.Confidence > 0 {
		c.Why += fmt.Sprintf("; %.0f %% interval %.3g – %.3g", 100*with.Confidence, with.Interval.Low, with.Interval.High)
	}
	c.Better, c.Worse = with.Better == "B", with.Better == "A"
}

// percent returns a fraction as text: 61.1 %, 5.15 %. A few iterations do not justify more than three digits.
func percent(share float64) string { return stats.Digits(100*share) + " %" }

// shareOf returns the mean as a fraction of the peak, with a deviation if the peak has one: then both count as
// independent.
func shareOf(m result.Measure) string {
	s := stats.Of(m)
	share := s.Mean / m.Peak
	if m.PeakSD == 0 || s.Mean == 0 {
		return percent(share)
	}
	return stats.Quantity(share, math.Abs(share)*math.Hypot(s.SD/s.Mean, m.PeakSD/m.Peak), "1")
}
