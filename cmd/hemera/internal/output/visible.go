package output

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible is a text that a terminal shows and does not obey: what is not printable becomes an escape as
// in Go, \x1b or \u202e. Names come from other users, and errors from other servers. Ends of lines and
// tabs stay.
func Visible(s string) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		if !hidden(r) && (r != utf8.RuneError || size > 1) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.Quote(s[i : i+size])
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }
