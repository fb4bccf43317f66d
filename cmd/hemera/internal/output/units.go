package output

import (
	"fmt"
	"strings"
	"time"

	"hemera/words/hemera"
)

// Bytes shows a number of bytes in decimal units, as with disks: "4.00 TB". nil is unknown and shown as nothing. From kB
// on it has two digits after the point.
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

// Seconds shows a number of seconds as a duration: "1h2m3s". Below a minute it shows tenths of seconds. nil is unknown.
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

// Estimate shows an estimated number of seconds like Seconds. 0 is unknown, and shown as "-".
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

// Digits returns a Show that prints n digits after the point. An unknown value counts as 0.
func Digits(n int) func(any) string {
	return func(v any) string { return fmt.Sprintf("%.*f", n, number(v)) }
}

// Auto returns a Show that prints zero, which leaves the choice to the system, as "auto".
func Auto(show func(any) string) func(any) string {
	return func(v any) string {
		if number(v) == 0 {
			return "auto"
		}
		return show(v)
	}
}

// number converts any of the numeric types of records. Other values are 0. float64 has integers exactly up to 2^53, which
// is 9 PB: enough for text with three digits.
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

// Count returns a number with the singular or plural of a noun: "1 file", "2 files". It makes the plurals -s, and -ies
// for -y.
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
