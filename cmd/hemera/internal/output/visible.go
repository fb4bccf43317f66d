package output

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns a text that cannot control a terminal: characters that are not printable become an escape as in Go,
// \x1b or \u202e. Names come from other users, and errors from other servers. Ends of lines and tabs stay.
func Visible(s string) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	// Rune by rune: a byte that is not UTF-8 becomes its own escape, and the rest stays readable.
	for rest := s; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if hidden(r) || r == utf8.RuneError && size == 1 {
			quoted := strconv.Quote(rest[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
		rest = rest[size:]
	}
	return b.String()
}

// hidden reports whether a terminal would interpret the rune.
func hidden(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }
