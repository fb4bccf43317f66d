package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hemera/measure/result"
	"hemera/measure/stats"
)

const (
	textSize  = 12.0 // of ticks and legends
	titleSize = 14.0
	lineStep  = 18.0 // from one line of words to the next
	gap       = 6.0  // between elements that do not touch
	labelMax  = 150  // of a word below the axis; longer ones lose their middle
)

// layout is a chart with all places. Its values are in the chart's unit, its places in units of the canvas.
type layout struct {
	c             chart // what is drawn
	several       bool  // runs
	width, height float64
	plot          box         // area of the values
	x, y          axis        // of the plot; y grows upwards
	unit          stats.Scale // of the values at the axis
	yTicks        []float64   // values divided by the unit's factor
	xTicks        []tick
	turned        bool     // words of xTicks
	title         []string // lines; none in a page
	legend        []entry
	ruler         *ruler // of all words
}

// tick is a text at a place of the horizontal axis.
type tick struct {
	at   float64
	text string
}

// entry is one entry of the legend.
type entry struct {
	at    xy // of the left end of its base line
	text  string
	s     *series // nil for the peak
	width float64 // with its swatch
}

// lay computes all places of the chart. The height follows from the width and the texts. titled plots have a title; in a
// page the text around them has it.
func lay(c chart, several, titled bool, width float64, r *ruler) layout {
	l := layout{c: c, several: several, width: width, ruler: r}
	top := lineStep + 2*gap
	if titled {
		l.title = wrap(c.Title, titleSize, width-2*gap, r)
		top += lineStep*float64(len(l.title)) + gap
	}
	// Wide and low plots show slopes best, but not lower than in a narrow window.
	high := math.Min(math.Max(width*0.46, 190), 300)
	l.plot = box{0, top, width - 2*gap, top + high}
	l.scaleY()
	l.scaleX()
	bottom := l.plot.bottom + l.labelHeight()
	if l.c.XTitle != "" {
		bottom += lineStep
	}
	// Letters extend below their line.
	l.height = l.layLegend(bottom) + 2*gap
	return l
}

// wrap breaks a text into lines of at most a width, at blanks. An empty text gives one empty line.
func wrap(text string, size, width float64, r *ruler) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if longer := strings.TrimSpace(line + " " + word); r.width(longer, size) <= width || line == "" {
			line = longer
			continue
		}
		lines, line = append(lines, r.fit(line, size, width)), word
	}
	// A word that is longer than the line is cut.
	return append(lines, r.fit(line, size, width))
}

// scaleY computes the range of the values, their unit and the left end of the plot. The ends of the axis are ticks.
func (l *layout) scaleY() {
	low, high := l.valueRange()
	l.unit = stats.ScaleOf(math.Max(math.Abs(low), math.Abs(high)), l.c.Unit)
	const count = 5 // about so many steps
	l.yTicks = ticks(low/l.unit.Factor, high/l.unit.Factor, count)
	widest := 0.0
	for _, v := range l.yTicks {
		widest = math.Max(widest, l.ruler.width(tickText(v), textSize))
	}
	l.plot.left = widest + 2*gap
	l.y = axis{low: l.yTicks[0] * l.unit.Factor, high: l.yTicks[len(l.yTicks)-1] * l.unit.Factor, from: l.plot.bottom, to: l.plot.top}
}

// valueRange returns the range from 0, or below, to the highest value with its deviation and its peak. It is never empty.
func (l *layout) valueRange() (low, high float64) {
	stacks := map[float64]float64{}
	for _, s := range l.c.Series {
		for _, p := range s.Points {
			stacks[p.X] += p.Y
			high = math.Max(high, math.Max(p.Y+p.SD, p.Peak))
			if p.Y < 0 {
				low = math.Min(low, p.Y-p.SD)
			}
		}
	}
	// For stacks the sums count, which are above their parts.
	if l.c.Kind == result.Stacked {
		for _, sum := range stacks {
			high = math.Max(high, sum)
		}
	}
	if high <= low {
		high = low + 1
	}
	return low, high
}

// scaleX computes the places of numbers or words below the plot. Words without enough room are turned.
func (l *layout) scaleX() {
	if l.c.Words != nil {
		l.scaleWords()
		return
	}
	var values []float64
	for _, s := range l.c.Series {
		for _, p := range s.Points {
			if p.Label != "" {
				values = append(values, p.X)
			}
		}
	}
	// Every measured number is a tick: 1, 2, 4, 8 clients and not 1, 3, 5, 7.
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) == 0 { // only values without a place on this axis
		return
	}
	low, high := values[0], values[len(values)-1]
	const inset = 14 // so that marks do not touch the sides
	l.x = axis{low: low, high: high, from: l.plot.left + inset, to: l.plot.right - inset, log: l.c.LogX && low > 0}
	shown := values
	// A course has thousands of times: only round ones are labelled.
	if l.c.Kind == result.Course {
		l.x.from, l.x.to = l.plot.left, l.plot.right
		shown = slices.DeleteFunc(ticks(low, high, 6), func(v float64) bool { return v < low || v > high })
	}
	l.nameNumbers(shown)
}

