package output

import (
	"fmt"
	"strings"
	"time"

	"hemera/words/hemera"
)

// Bytes shows a number of bytes in decimal units, as disks are sold: "4.00 TB".
// nil is unknown and shows as nothing. Two digits after the point, from kB on.
func Bytes(v any) string {
	if v == nil {
		return ""
	}
	return hemera.FormatSize(number(v))
}

// Percent shows a percentage.
// nil is unknown.
func Percent(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.2f%%", number(v))
}

// Seconds shows a number of seconds as a duration: "1h2m3s".
// Fractions are shown below a minute, to a tenth; longer durations to the second. nil is unknown.
func Seconds(v any) string {
	if v == nil {
		return ""
	}
	d := time.Duration(number(v) * float64(time.Second))
	// Fractions matter for seconds only.
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Estimate shows a number of seconds that is estimated, as Seconds does. 0 is unknown, and shows as "-".
func Estimate(v any) string {
	if number(v) == 0 {
		return "-"
	}
	return Seconds(v)
}

// Time shows seconds since 1970 in the reader's time zone; zero is "never".
func Time(v any) string {
	if number(v) == 0 {
		return "never"
	}
	return time.Unix(int64(number(v)), 0).Format("2006-01-02 15:04:05")
}

// Digits makes a Show that prints n digits after the point.
// An unknown value is 0.
func Digits(n int) func(any) string {
	return func(v any) string { return fmt.Sprintf("%.*f", n, number(v)) }
}

// Auto makes a Show that prints a zero, which leaves the choice to the system, as "auto".
func Auto(show func(any) string) func(any) string {
	return func(v any) string {
		if number(v) == 0 {
			return "auto"
		}
		return show(v)
	}
}

// number reads any of the numeric types that records have. Other values are 0.
// float64 holds integers exactly up to 2^53, which is 9 PB: enough for text with three digits.
func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case uint32:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// Count writes a number with the singular or plural of what is counted: "1 file", "2 files".
// It knows the plurals that this program needs: -s, and -ies for -y.
func Count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	// entry, directory, copy
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
