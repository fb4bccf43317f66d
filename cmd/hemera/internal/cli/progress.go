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

// Bar draws a percentage in a number of characters: "[######..................] 25.0%".
// width is that of the bar alone, without brackets and number.
func Bar(percent float64, width int) string {
	// A file that grows during a copy has more than 100 %.
	done := min(width, max(0, int(percent/100*float64(width))))
	return fmt.Sprintf("[%s%s] %.1f%%", strings.Repeat("#", done), strings.Repeat(".", width-done), percent)
}

// Fitted returns the first of the forms that has room in width characters, or the cut last one.
// There is at least one form.
func Fitted(width int, forms []string) string {
	for _, s := range forms {
		if utf8.RuneCountInString(s) <= width {
			return s
		}
	}
	return Cut(forms[len(forms)-1], width)
}

// Cut shortens a line to width characters, so that redrawing it does not leave rests on the next line. 0 means no limit.
// It counts runes: wide characters, as of Chinese, may still reach into the next line.
func Cut(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}
