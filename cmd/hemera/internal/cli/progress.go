package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// BarForms are a line with bars of several lengths.
func BarForms(line func(bar int) string) []string {
	return []string{line(24), line(16), line(10), line(4)}
}

// Bar draws a percentage: "[######..................] 25.0%".
func Bar(percent float64, width int) string {
	done := min(width, max(0, int(percent/100*float64(width))))
	return fmt.Sprintf("[%s%s] %.1f%%", strings.Repeat("#", done), strings.Repeat(".", width-done), percent)
}

// Fitted is the first of the forms that one line of the terminal has room for, the last in any case.
func Fitted(width int, forms []string) string {
	for _, s := range forms {
		if utf8.RuneCountInString(s) <= width {
			return s
		}
	}
	return Cut(forms[len(forms)-1], width)
}

// Cut keeps a line that moves on one line of the terminal.
func Cut(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}
