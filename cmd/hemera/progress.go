package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// barForms are a line with bars of several lengths.
func barForms(line func(bar int) string) []string {
	return []string{line(24), line(16), line(10), line(4)}
}

// bar draws a percentage: "[######..................] 25.0%".
func bar(percent float64, width int) string {
	done := min(width, max(0, int(percent/100*float64(width))))
	return fmt.Sprintf("[%s%s] %.1f%%", strings.Repeat("#", done), strings.Repeat(".", width-done), percent)
}

// fitted is the first of the forms that one line of the terminal has room for, the last in any case.
func fitted(width int, forms []string) string {
	for _, s := range forms {
		if utf8.RuneCountInString(s) <= width {
			return s
		}
	}
	return cut(forms[len(forms)-1], width)
}

// cut keeps a line that moves on one line of the terminal.
func cut(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}
