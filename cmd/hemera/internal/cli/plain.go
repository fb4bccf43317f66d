package cli

import (
	"regexp"
	"strings"
)

// marks are what servers put behind an error for those who look it up: the trace id, the protocol's code.
// They are made anew at each use: a package has no state.
func marks() (trace, code *regexp.Regexp) {
	return regexp.MustCompile(` \[trace ([0-9A-Za-z._-]{1,64})\]`), regexp.MustCompile(` \([0-9]{4}\)$`)
}

// plainly is an error for people: what it is about, and what happened. It leaves out the names of the
// operations inside Hemera, what was said before in the same words, the code and the trace, which it
// returns beside.
func plainly(text string) (plain, trace string) {
	traces, code := marks()
	text = code.ReplaceAllString(text, "")
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
		case internal(op) && (subject == "" || len(out) > 0 || last) && !(last && len(out) == 0):
			continue // the step inside tells only those who know the source
		case internal(op) && subject != "":
			part = subject
		}
		if !last && said(out, part) {
			continue
		}
		out = append(out, part)
	}
	return strings.Join(out, ": "), trace
}

// internal reports whether a word is the name of an operation inside Hemera, as "namespace.Stat".
func internal(word string) bool {
	pkg, verb, ok := strings.Cut(word, ".")
	letter := func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }
	if !ok || pkg == "" || verb == "" || strings.ContainsFunc(pkg, func(r rune) bool { return r < 'a' || r > 'z' }) || strings.ContainsFunc(verb, letter) {
		return false
	}
	return verb[0] >= 'A' && verb[0] <= 'Z' || pkg == "admin"
}

// said reports whether a part of an error names a path that one before it has named.
func said(before []string, part string) bool {
	path := part[strings.LastIndexByte(part, ' ')+1:]
	if !strings.Contains(path, "/") {
		path = ""
	}
	for _, b := range before {
		if b == part || path != "" && (strings.HasSuffix(b, " "+path) || b == path || strings.HasPrefix(path, "/") && strings.HasSuffix(b, "/"+path)) {
			return true
		}
	}
	return false
}
