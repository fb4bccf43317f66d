package report

import "math"

const (
	// courseMax is the number of points of a course that a line shows; more would be finer than the picture.
	courseMax = 600
	// courseTips is the number of its points that one can point at, or reach by the keyboard.
	courseTips = 40
)

// drawCourse draws values over time.
// There are no marks and no whiskers: every sample is its own point.
func (l *layout) drawCourse(k canvas) {
	for i := range l.c.Series {
		s := &l.c.Series[i]
		var line []xy
		for _, p := range thin(s.Points, courseMax) {
			line = append(line, l.place(p))
		}
		k.line(line, pen{paint: paint(s.colour), width: 1.4, dash: dashes(l.dashOf(s))})
		// Each tip has a stripe from the one before to the next.
		shown := thin(s.Points, courseTips)
		for j, p := range shown {
			at := l.place(p)
			// The first and the last reach to the sides.
			left, right := l.plot.left, l.plot.right
			if j > 0 {
				left = (l.place(shown[j-1]).x + at.x) / 2
			}
			if j+1 < len(shown) {
				right = (l.place(shown[j+1]).x + at.x) / 2
			}
			const reach = 12
			k.begin(l.tip(s, p), box{left, at.y - reach, right, at.y + reach})
			k.end()
		}
	}
}

// thin is at most about most of the points: of each stretch its lowest and its highest value, in their order. A mean would hide
// what a course is looked at for.
func thin(points []point, most int) []point {
	if len(points) <= most {
		return points
	}
	// Two points are kept of each stretch.
	stretch := int(math.Ceil(float64(2*len(points)) / float64(most)))
	var kept []point
	for from := 0; from < len(points); from += stretch {
		part := points[from:min(from+stretch, len(points))]
		low, high := 0, 0 // of the part, by index
		for i, p := range part {
			if p.Y < part[low].Y {
				low = i
			}
			if p.Y > part[high].Y {
				high = i
			}
		}
		// A flat stretch gives one point.
		kept = append(kept, part[min(low, high)])
		if low != high {
			kept = append(kept, part[max(low, high)])
		}
	}
	return kept
}
