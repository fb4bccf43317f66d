package report

import (
	"math"

	"hemera/measure/stats"
)

// filled is the fraction of a word's place that its bars fill.
const filled = 0.78

// drawBars draws the values of each word beside each other, with their whiskers and peaks. Every series has its place in
// every word, also without a value, so that a series can be found by its place.
func (l *layout) drawBars(k canvas) {
	slot := l.x.at(1) - l.x.at(0)
	wide := slot * filled / float64(len(l.c.Series))
	for i := range l.c.Series {
		s := &l.c.Series[i]
		for _, p := range s.Points {
			if p.Label == "" {
				continue
			}
			// The whole height shows the tip, because a low bar is hard to point at.
			left := l.x.at(p.X) - slot*filled/2 + wide*float64(i)
			k.begin(l.tip(s, p), box{left, l.plot.top, left + wide, l.plot.bottom})
			l.bar(k, left, wide, s, p)
			k.end()
		}
	}
}

// bar draws one bar, with its value above if there is room. Values below 0 hang from the axis.
func (l *layout) bar(k canvas, left, wide float64, s *series, p point) {
	zero, y := l.y.at(0), l.y.at(p.Y)
	// Neighbours have a gap, unless they are thin.
	space := math.Min(1.5, wide/6)
	k.rect(xy{left + space, math.Min(zero, y)}, wide-2*space, math.Abs(zero-y), paint(s.colour), l.opacity(s))
	// Thin bars have no whiskers, which would hide them.
	middle := left + wide/2
	if wide > 8 {
		l.whisker(k, middle, p, ink)
	}
	if p.Peak > 0 {
		high := l.y.at(p.Peak)
		k.line([]xy{{left, high}, {left + wide, high}}, peakPen())
	}
	// Smaller than other words, so that neighbours do not touch.
	const small = 10.5
	text := stats.Digits(p.Y / l.unit.Factor)
	if l.ruler.width(text, small) <= wide {
		at := l.y.at(p.Y+p.SD) - 4
		if p.Y < 0 {
			at = l.y.at(p.Y-p.SD) + small + 2
		}
		k.text(xy{middle, at}, text, words{paint: ink, size: small, align: 0.5})
	}
}

// drawStacks draws the parts of each word on each other, the first series at the bottom. Without whiskers: those of parts
// say nothing about the sum.
func (l *layout) drawStacks(k canvas) {
	slot := l.x.at(1) - l.x.at(0)
	// Two stacks as wide as the picture would look like one area.
	const widest = 90
	wide := math.Min(slot*filled, widest)
	tops := map[float64]float64{} // of the stacks so far, by X
	for i := range l.c.Series {
		s := &l.c.Series[i]
		for _, p := range s.Points {
			if p.Label == "" || p.Y < 0 { // no part of a whole
				continue
			}
			from := tops[p.X]
			tops[p.X] += p.Y
			left, high, low := l.x.at(p.X)-wide/2, l.y.at(tops[p.X]), l.y.at(from)
			k.begin(l.tip(s, p), box{left, high, left + wide, low})
			k.rect(xy{left, high}, wide, low-high, paint(s.colour), 1)
			// A thin line of the background between two parts.
			k.line([]xy{{left, low}, {left + wide, low}}, pen{paint: surface, width: 1})
			k.end()
		}
	}
}
