package report

import (
	"fmt"
	"math"
	"strconv"
)

// Panel is one of several charts beside each other. It shows curves of measured values, each over the same kind of x.
type Panel struct {
	Title  string
	X, Y   string // what the axes show, with units
	Curves []Curve
}

// Curve is one line of a panel. Its paint follows from its place among the panel's curves, so curves of one kind need the
// same place in all panels.
type Curve struct {
	Name   string
	Points []Point
}

// Point is a place of a curve, in the units of its panel.
type Point struct{ X, Y float64 }

// Panels is a sheet of panels.
type Panels struct {
	Heading []string // lines above all
	Panels  []Panel
	LogX    bool // x by its logarithm, with ticks at the points; then x is above 0
	// LogY makes all panels share one logarithmic axis of y, from decade to decade, so that they can be compared. Values
	// of 0 are drawn at its lower end. Without it each panel has its own axis from 0.
	LogY bool
	// Tick formats a value of y at its tick; nil writes the number.
	Tick func(v float64) string
}

// Lengths of a sheet, in units of the canvas.
const (
	panelsAcross = 3
	panelWidth   = 440
	panelHeight  = 293
	panelLine    = 19 // between two lines of words
	panelWords   = 13 // size of words
	panelLeft    = 64 // from a panel's left end to its axis
	panelBelow   = 48 // from the axis to the panel's lower end
	panelAbove   = 30 // from the panel's upper end to the highest place of a curve
	// A curve of fewer points has marks, because one point makes no line.
	panelMarks = 10
)

// SVG returns the sheet as a file, three panels in a row. It needs no font and no other file. Without panels it is the
// heading.
func (s Panels) SVG() []byte {
	rows := (len(s.Panels) + panelsAcross - 1) / panelsAcross
	head := float64(len(s.Heading)*panelLine + panelLine)
	width, height := float64(panelsAcross*panelWidth), head+float64(rows*panelHeight)
	out := &svg{titles: true}
	fmt.Fprintf(&out.b, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s">`+"\n<style>\n", num(width), num(height))
	// Sheets are shown in documents, which are light.
	out.b.WriteString(themeCSS(":root", false) + plotCSS() + "</style>\n")
	out.rect(xy{}, width, height, surface, 1)
	for i, line := range s.Heading {
		out.text(xy{10, float64((i + 1) * panelLine)}, line, words{paint: ink, size: panelWords, strong: i == 0})
	}
	shared := s.shared()
	for i, p := range s.Panels {
		s.panel(out, xy{float64(i % panelsAcross * panelWidth), head + float64(i/panelsAcross*panelHeight)}, p, shared)
	}
	out.b.WriteString("</svg>\n")
	return []byte(out.b.String())
}

// shared returns the range of the logarithmic axis of all panels: powers of ten around all values above 0; one decade if
// there are none.
func (s Panels) shared() (ends [2]float64) {
	low, high := math.Inf(1), 0.0
	for _, p := range s.Panels {
		for _, c := range p.Curves {
			for _, q := range c.Points {
				if q.Y > 0 {
					low = min(low, q.Y)
				}
				high = max(high, q.Y)
			}
		}
	}
	if high == 0 {
		return [2]float64{1, 10}
	}
	least, most := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	return [2]float64{math.Pow10(int(least)), math.Pow10(int(max(most, least+1)))}
}

// panel draws a panel with its upper left corner at a place.
func (s Panels) panel(out *svg, at xy, p Panel, shared [2]float64) {
	x := axis{from: at.x + panelLeft, to: at.x + panelWidth - 20, log: s.LogX}
	y := axis{from: at.y + panelHeight - panelBelow, to: at.y + panelAbove + float64(panelLine*max(1, (len(p.Curves)+2)/3)), log: s.LogY}
	x.low, x.high = s.across(p)
	if s.LogY {
		y.low, y.high = shared[0], shared[1]
	} else {
		y.high = highest(p)
	}
	out.text(xy{(x.from + x.to) / 2, at.y + 18}, p.Title, words{paint: ink, size: panelWords, align: 0.5, strong: true})
	out.text(xy{(x.from + x.to) / 2, at.y + panelHeight - 10}, p.X, words{paint: soft, size: panelWords - 1, align: 0.5})
	out.text(xy{at.x + 8, at.y + panelAbove + 6}, p.Y, words{paint: soft, size: panelWords - 1})
	for _, v := range s.yTicks(y) {
		out.line([]xy{{x.from, y.at(v)}, {x.to, y.at(v)}}, pen{paint: grid, width: 1})
		out.text(xy{x.from - 6, y.at(v) + 4}, s.yText(v), words{paint: soft, size: panelWords - 2, align: 1})
	}
	for _, v := range s.xTicks(p, x) {
		out.line([]xy{{x.at(v), y.from}, {x.at(v), y.from + 4}}, pen{paint: soft, width: 1})
		out.text(xy{x.at(v), y.from + 17}, tickText(v), words{paint: soft, size: panelWords - 2, align: 0.5})
	}
	for i, c := range p.Curves {
		name := xy{x.from + float64(i%3)*(x.to-x.from)/3 + 60, at.y + panelAbove + 6 + float64(i/3*panelLine)}
		out.line([]xy{{name.x - 18, name.y - 4}, {name.x - 4, name.y - 4}}, pen{paint: paint(i), width: 2})
		out.text(name, c.Name, words{paint: ink, size: panelWords - 2})
		var line []xy
		for _, q := range c.Points {
			line = append(line, xy{x.at(q.X), y.at(q.Y)})
		}
		if len(line) > 1 {
			out.line(line, pen{paint: paint(i), width: 1.5})
		}
		if len(line) < panelMarks {
			for _, q := range line {
				out.mark(q, 0, paint(i))
			}
		}
	}
}

// across returns the range of x of a panel: from 0 or, with the logarithm, from the first to the last point.
func (s Panels) across(p Panel) (low, high float64) {
	low = math.Inf(1)
	for _, c := range p.Curves {
		for _, q := range c.Points {
			low, high = min(low, q.X), max(high, q.X)
		}
	}
	switch {
	case math.IsInf(low, 1):
		return 1, 2 // no point: an axis without values
	case !s.LogX:
		return 0, max(high, 1e-9)
	}
	return low, high
}

// highest returns the end of a linear axis of y, above all values of a panel.
func highest(p Panel) (high float64) {
	for _, c := range p.Curves {
		for _, q := range c.Points {
			high = max(high, q.Y)
		}
	}
	if high == 0 {
		return 1
	}
	all := ticks(0, high, 5)
	return all[len(all)-1]
}

// yTicks returns the places of the grid's lines.
func (s Panels) yTicks(y axis) (all []float64) {
	if !s.LogY {
		return ticks(y.low, y.high, 5)
	}
	for v := y.low; v <= y.high*1.001; v *= 10 {
		all = append(all, v)
	}
	return all
}

// xTicks returns the ticks of the horizontal axis: with the logarithm at the points of the first curve, which are few,
// otherwise at round values.
func (s Panels) xTicks(p Panel, x axis) (all []float64) {
	if !s.LogX {
		for _, v := range ticks(x.low, x.high, 5) {
			if v <= x.high {
				all = append(all, v)
			}
		}
		return all
	}
	if len(p.Curves) > 0 {
		for _, q := range p.Curves[0].Points {
			all = append(all, q.X)
		}
	}
	return all
}

// yText returns the text of a value beside its line of the grid.
func (s Panels) yText(v float64) string {
	switch {
	case s.Tick != nil:
		return s.Tick(v)
	case s.LogY:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return tickText(v)
}
