// Package lint holds the rules of the source tree as tests: which package may import which, how
// large files and functions may be, what must be documented, which words may not appear. Run it
// with go test ./internal/lint; a failure names the file, the rule and the reason for the rule.
package lint
