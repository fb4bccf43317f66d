package report

import "math"

const (
	// courseMax bounds the points of a course in a line; more would be finer than the picture.
	courseMax = 600
	// courseTips is the number of its points that a pointer or the keyboard can select.
	courseTips = 40
)

// drawCourse draws values over time, without marks and whiskers, because every sample is a point.
func (l *layout) drawCourse(k canvas) {
	for i := range l.c.Series {
		s := &l.c.Series[i]
		var line []xy
		for _, p := range thin(s.Points, courseMax) {
			line = append(line, l.place(p))
		}
		k.line(line, pen{paint: paint(s.colour), width: 1.4, dash: dashes(l.dashOf(s))})
		// The tip of a point extends to the middle of its neighbours.
		shown := thin(s.Points, courseTips)
		for j, p := range shown {
			at := l.place(p)
			// The first and the last extend to the sides.
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

// thin returns about most of the points at most: of each part the lowest and the highest value, in their order. A mean
// would hide the extremes.
func thin(points []point, most int) []point {
	if len(points) <= most {
		return points
	}
	// Two points are kept of each part.
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
		// A flat part gives one point.
		kept = append(kept, part[min(low, high)])
		if low != high {
			kept = append(kept, part[max(low, high)])
		}
	}
	return kept
}
