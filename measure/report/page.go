package report

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"time"

	"hemera/measure/result"
)

//go:embed page.css
var pageCSS string // never changed: embedding needs a variable

//go:embed page.js
var pageJS string // as above

// page has the content of the page; html.go writes it.
type page struct {
	Title   string // of all runs
	Runs    []runPart
	Several bool   // runs
	Base    string // title of the run with which others are compared
	// Confidence is that of the intervals, in percent.
	Confidence string
	Limits     []limit
	Unknown    bool // no measure has a peak
	Above      bool // one exceeds its peak
	Levels     []levelPart
}

// runPart is the head of one run.
type runPart struct {
	*result.Run
	Title   string
	Colour  string // the class of its colour
	Began   string // in UTC, because runs of several sites are compared
	Lasted  string
	Command string
	Summary []summaryLine
	With    comparison // with the first run
}

// levelPart is one level of all runs.
type levelPart struct {
	Name    string
	Figures []figurePart
	Rows    []row // one for each measure
	Long    bool  // the table is closed at first
	Runs    []levelRun
}

// levelRun has the data of one run about a level besides its measures.
type levelRun struct {
	result.Level
	Run  string   // empty if there is only one
	Keys []string // of the settings, sorted
}

// figurePart is one figure: its plot for wide and for narrow windows, and its files.
type figurePart struct {
	c            chart // for the files
	Title        string
	Caption      string
	File         string // in plots/, without the ending; empty without files
	Wide, Narrow string // SVG elements with escaped texts
}

// newPage collects the content of the page. It has no time of its own, so that the same runs give the same page.
func newPage(runs []*result.Run, r *ruler, confidence float64) *page {
	p := &page{Several: len(runs) > 1}
	with := compare(runs, confidence)
	for i, run := range runs {
		part := newRunPart(i, run)
		part.With = with[i]
		p.Runs = append(p.Runs, part)
	}
	p.Title, p.Base, p.Confidence = pageTitle(runs), title(runs[0]), percent(confidence)
	p.Limits = limits(runs)
	p.Unknown = len(p.Limits) == 0
	// Measured peaks have a spread too.
	const tolerance = 1.05
	p.Above = slices.ContainsFunc(p.Limits, func(l limit) bool { return l.share > tolerance })
	for _, name := range levelNames(runs) {
		p.Levels = append(p.Levels, newLevelPart(name, runs, with, r))
	}
	return p
}

// pageTitle returns a title of the measured runs. Published results beside them have their own line; alone they make the
// title.
func pageTitle(runs []*result.Run) string {
	var measured, published []string
	for _, r := range runs {
		if r.Source == "" {
			measured = append(measured, title(r))
		} else {
			published = append(published, title(r))
		}
	}
	if len(measured) == 0 {
		measured = published
	}
	return strings.Join(measured, ", ")
}

// newRunPart makes the head of a run.
func newRunPart(index int, run *result.Run) runPart {
	part := runPart{Run: run, Title: title(run), Colour: paint(index).name(), Command: typed(run.Command), Summary: summaryOf(run)}
	// Published results have no time.
	if !run.Began.IsZero() {
		part.Began = run.Began.UTC().Format("2006-01-02 15:04 UTC")
	}
	// A run that was killed has no end.
	if run.Ended.After(run.Began) {
		part.Lasted = run.Ended.Sub(run.Began).Round(time.Second).String()
	}
	return part
}

// levelNames returns the levels of all runs, in the order of their occurrence.
func levelNames(runs []*result.Run) (names []string) {
	for _, r := range runs {
		for _, l := range r.Levels {
			if !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
	}
	return names
}

// newLevelPart collects the data of the runs about a level. The first run with a figure determines its style.
func newLevelPart(name string, runs []*result.Run, with comparisons, r *ruler) levelPart {
	const longTable = 40
	part := levelPart{Name: name, Rows: rows(name, runs, with)}
	part.Long = len(part.Rows) > longTable
	for _, c := range bestFigures(name, runs) {
		part.Figures = append(part.Figures, newFigurePart(c, true, r))
	}
	seen := map[string]bool{}
	for _, run := range runs {
		for _, l := range run.Levels {
			if l.Name != name {
				continue
			}
			said := levelRun{Level: l, Keys: slices.Sorted(maps.Keys(l.Settings))}
			if len(runs) > 1 {
				said.Run = title(run)
			}
			part.Runs = append(part.Runs, said)
			for _, f := range l.Figures {
				if run.Source != "" && told(f, name, runs) {
					continue
				}
				c, ok := newChart(f, name, runs)
				if ok && !seen[f.ID] {
					part.Figures = append(part.Figures, newFigurePart(c, len(runs) > 1, r))
				}
				seen[f.ID] = true
			}
		}
	}
	return part
}

// told reports whether other plots of the page already show the content of a figure of published measurements: bars of
// the best values by load, or a figure of a measured run.
func told(f result.Figure, level string, runs []*result.Run) bool {
	if len(runs) < 2 {
		return false
	}
	if f.X == "load" {
		return true
	}
	for _, r := range runs {
		for _, l := range r.Levels {
			if r.Source != "" || l.Name != level {
				continue
			}
			// A figure of the site has the site's conditions, and includes the published values by their names.
			if slices.ContainsFunc(l.Figures, func(o result.Figure) bool { return hasAll(o.Names, f.Names) }) {
				return true
			}
		}
	}
	return false
}

// hasAll reports whether all of some names are in a list.
func hasAll(list, names []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(list, n) })
}

const (
	// wide and narrow are the widths of the plots in a page; page.css has the width of the window between them.
	wide   = 660
	narrow = 350
)

// newFigurePart draws a figure for the page.
func newFigurePart(c chart, several bool, r *ruler) figurePart {
	draw := func(width float64) string { return inline(lay(c, several, false, width, r)) }
	return figurePart{c: c, Title: c.Title, Caption: c.Caption, Wide: draw(wide), Narrow: draw(narrow)}
}

// typed returns a command as it is typed in a shell.
func typed(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		// The first word may be the command with its levels.
		if quoted[i] = w; i > 0 && strings.ContainsAny(w, " \t'\"$&|;<>()*?`\\") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
