package errs

import "strings"

// Plain is the text of an error for somebody who does not know the program's packages:
// "namespace.Stat /f: …" begins with "stat".
func Plain(text string) string {
	pkg, rest, ok := strings.Cut(text, ".")
	inner := func(r rune) bool { return r < 'a' || r > 'z' }
	if !ok || strings.ContainsFunc(pkg, inner) || rest == "" || rest[0] < 'A' || rest[0] > 'Z' {
		return text
	}
	return strings.ToLower(rest[:1]) + rest[1:]
}
