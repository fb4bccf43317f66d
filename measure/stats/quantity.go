package stats

import (
	"fmt"
	"math"
	"strings"
)

// Quantity formats a value and its standard deviation with a suitable prefix for the value: 5.87 ± 0.02 GB/s. A fraction
// is in percent, and a deviation of 0 is left out.
func Quantity(value, sd float64, unit string) string {
	scale := ScaleOf(value, unit)
	text := Digits(value / scale.Factor)
	if sd > 0 {
		text += " ± " + Digits(sd/scale.Factor)
	}
	return strings.TrimSpace(text + " " + scale.Unit)
}

// Scale is a unit for people: values of a result are divided by Factor.
type Scale struct {
	Factor float64
	Unit   string // with its prefix: MB/s, ms, k/s, %
}

// ScaleOf returns the unit for values of about the size of v. Prefixes are decimal, as with rates of networks and disks.
func ScaleOf(v float64, unit string) Scale {
	// Work per joule is published with binary prefixes, whatever its size.
	if unit == "B/J" {
		return Scale{Factor: 1 << 20, Unit: "MiB/J"}
	}
	factor, prefix := 1.0, ""
	switch unit {
	case "1": // a fraction
		return Scale{0.01, "%"}
	case "":
		return Scale{1, ""}
	case "1/s", "1/J": // "k/s" and not "k1/s": operations have no letter
		unit = unit[1:]
	}
	a := math.Abs(v)
	for _, p := range []Scale{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}} {
		if a >= p.Factor {
			factor, prefix = p.Factor, p.Unit
			break
		}
	}
	return Scale{factor, prefix + unit}
}

// Digits formats a number with three significant digits, and whole numbers of more digits completely. A few iterations do
// not justify more digits.
func Digits(v float64) string {
	a := math.Abs(v)
	switch {
	case a == 0 || a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
