package cli

import (
	"net"
	"regexp"
	"strings"

	"hemera/words/errs"
)

// marks returns patterns for the additions of servers to an error: the trace id and the protocol's code. They are
// compiled at each use, because most commands print no error.
func marks() (trace, code *regexp.Regexp) {
	return regexp.MustCompile(` \[trace ([0-9A-Za-z._-]{1,64})\]`), regexp.MustCompile(` \([0-9]{4}\)$`)
}

// ofCommands is the prefix of operations of commands, such as "hemera.FsAdd", which are printed as the user types them.
const ofCommands = "hemera."

// plainly returns an error's text for a person, and the trace id in it. The first operation is printed in words. It
// leaves out operations inside Hemera, repetitions, and the protocol's code.
func plainly(text string) (plain, trace string) {
	traces, code := marks()
	text = code.ReplaceAllString(text, "")
	if m := traces.FindStringSubmatch(text); m != nil {
		trace, text = m[1], traces.ReplaceAllString(text, "")
		text = code.ReplaceAllString(text, "")
	}
	// An error's text has a part for each step that led to it.
	parts := strings.Split(text, ": ")
	var out []string
	for i, part := range parts {
		last := i == len(parts)-1
		op, subject, _ := strings.Cut(part, " ")
		switch {
		case !errs.IsOp(op):
		case strings.HasPrefix(op, ofCommands) || i == 0 && subject != "":
			part = errs.Plain(part)
		case isPlace(subject) && !last:
			part = subject
		case !last || len(out) > 0:
			continue // an internal step
		}
		if !last && alreadySaid(out, part) {
			continue
		}
		out = append(out, part)
	}
	return strings.Join(out, ": "), trace
}

// isPlace reports whether an operation's subject has a meaning for a user: a path or an address, and not an id such as
// fid:7.
func isPlace(subject string) bool {
	if strings.HasPrefix(subject, "fid:") || strings.Contains(subject, " ") {
		return false
	}
	_, port, err := net.SplitHostPort(subject)
	return strings.Contains(subject, "/") || err == nil && port != ""
}

// alreadySaid reports whether a part of an error only repeats an earlier one, or the path in it.
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
