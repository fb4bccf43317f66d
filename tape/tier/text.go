package tier

import (
	"errors"
	"strconv"
	"strings"

	"hemera/tape/mounting"
	"hemera/words/errs"
)

// count returns a number with its noun.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// named returns an error about a file with the path that people know it by.
func named(err error, op, path string) error {
	var e *errs.Error
	if !errors.As(err, &e) || e.Text == "" {
		return err
	}
	return errs.New(e.Kind, op, path, e.Text).WithRemedy(errs.RemedyOf(err))
}

// typed returns the command in a remedy.
func typed(remedy string) string {
	// Remedies are sentences around one command, some with another way behind
	// it.
	at := strings.Index(remedy, "hemera ")
	if at < 0 {
		return remedy
	}
	command, _, _ := strings.Cut(remedy[at:], ", or ")
	return strings.TrimRight(command, "`")
}

// withRemedy returns a reason with the command that can be typed.
func withRemedy(r mounting.Reason) string {
	if r.Remedy == "" {
		return r.Text
	}
	return r.Text + " (" + r.Remedy + ")"
}
