package errs

import (
	"strings"
	"unicode"
)

// Plain is the text of an error for somebody who does not know the program's packages:
// "namespace.Stat /f: …" begins with "stat", "namespace.SetMode /f: …" with "set mode".
func Plain(text string) string {
	pkg, rest, ok := strings.Cut(text, ".")
	inner := func(r rune) bool { return r < 'a' || r > 'z' }
	if !ok || strings.ContainsFunc(pkg, inner) || rest == "" || rest[0] < 'A' || rest[0] > 'Z' {
		return text
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(rest)
	}
	var b strings.Builder
	for i, r := range rest[:end] {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String() + rest[end:]
}
