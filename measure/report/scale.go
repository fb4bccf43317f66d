package report

import (
	"math"
	"strconv"
)

// axis maps values to places on the canvas, linearly or by the logarithm.
type axis struct {
	low, high float64 // values
	from, to  float64 // the places of both
	log       bool    // then low is above 0
}

// at returns the place of a value, also of values outside. An axis of one value has it in the middle.
func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		v, low, high = math.Log2(max(v, a.low)), math.Log2(low), math.Log2(high)
	}
	if high == low {
		return (a.from + a.to) / 2
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// ticks returns about count round values from low to high, with steps of 1, 2, 2.5 or 5 times a power of ten. The first
// is not above low, and the last not below high, so that they are the ends of an axis.
func ticks(low, high float64, count int) (all []float64) {
	if !(high > low) || math.IsInf(high-low, 0) || count < 1 { // also for NaN
		return []float64{low}
	}
	step := niceStep((high - low) / float64(count))
	// Multiples and not sums: a hundred additions of 0.1 do not give 10.
	for i := math.Floor(low/step + 1e-9); ; i++ {
		all = append(all, i*step)
		if i*step >= high*(1-1e-9) || len(all) > 4*count+2 {
			return all
		}
	}
}

// niceStep returns the smallest round step that is not below raw, which is above 0.
func niceStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	// A little below counts as equal, because divisions are not exact.
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= raw*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// tickText returns the text of a tick: with no more digits than it needs.
func tickText(v float64) string {
	// Products of floats have spurious digits.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if rounded == 0 {
		return "0"
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// xText returns a number on the axis of conditions. Bytes have binary prefixes if they are whole multiples.
func xText(v float64, bytes bool) string {
	if bytes {
		for _, u := range []struct {
			factor float64
			name   string
		}{{1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}, {1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"}} {
			if n := v / u.factor; n >= 1 && n == math.Trunc(n) {
				return tickText(n) + u.name
			}
		}
	}
	return tickText(v)
}