// nameNumbers makes ticks of the values that have room beside the one before. values are in ascending order.
func (l *layout) nameNumbers(values []float64) {
	free := math.Inf(-1)
	for _, v := range values {
		text := xText(v, l.c.binary)
		half := l.ruler.width(text, textSize) / 2
		if at := l.x.at(v); at-half >= free {
			l.xTicks = append(l.xTicks, tick{at, text})
			free = at + half + gap
		}
	}
}

// scaleWords computes each word's part of the axis. If one word lacks room all are turned, because a mixture is hard to
// read.
func (l *layout) scaleWords() {
	n := float64(len(l.c.Words))
	texts, widest := make([]string, len(l.c.Words)), 0.0
	for i, w := range l.c.Words {
		texts[i] = l.ruler.fitEnds(w, textSize, labelMax)
		widest = math.Max(widest, l.ruler.width(texts[i], textSize))
	}
	slot := (l.plot.right - l.plot.left) / n
	if l.turned = widest > slot-gap; l.turned {
		// A turned word ends below its slot, and begins to the left of it.
		reach := l.ruler.width(texts[0], textSize)*math.Cos(turn*math.Pi/180) - slot/2
		l.plot.left = math.Min(math.Max(l.plot.left, reach+gap), l.width/3)
	}
	l.x = axis{low: -0.5, high: n - 0.5, from: l.plot.left, to: l.plot.right}
	free := math.Inf(-1)
	for i, text := range texts {
		// Of hundreds of words some are labelled; tips show all.
		if at := l.x.at(float64(i)); at >= free {
			l.xTicks = append(l.xTicks, tick{at, text})
			free = at + lineStep
		}
	}
}

// labelHeight returns the height of the labels below the plot, without the title of the axis.
func (l *layout) labelHeight() float64 {
	height := lineStep
	for _, t := range l.xTicks {
		if l.turned {
			height = math.Max(height, l.ruler.width(t.text, textSize)*math.Sin(turn*math.Pi/180)+lineStep)
		}
	}
	return height
}

// layLegend places the entries of the legend in rows below a height, and returns their lower end.
func (l *layout) layLegend(top float64) (bottom float64) {
	const swatch = 30 // width of a line with its mark, and the gap after it
	entries := l.entries()
	if len(entries) == 0 {
		return top
	}
	left, line := gap, top+lineStep
	for _, e := range entries {
		e.text = l.ruler.fit(e.text, textSize, l.width-2*gap-swatch)
		e.width = swatch + l.ruler.width(e.text, textSize)
		// A row has at least one entry, of any length.
		if left > gap && left+e.width > l.width-gap {
			left, line = gap, line+lineStep
		}
		e.at = xy{left, line}
		// Two gaps, so that a swatch visibly belongs to the text after it.
		left += e.width + 2*gap
		l.legend = append(l.legend, e)
	}
	return line
}

// entries returns the entries of the legend. One series needs none, because the title names it.
func (l *layout) entries() (all []entry) {
	for i := range l.c.Series {
		s := &l.c.Series[i]
		if name := l.seriesTitle(s); name != "" && (l.several || len(l.c.Series) > 1) {
			all = append(all, entry{text: name, s: s})
		}
	}
	// Every run of a stack has the same parts.
	if l.c.Kind == result.Stacked {
		seen := map[string]bool{}
		all = slices.DeleteFunc(all, func(e entry) bool {
			again := seen[e.text]
			seen[e.text] = true
			return again
		})
	}
	// One entry explains the dotted lines of all series.
	if len(l.peaks()) > 0 {
		all = append(all, entry{text: "theoretical peak"})
	}
	return all
}

// seriesTitle returns the name of a series in the legend and in tips. It is empty for the only series of one run.
func (l *layout) seriesTitle(s *series) string {
	switch {
	case !l.several || l.c.Kind == result.Stacked:
		return s.Name
	case s.Name == "":
		return s.Run
	}
	return s.Run + ": " + s.Name
}

// tip returns the text of a value for pointers and screen readers.
func (l *layout) tip(s *series, p point) string {
	var parts []string
	if name := l.seriesTitle(s); name != "" {
		parts = append(parts, name)
	}
	switch {
	case p.Label == "":
	case l.c.Kind == result.Course:
		parts = append(parts, p.Label+" s")
	default:
		parts = append(parts, strings.TrimSpace(p.Label+" "+wordOf(l.c)))
	}
	value := stats.Quantity(p.Y, p.SD, l.c.Unit)
	if p.N > 1 {
		value += fmt.Sprintf(" (%d samples)", p.N)
	}
	parts = append(parts, value)
	if p.Peak > 0 {
		parts = append(parts, fmt.Sprintf("%.1f %% of the peak of %s", 100*p.Y/p.Peak, stats.Quantity(p.Peak, 0, l.c.Unit)))
	}
	return strings.Join(parts, " · ")
}

// wordOf returns the word after a number of the axis, as in "4 clients". Words of the axis need none.
func wordOf(c chart) string {
	if c.Words != nil && c.Kind != result.Lines {
		return ""
	}
	return c.XTitle
}
