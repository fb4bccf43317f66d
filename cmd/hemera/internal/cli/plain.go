package cli

import (
	"regexp"
	"strings"
	"unicode"
)

// marks matches what servers put behind an error for those who look it up: the trace id and the protocol's code.
func marks() (trace, code *regexp.Regexp) {
	return regexp.MustCompile(` \[trace ([0-9A-Za-z._-]{1,64})\]`), regexp.MustCompile(` \([0-9]{4}\)$`)
}

// inWords writes the operations of commands, such as "hemera.FsAdd", as a person types them: "fs add".
func inWords(text string) string {
	ofCommand := regexp.MustCompile(`\bhemera\.[A-Z][A-Za-z]*`)
	return ofCommand.ReplaceAllStringFunc(text, func(op string) string {
		var b strings.Builder
		for i, r := range strings.TrimPrefix(op, "hemera.") {
			if unicode.IsUpper(r) && i > 0 {
				b.WriteByte(' ')
			}
			b.WriteRune(unicode.ToLower(r))
		}
		return b.String()
	})
}

// plainly returns an error's text for a person, and the trace id in it: what it is about and what happened. It leaves
// out the operations inside Hemera, what an earlier part said in the same words, and the protocol's code.
func plainly(text string) (plain, trace string) {
	traces, code := marks()
	text = code.ReplaceAllString(inWords(text), "")
	if m := traces.FindStringSubmatch(text); m != nil {
		trace, text = m[1], traces.ReplaceAllString(text, "")
		text = code.ReplaceAllString(text, "")
	}
	parts := strings.Split(text, ": ")
	var out []string
	for i, part := range parts {
		last := i == len(parts)-1
		op, subject, _ := strings.Cut(part, " ")
		switch {
		case isInternal(op) && (subject == "" || len(out) > 0 || last) && !(last && len(out) == 0):
			continue // a step inside Hemera, which only its developers know
		case isInternal(op) && subject != "":
			part = subject
		}
		if !last && alreadySaid(out, part) {
			continue
		}
		out = append(out, part)
	}
	return strings.Join(out, ": "), trace
}

// isInternal is true for the name of an operation inside Hemera, such as "namespace.Stat".
func isInternal(word string) bool {
	pkg, verb, ok := strings.Cut(word, ".")
	isLower := func(r rune) bool { return r >= 'a' && r <= 'z' }
	isLetter := func(r rune) bool { return isLower(r) || r >= 'A' && r <= 'Z' }
	if !ok || pkg == "" || verb == "" {
		return false
	}
	if strings.ContainsFunc(pkg, func(r rune) bool { return !isLower(r) }) || strings.ContainsFunc(verb, func(r rune) bool { return !isLetter(r) }) {
		return false
	}
	return !isLower(rune(verb[0])) || pkg == "admin"
}

// alreadySaid is true if a part of an error only repeats an earlier one, or the path in it.
func alreadySaid(before []string, part string) bool {
	path := part[strings.LastIndexByte(part, ' ')+1:]
	if !strings.Contains(path, "/") {
		path = ""
	}
	for _, b := range before {
		samePath := strings.HasSuffix(b, " "+path) || b == path || strings.HasPrefix(path, "/") && strings.HasSuffix(b, "/"+path)
		if b == part || path != "" && samePath {
			return true
		}
	}
	return false
}
