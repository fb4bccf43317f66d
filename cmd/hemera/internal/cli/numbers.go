package cli

import (
	"math"
	"strconv"
	"strings"

	"hemera/app/config"
)

// ParseCount reads a number with k, M, G, T or P, powers of 1000, as limits, bounds and counts are
// written. A fraction ("1.5T") must come out whole. It is false for what is none or above most.
func ParseCount(text string, most int64) (int64, bool) {
	unit := 1.0
	if text != "" {
		if i := strings.IndexByte("kMGTP", text[len(text)-1]); i >= 0 {
			text, unit = text[:len(text)-1], math.Pow(1000, float64(i+1))
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n * int64(unit), n >= 0 && n <= most/int64(unit)
	}
	if strings.Trim(text, "0123456789.") != "" { // no signs, exponents and names of floats
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	f = math.Round(f*unit*1e3) / 1e3 // 0.1 has no exact float
	return int64(f), err == nil && f == math.Trunc(f) && f <= float64(most)
}

// ParseSize is parseCount for bytes: units may be written out too, as in settings: 10TB, 10TiB.
func ParseSize(text string, most int64) (int64, bool) {
	if n, ok := ParseCount(text, most); ok {
		return n, true
	}
	n, err := config.ParseBytes(text)
	return int64(n), err == nil && int64(n) <= most
}
