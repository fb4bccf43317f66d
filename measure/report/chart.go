package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"hemera/measure/result"
	"hemera/measure/stats"
)

// chart is a figure with its values, for drawing and for the files for programs.
type chart struct {
	ID      string      `json:"id"` // of the figure
	Level   string      `json:"level"`
	Title   string      `json:"title"` // never empty
	Caption string      `json:"caption,omitempty"`
	Kind    result.Kind `json:"kind"`
	Name    string      `json:"name"` // of the only quantity, or empty
	Unit    string      `json:"unit"` // of all values
	XTitle  string      `json:"x_title"`
	Words   []string    `json:"x_words,omitempty"` // the words to which X refers, if it is not a number
	LogX    bool        `json:"log_x,omitempty"`
	Series  []series    `json:"series"` // in the order of runs, then of names
	binary  bool        // X is a number of bytes
}

// series is a line, the bars of a colour, or one part of all stacks.
type series struct {
	Name   string  `json:"name"`   // of its conditions; may be empty
	Run    string  `json:"run"`    // the title
	Points []point `json:"points"` // in the order of X
	colour int     // in the palette
	style  int     // of the dashes and marks
}

// point is one value.
type point struct {
	X     float64 `json:"x"`       // a number, or an index of Words
	Label string  `json:"x_label"` // as in the result; empty if the value has no place on the axis
	Y     float64 `json:"y"`       // the mean
	SD    float64 `json:"sd,omitempty"`
	N     int     `json:"samples"`
	Peak  float64 `json:"peak,omitempty"`
}

// newChart collects the values of a figure in some runs. ok is false if there are none.
func newChart(f result.Figure, level string, runs []*result.Run) (c chart, ok bool) {
	c = chart{ID: f.ID, Level: level, Title: cmp.Or(f.Title, f.ID), Caption: f.Caption, Kind: f.Kind, XTitle: cmp.Or(f.XTitle, f.X), LogX: f.LogX}
	if len(f.Names) == 1 {
		c.Name = f.Names[0]
	}
	p := picker{f: f, c: &c, peak: f.Peak, several: len(runs) > 1}
	// All runs are read before the first is drawn, so that equal conditions have equal names in all of them.
	found := make([][]result.Measure, len(runs))
	for i, r := range runs {
		for _, l := range r.Levels {
			if l.Name == level {
				found[i] = append(found[i], p.find(l.Measures)...)
			}
		}
	}
	keys, same := groupKeys(f, found)
	for i, r := range runs {
		p.add(i, title(r), found[i], keys)
	}
	// Conditions that are the same everywhere are in the caption, and not in every entry of the legend.
	if len(same) > 0 && len(runs) == 1 {
		c.Caption = strings.TrimSpace(c.Caption + " All with " + strings.Join(same, ", ") + ".")
	}
	p.place()
	return c, len(c.Series) > 0
}

// title returns the name of a run in legends. It is never empty, so that an entry of a legend is visible.
func title(r *result.Run) string { return cmp.Or(r.Title, r.ID, "run") }

// picker collects the series of a chart.
type picker struct {
	f       result.Figure
	c       *chart         // the chart that it fills
	peak    bool           // draw the peak of measures
	several bool           // several runs, whose colours differ
	styles  map[string]int // of the names of series, over all runs
}

// find returns the measures of one run that the figure shows.
func (p *picker) find(measures []result.Measure) (mine []result.Measure) {
	for _, m := range measures {
		// One axis has one unit: that of the first.
		p.c.Unit = cmp.Or(p.c.Unit, unitOf(p, m))
		if p.shows(m) && m.Unit == p.c.Unit {
			mine = append(mine, m)
		}
	}
	// In the order of the figure, so that p50 precedes p99.
	slices.SortStableFunc(mine, func(a, b result.Measure) int {
		return slices.Index(p.f.Names, a.Name) - slices.Index(p.f.Names, b.Name)
	})
	return mine
}

