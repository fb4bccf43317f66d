package cli

import (
	"net"
	"regexp"
	"strings"

	"hemera/errs"
)

// marks are what servers put behind an error for those who look it up: the trace id, the protocol's code.
// They are made anew at each use: a package has no state.
func marks() (trace, code *regexp.Regexp) {
	return regexp.MustCompile(` \[trace ([0-9A-Za-z._-]{1,64})\]`), regexp.MustCompile(` \([0-9]{4}\)$`)
}

// commands is the package that operations of commands name: "hemera.FsAdd".
const commands = "hemera"

// plainly returns an error's text for people: what it is about, and what happened. The first operation is in words. It
// leaves out the operations that led to the failure, text that repeats what was said before, the code and the trace, which
// it returns beside.
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
		case !errs.IsOp(op):
		case i == 0 && (subject != "" || strings.HasPrefix(op, commands+".")):
			part = errs.Plain(part)
		case place(subject) && !last:
			part = subject
		case !last || len(out) > 0:
			continue // the step tells only those who know the source
		}
		if !last && said(out, part) {
			continue
		}
		out = append(out, part)
	}
	return strings.Join(out, ": "), trace
}

// place reports whether an operation's subject means something to a user: a path or an address, as opposed to an id.
func place(subject string) bool {
	if strings.HasPrefix(subject, "fid:") || strings.Contains(subject, " ") {
		return false
	}
	_, port, err := net.SplitHostPort(subject)
	return strings.Contains(subject, "/") || err == nil && port != ""
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
