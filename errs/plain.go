package errs

import (
	"errors"
	"strings"
	"unicode"
)

// Plain is the text of an error for somebody who does not know the program's packages:
// "namespace.Stat /f: …" begins with "stat", "namespace.SetMode /f: …" with "set mode". Of operations
// further on only the subjects stay.
func Plain(text string) string {
	first, rest, more := strings.Cut(text, ": ")
	if !more {
		return verb(first)
	}
	return verb(first) + ": " + Reason(errors.New(rest), "")
}

// verb is an operation's name in plain words.
func verb(text string) string {
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

// Reason is an error as it is told beside its subject: without the subject, and without the names of the
// operations that led to it.
func Reason(err error, subject string) string {
	parts := strings.Split(err.Error(), ": ")
	var out []string
	for i, part := range parts {
		op, about, _ := strings.Cut(part, " ")
		if verb(op) != op && i < len(parts)-1 {
			part = about
		}
		if part != "" && part != subject {
			out = append(out, part)
		}
	}
	return strings.Join(out, ": ")
}
