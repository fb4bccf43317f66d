package report

import (
	"hemera/measure/result"
)

// draw draws the plot: the frame, the values, and the legend. Later elements hide earlier ones, on every canvas.
func (l *layout) draw(k canvas) {
	for i, line := range l.title {
		k.text(xy{gap, lineStep * float64(i+1)}, line, words{paint: ink, size: titleSize, strong: true})
	}
	l.drawFrame(k)
	switch l.c.Kind {
	case result.Bars:
		l.drawBars(k)
	case result.Stacked:
		l.drawStacks(k)
	case result.Course:
		l.drawCourse(k)
	default: // a kind of a later version has values too
		l.drawLines(k)
	}
	l.drawAcross(k)
	l.drawLegend(k)
}

// drawFrame draws the grid, the axes and their words. The unit is above the axis and not turned beside it.
func (l *layout) drawFrame(k canvas) {
	unit := l.unit.Unit
	if l.c.Name != "" && unit != "" {
		unit = l.c.Name + ", " + unit
	}
	k.text(xy{gap, l.plot.top - 2*gap}, unit, words{paint: soft, size: textSize})
	for _, v := range l.yTicks {
		y := l.y.at(v * l.unit.Factor)
		k.line([]xy{{l.plot.left, y}, {l.plot.right, y}}, pen{paint: grid, width: 1})
		k.text(xy{l.plot.left - gap, y + textSize/3}, tickText(v), words{paint: soft, size: textSize, align: 1})
	}
	// The line of zero is the axis, also if there are values below.
	zero := l.y.at(0)
	k.line([]xy{{l.plot.left, zero}, {l.plot.right, zero}}, pen{paint: soft, width: 1.2})
	for _, t := range l.xTicks {
		w := words{paint: soft, size: textSize, align: 0.5}
		at := xy{t.at, l.plot.bottom + lineStep - 3}
		// The end of a turned word is where the middle of a straight one is.
		if l.turned {
			w.align, w.turned = 1, true
			at.x += textSize / 3
		} else {
			at.x = l.inside(t)
		}
		k.text(at, t.text, w)
	}
	if l.c.XTitle != "" {
		k.text(xy{(l.plot.left + l.plot.right) / 2, l.plot.bottom + l.labelHeight() + lineStep - gap}, l.c.XTitle, words{paint: soft, size: textSize, align: 0.5})
	}
}

// inside returns the middle of a tick's text, moved so that the text ends within the picture. At the left end the labels
// of the other axis leave room.
func (l *layout) inside(t tick) float64 {
	half := l.ruler.width(t.text, textSize) / 2
	return min(t.at, l.width-half-2)
}

// drawLegend draws the entries with their lines and marks, in the style of the series.
func (l *layout) drawLegend(k canvas) {
	const long = 24
	for _, e := range l.legend {
		y := e.at.y - textSize/3
		switch {
		case e.s == nil:
			k.line([]xy{{e.at.x, y}, {e.at.x + long, y}}, peakPen())
		case (l.c.Kind == result.Bars || l.c.Kind == result.Stacked) && !across(e.s):
			k.rect(xy{e.at.x + long - 14, y - 6}, 12, 12, paint(e.s.colour), l.opacity(e.s))
		case across(e.s):
			k.line([]xy{{e.at.x, y}, {e.at.x + long, y}}, acrossPen(e.s))
		default:
			k.line([]xy{{e.at.x, y}, {e.at.x + long, y}}, l.seriesPen(e.s))
			// Courses have no marks.
			if l.c.Kind != result.Course {
				k.mark(xy{e.at.x + long/2, y}, e.s.style, paint(e.s.colour))
			}
		}
		k.text(xy{e.at.x + 30, e.at.y}, e.text, words{paint: ink, size: textSize})
	}
}

// peakPen returns the pen of the theoretical peak.
func peakPen() pen { return pen{paint: ink, width: 1.6, dash: []float64{1.6, 3}} }

// seriesPen returns the pen of a series, in the plot and in the legend. Several lines with one colour differ in their
// dashes.
func (l *layout) seriesPen(s *series) pen {
	return pen{paint: paint(s.colour), width: 2, dash: dashes(l.dashOf(s))}
}

// dashOf returns the style of a line: with one run, colours suffice until they repeat.
func (l *layout) dashOf(s *series) int {
	if l.several {
		return s.style
	}
	return s.style / len(shades())
}

// opacity returns the opacity of bars, which distinguishes bars of one colour. Parts of a stack have different colours.
func (l *layout) opacity(s *series) float64 {
	if l.c.Kind == result.Stacked {
		return 1
	}
	all := []float64{1, 0.62, 0.36, 0.18}
	return all[l.dashOf(s)%len(all)]
}
