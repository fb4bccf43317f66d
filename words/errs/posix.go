package errs

import "strings"

// posix are the words in which stock servers' texts end, by the kind of failure: those of strerror(3) for the error that a
// program would get from a file system in its place. Clients such as fsspec-xrootd look for them. A text that has any of the
// words of its kind gets no others; one that has none gets the first. docs/protocol.md lists the first; a test compares.
var posix = [...][]string{
	Internal:        {"input/output error"},
	Invalid:         {"invalid argument"},
	NotFound:        {"no such file or directory"},
	Exists:          {"file exists"},
	IsDirectory:     {"is a directory"},
	NotDirectory:    {"not a directory"},
	NotEmpty:        {"directory not empty"},
	Denied:          {"permission denied", "operation not permitted"},
	Unauthenticated: {"permission denied"},
	NoSpace:         {"no space left on device"},
	OverQuota:       {"disk quota exceeded"},
	IO:              {"input/output error"},
	Corrupt:         {"input/output error"},
	Locked:          {"device or resource busy"},
	Conflict:        {"stale file handle"},
	Unavailable:     {"resource temporarily unavailable"},
	Unsupported:     {"operation not supported"},
	TooLarge:        {"argument list too long", "file name too long", "file too large"},
	ReadOnly:        {"read-only file system"},
	Cancelled:       {"operation canceled"},
	Timeout:         {"connection timed out"},
	BadHandle:       {"bad file descriptor"},
	NoReplicas:      {"input/output error"},
	NoAttribute:     {"no data available"},
	Fenced:          {"stale file handle"},
	Overloaded:      {"resource temporarily unavailable"},
}

// Posix returns the words of a kind, for [WithPosix].
func Posix(kind Kind) []string {
	if int(kind) >= len(posix) { // of a newer version, by rpc
		kind = Internal
	}
	return posix[kind]
}

// WithPosix adds the first of the words to a text that has none of them.
func WithPosix(text string, words []string) string {
	lower := strings.ToLower(text)
	for _, w := range words {
		if strings.Contains(lower, w) {
			return text
		}
	}
	return text + "; " + words[0]
}

// Text returns the error's text with the words of its kind.
func Text(err error) string { return WithPosix(err.Error(), Posix(KindOf(err))) }
