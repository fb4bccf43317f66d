package cli

import (
	"math"
	"strconv"
	"strings"

	"hemera/process/config"
)

// ParseCount parses a whole number with an optional k, M, G, T or P, which are powers of 1000. "1.5T" is allowed if the
// result is whole. It returns false for other texts, negative numbers and numbers above most.
func ParseCount(text string, most int64) (int64, bool) {
	unit := 1.0
	if text != "" {
		if i := strings.IndexByte("kMGTP", text[len(text)-1]); i >= 0 {
			// Powers of 1000, as with disks; powers of 1024 have an i (TiB), see ParseSize.
			text, unit = text[:len(text)-1], math.Pow(1000, float64(i+1))
		}
	}
	// Whole numbers are not converted to float, which has only 53 bits.
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n * int64(unit), n >= 0 && n <= most/int64(unit)
	}
	if strings.Trim(text, "0123456789.") != "" { // no signs, exponents and names of floats
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	// To a thousandth, so that 0.1k is 100 and not 100.00000000000001.
	f = math.Round(f*unit*1e3) / 1e3 // 0.1 has no exact float
	return int64(f), err == nil && f == math.Trunc(f) && f <= float64(most)
}

// ParseSize parses a number of bytes: as ParseCount does, or with a unit as in settings (10TB, 10TiB).
func ParseSize(text string, most int64) (int64, bool) {
	if n, ok := ParseCount(text, most); ok {
		return n, true
	}
	n, err := config.ParseBytes(text)
	return int64(n), err == nil && int64(n) <= most
}
