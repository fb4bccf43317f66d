package report

import (
	"math"
	"slices"
)

// drawLines draws values over a number or over words: the peak, the lines, then whiskers and marks, so that no line hides
// a value.
func (l *layout) drawLines(k canvas) {
	l.drawPeaks(k)
	for i := range l.c.Series {
		s := &l.c.Series[i]
		// drawAcross draws values without a place.
		var line []xy
		for _, p := range s.Points {
			if p.Label != "" {
				line = append(line, l.place(p))
			}
		}
		if len(line) > 1 {
			k.line(line, l.seriesPen(s))
		}
	}
	for i := range l.c.Series {
		s := &l.c.Series[i]
		for _, p := range s.Points {
			if p.Label == "" {
				continue
			}
			// A finger is less exact than a pointer.
			at := l.place(p)
			const reach = 11
			k.begin(l.tip(s, p), box{at.x - reach, at.y - reach, at.x + reach, at.y + reach})
			l.whisker(k, at.x, p, paint(s.colour))
			k.mark(at, s.style, paint(s.colour))
			k.end()
		}
	}
}

// place returns the place of a point. Points without a label have a meaningless x.
func (l *layout) place(p point) xy { return xy{l.x.at(p.X), l.y.at(p.Y)} }

// whisker draws the standard deviation around a value, at most to the lower end of the plot. It draws nothing if the
// deviation is unknown.
func (l *layout) whisker(k canvas, x float64, p point, c paint) {
	if p.SD <= 0 {
		return
	}
	const half = 4
	low, high := math.Min(l.y.at(p.Y-p.SD), l.plot.bottom), l.y.at(p.Y+p.SD)
	line := pen{paint: c, width: 1.3}
	k.line([]xy{{x, low}, {x, high}}, line)
	k.line([]xy{{x - half, high}, {x + half, high}}, line)
	k.line([]xy{{x - half, low}, {x + half, low}}, line)
}

// drawPeaks draws the theoretical peaks of lines: from side to side if the peak is the same everywhere. Different peaks,
// as of a layout with copies, have separate lines, in the colours of their series.
func (l *layout) drawPeaks(k canvas) {
	var drawn []float64
	several := len(l.peaks()) > 1
	for _, s := range l.c.Series {
		dots := peakPen()
		if several {
			dots.paint = paint(s.colour)
		}
		var line []xy
		var heights []float64 // the different peaks of this series
		for _, p := range s.Points {
			if p.Peak > 0 && p.Label != "" {
				line = append(line, xy{l.x.at(p.X), l.y.at(p.Peak)})
				heights = append(heights, p.Peak)
			}
		}
		slices.Sort(heights)
		heights = slices.Compact(heights)
		switch {
		case len(heights) == 0:
		case len(heights) > 1:
			k.line(line, dots)
		case !slices.Contains(drawn, heights[0]): // layouts may share a peak
			drawn = append(drawn, heights[0])
			k.line([]xy{{l.plot.left, line[0].y}, {l.plot.right, line[0].y}}, dots)
		}
	}
}

// peaks returns the different peaks of all series.
func (l *layout) peaks() (all []float64) {
	for _, s := range l.c.Series {
		for _, p := range s.Points {
			if p.Peak > 0 && !slices.Contains(all, p.Peak) {
				all = append(all, p.Peak)
			}
		}
	}
	return all
}

// drawAcross draws values without a place on the axis from side to side, such as a published maximum. It is called last,
// because such a line must not be hidden.
func (l *layout) drawAcross(k canvas) {
	for i := range l.c.Series {
		s := &l.c.Series[i]
		for _, p := range s.Points {
			if p.Label != "" {
				continue
			}
			// Narrow, so that values near the line can still be selected.
			y := l.y.at(p.Y)
			const reach = 5
			k.begin(l.tip(s, p), box{l.plot.left, y - reach, l.plot.right, y + reach})
			k.line([]xy{{l.plot.left, y}, {l.plot.right, y}}, acrossPen(s))
			l.whisker(k, l.plot.right-10, p, paint(s.colour))
			k.end()
		}
	}
}

// acrossPen returns the pen of such a line. Its dashes are longer than those of conditions.
func acrossPen(s *series) pen { return pen{paint: paint(s.colour), width: 2, dash: []float64{10, 4}} }

// across reports whether no value of the series has a place on the axis. The legend shows such a series like drawAcross.
func across(s *series) bool {
	return !slices.ContainsFunc(s.Points, func(p point) bool { return p.Label != "" })
}
