package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// BarForms returns a line with bars of several lengths, the longest first, for Fitted.
func BarForms(line func(bar int) string) []string {
	return []string{line(24), line(16), line(10), line(4)}
}

// Bar formats a percentage as a bar: "[######..................] 25.0%". width is the length of the bar without brackets
// and number.
func Bar(percent float64, width int) string {
	// A file that grows during a copy may exceed 100 %.
	done := min(width, max(0, int(percent/100*float64(width))))
	return fmt.Sprintf("[%s%s] %.1f%%", strings.Repeat("#", done), strings.Repeat(".", width-done), percent)
}

// Fitted returns the first of the forms with at most width characters, or the cut last one. There is at least one form.
func Fitted(width int, forms []string) string {
	for _, s := range forms {
		if utf8.RuneCountInString(s) <= width {
			return s
		}
	}
	return Cut(forms[len(forms)-1], width)
}

// Cut shortens a line to width characters, so that a redrawn line does not continue on the next. 0 means no limit. It
// counts runes: wide characters, such as Chinese, may still exceed the line.
func Cut(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}
