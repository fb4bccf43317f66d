package report

import (
	"hemera/measure/result"
	"hemera/measure/stats"
)

// bestFigures returns the bars that compare the best values of several runs: published maxima beside the site's own,
// whatever the number of clients. It returns nil for one run.
func bestFigures(level string, runs []*result.Run) (all []chart) {
	if len(runs) < 2 {
		return nil
	}
	// Latencies have no best without their throughput.
	for _, name := range []string{"throughput", "efficiency"} {
		// As runs of one level with one label, for newChart.
		var best []*result.Run
		for _, r := range runs {
			best = append(best, &result.Run{ID: r.ID, Title: title(r), Levels: []result.Level{{Name: level, Measures: bestByLoad(level, name, r)}}})
		}
		f := result.Figure{ID: level + "-best-" + name, Title: "Best " + name + " of each run, by load", Kind: result.Bars, Names: []string{name}, X: "load", Peak: true,
			Caption: "The highest mean over all other conditions, such as the number of clients and the layout."}
		if c, ok := newChart(f, level, best); ok {
			all = append(all, c)
		}
	}
	return all
}

// bestByLoad returns the highest means of a quantity, one for each load, without other labels.
func bestByLoad(level, name string, r *result.Run) (best []result.Measure) {
	index := map[string]int{} // of loads in best
	for _, l := range r.Levels {
		for _, m := range l.Measures {
			load := m.Labels["load"]
			if l.Name != level || m.Name != name || load == "" || len(m.Samples) == 0 || m.Better != result.Higher {
				continue
			}
			// m is a copy; the run's labels do not change.
			m.Labels = result.Labels{"load": load}
			at, have := index[load]
			if !have {
				index[load] = len(best)
				best = append(best, m)
			} else if stats.Of(m).Mean > stats.Of(best[at]).Mean {
				best[at] = m
			}
		}
	}
	return best
}