// add adds the series of one run. keys are the labels that make them.
func (p *picker) add(run int, title string, mine []result.Measure, keys []string) {
	index := map[string]int{} // of the series of this run, by name
	for _, m := range mine {
		name := p.seriesName(m, keys)
		at, have := index[name]
		if !have {
			at = len(p.c.Series)
			index[name] = at
			p.c.Series = append(p.c.Series, p.newSeries(run, name, title))
		}
		s := &p.c.Series[at]
		s.Points = append(s.Points, p.points(m)...)
	}
}

// unitOf returns the unit of a measure that the figure shows, and "" for others. A count without a unit is drawn on an
// axis without one.
func unitOf(p *picker, m result.Measure) string {
	if !p.shows(m) {
		return ""
	}
	return m.Unit
}

// shows reports whether the figure shows the measure, and it has values. A course needs a series, every other kind
// samples.
func (p *picker) shows(m result.Measure) bool {
	if !slices.Contains(p.f.Names, m.Name) || p.f.Kind == result.Course && len(m.Series) == 0 || p.f.Kind != result.Course && len(m.Samples) == 0 {
		return false
	}
	for k, v := range p.f.Where {
		if m.Labels[k] != v {
			return false
		}
	}
	return true
}

// groupKeys returns the labels that distinguish series: those of the figure with several values, and all others that
// differ within a run, so that a level that forgot one gets two lines and not one that jumps. same has the conditions of
// the figure with one value.
func groupKeys(f result.Figure, runs [][]result.Measure) (keys, same []string) {
	for _, k := range f.Group {
		values := valuesOf(k, slices.Concat(runs...))
		// A measure without the label differs from one with it, if one run has both.
		within := slices.ContainsFunc(runs, func(measures []result.Measure) bool { return differs(k, measures) })
		switch {
		case len(values) > 1 || within:
			keys = append(keys, k)
		case len(values) == 1:
			same = append(same, k+" "+values[0])
		}
	}
	// Labels that the figure does not name.
	others := map[string]bool{}
	for _, measures := range runs {
		for _, m := range measures {
			for k := range m.Labels {
				others[k] = others[k] || k != f.X && !slices.Contains(f.Group, k) && differs(k, measures)
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(others)) {
		if others[k] {
			keys = append(keys, k)
		}
	}
	return keys, same
}

// valuesOf returns the different values of a label, in the order of their occurrence, without those of measures that lack
// the label.
func valuesOf(key string, measures []result.Measure) (values []string) {
	for _, m := range measures {
		if v := m.Labels[key]; v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// differs reports whether measures have different values of a label. A missing label counts as another value.
func differs(key string, measures []result.Measure) bool {
	return slices.ContainsFunc(measures, func(m result.Measure) bool { return m.Labels[key] != measures[0].Labels[key] })
}

// seriesName returns the name of the series of a measure: its quantity if the figure has several, and its group.
func (p *picker) seriesName(m result.Measure, keys []string) string {
	var parts []string
	if len(p.f.Names) > 1 {
		parts = append(parts, m.Name)
	}
	for _, k := range keys {
		v := m.Labels[k]
		switch {
		case v == "": // not a condition of this measure
		case len(keys) == 1: // the value alone is clear
			parts = append(parts, v)
		default:
			parts = append(parts, k+" "+v)
		}
	}
	name := strings.Join(parts, ", ")
	if m.Estimate {
		name = strings.TrimSpace(name + " (estimate)")
	}
	return name
}

// newSeries begins a series. Equal names have equal styles in all runs.
func (p *picker) newSeries(run int, name, title string) series {
	if p.styles == nil {
		p.styles = map[string]int{}
	}
	if _, ok := p.styles[name]; !ok {
		p.styles[name] = len(p.styles)
	}
	s := series{Name: name, Run: title, colour: p.styles[name], style: p.styles[name]}
	// Parts of a stack keep their colours: the axis shows the run.
	if p.several && p.f.Kind != result.Stacked {
		s.colour = run
	}
	return s
}

// points returns the values of a measure: its course, or one for all samples.
func (p *picker) points(m result.Measure) (all []point) {
	if p.f.Kind == result.Course {
		for _, at := range m.Series {
			all = append(all, point{X: at.At, Label: strconv.FormatFloat(at.At, 'g', 4, 64), Y: at.Value, N: 1})
		}
		return all
	}
	// The mean, as in the published results; the tables also have medians.
	s := stats.Of(m)
	one := point{Label: m.Labels[p.f.X], Y: s.Mean, SD: s.SD, N: s.N}
	// Without a label for the axis, quantities are beside each other.
	if p.f.X == "" {
		one.Label = m.Name
	}
	if p.peak {
		one.Peak = m.Peak
	}
	// Sums of the largest numbers are infinite and cannot be drawn.
	if math.IsInf(one.Y, 0) || math.IsInf(one.SD, 0) {
		return nil
	}
	return []point{one}
}

// place sets X of all points, and sorts them by it: the number in their label, or its index among the words.
func (p *picker) place() {
	c := p.c
	if c.Kind == result.Course {
		c.XTitle = cmp.Or(c.XTitle, "seconds since the level began")
		for _, s := range c.Series {
			slices.SortStableFunc(s.Points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
		}
		return
	}
	if c.Kind == result.Stacked && p.several {
		labelRuns(c)
	}
	words := labels(c)
	numbers := c.Kind == result.Lines
	for _, w := range words {
		_, bytes, ok := number(w)
		numbers = numbers && ok
		c.binary = c.binary || bytes
	}
	// Bars and words are in the order of their occurrence; numbers of bars are sorted.
	if !numbers {
		c.Words, c.LogX, c.binary = sortedWords(words), false, false
	}
	for _, s := range c.Series {
		for i := range s.Points {
			q := &s.Points[i]
			if numbers {
				q.X, _, _ = number(q.Label)
				continue
			}
			q.X = float64(slices.Index(c.Words, q.Label))
		}
		slices.SortStableFunc(s.Points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
	}
}

// labelRuns adds the title of the run to the labels of stacks, so that those of several runs are beside each other.
func labelRuns(c *chart) {
	for _, s := range c.Series {
		for i := range s.Points {
			s.Points[i].Label = strings.TrimSpace(s.Points[i].Label + " " + s.Run)
		}
	}
}

// labels returns the different labels of all points, in the order of their occurrence, without the empty one.
func labels(c *chart) (all []string) {
	// The first run determines the order; later ones add theirs.
	seen := map[string]bool{}
	for _, s := range c.Series {
		for _, p := range s.Points {
			if p.Label != "" && !seen[p.Label] {
				seen[p.Label] = true
				all = append(all, p.Label)
			}
		}
	}
	return all
}

// sortedWords sorts words that are all numbers by their value, and does not change the order of others, which is that of
// the level.
func sortedWords(words []string) []string {
	for _, w := range words {
		if _, _, ok := number(w); !ok {
			return words
		}
	}
	slices.SortStableFunc(words, func(a, b string) int {
		x, _, _ := number(a)
		y, _, _ := number(b)
		return cmp.Compare(x, y)
	})
	return words
}

// number parses a label of an axis: 4, 0.5, or a number of bytes such as 128KiB and 16MB. bytes reports whether it had
// such a unit.
func number(label string) (v float64, bytes, ok bool) {
	factor := 1.0
	for _, u := range []struct {
		suffix string
		factor float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}} {
		if rest, found := strings.CutSuffix(label, u.suffix); found {
			label, factor, bytes = strings.TrimSpace(rest), u.factor, true
			break
		}
	}
	v, err := strconv.ParseFloat(label, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false, false
	}
	return v * factor, bytes, true
}
