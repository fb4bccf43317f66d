package errs

import (
	"errors"
	"strings"
	"unicode"
)

// Plain returns the text of an error for a person who does not know the program's packages. The text is that of
// [Error.Error], possibly from another process. The operation that it begins with becomes words: "namespace.SetMode /f: no" is
// "set mode /f: no", "xrootd.ParseURL x: no" is "parse url x: no". Of the operations further on only the subjects stay.
func Plain(text string) string {
	first, rest, more := strings.Cut(text, ": ")
	if !more {
		return words(first)
	}
	return words(first) + ": " + Reason(errors.New(rest), "")
}

// IsOp reports whether a word is an operation of the form that [Error.Op] has: a package's name in small letters, a dot,
// and a verb that begins with a capital.
func IsOp(word string) bool {
	pkg, verb, ok := strings.Cut(word, ".")
	small := func(r rune) bool { return 'a' <= r && r <= 'z' }
	capital := func(r rune) bool { return 'A' <= r && r <= 'Z' }
	if !ok || pkg == "" || verb == "" || !capital(rune(verb[0])) {
		return false
	}
	return !strings.ContainsFunc(pkg, func(r rune) bool { return !small(r) }) &&
		!strings.ContainsFunc(verb, func(r rune) bool { return !small(r) && !capital(r) })
}

// words writes the operation that a text begins with in words; what follows it stays. A text without one is returned as it is.
func words(text string) string {
	op, about, _ := strings.Cut(text, " ")
	if !IsOp(op) {
		return text
	}
	_, verb, _ := strings.Cut(op, ".")
	var b strings.Builder
	letters := []rune(verb)
	for i, r := range letters {
		// A word begins at a capital, but not within an abbreviation: "ParseURLPath" is "parse url path".
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if about != "" {
		b.WriteByte(' ')
	}
	return b.String() + about
}

// Reason returns an error as it is told beside its subject: without the subject, and without the names of the
// operations that led to it. A part that is nothing but an operation stays if it is the last, as there is no other text.
func Reason(err error, subject string) string {
	parts := strings.Split(err.Error(), ": ")
	var out []string
	for i, part := range parts {
		op, about, _ := strings.Cut(part, " ")
		if IsOp(op) && i < len(parts)-1 {
			part = about
		}
		if part != "" && part != subject {
			out = append(out, part)
		}
	}
	return strings.Join(out, ": ")
}
