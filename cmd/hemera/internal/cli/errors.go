package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// usageError is an error of the command line; its exit code is ExitUsage.
type usageError struct{ err error }

// Usage marks err as an error of the command line.
func Usage(err error) error { return &usageError{err} }

// Error implements error.
func (u *usageError) Error() string { return u.err.Error() }

// Unwrap returns the wrapped error.
func (u *usageError) Unwrap() error { return u.err }

// advisedError adds a remedy to an error. It exists beside errs.Error because a remedy may depend on the command, which
// the package that fails does not know.
type advisedError struct {
	err    error
	remedy string
}

// Advised adds a remedy to an error.
func Advised(err error, remedy string) error { return &advisedError{err, remedy} }

// Error implements error.
func (a *advisedError) Error() string { return a.err.Error() }

// Unwrap returns the wrapped error.
func (a *advisedError) Unwrap() error { return a.err }

// Advise adds a remedy to an error of the kind if it has none. It returns nil for nil. The error keeps its kind.
func Advise(err error, kind errs.Kind, remedy string) error {
	if !errors.Is(err, kind) || errs.RemedyOf(err) != "" {
		return err
	}
	return Advised(err, remedy)
}

// remedyOf returns the remedy of an error, or "". The remedy of the error itself precedes that of the command, because it
// is more specific.
func remedyOf(err error) string {
	if remedy := errs.RemedyOf(err); remedy != "" {
		return remedy
	}
	if only, ok := errors.AsType[*advisedError](err); ok {
		return only.remedy
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return "add --help to see how the command is used"
	}
	return missing(err)
}

// missing returns the remedy for a path of the cluster that does not exist, or "" for other errors.
func missing(err error) string {
	e, ok := errors.AsType[*errs.Error](err)
	if !ok || !errors.Is(err, errs.NotFound) {
		return ""
	}
	at := e.Subject
	if u, err := xrootd.ParseURL(at); err == nil {
		at = u.Path
	} else if !strings.HasPrefix(e.Op, "namespace.") && !strings.HasPrefix(e.Op, "manager.") {
		return "" // perhaps a path of this machine
	}
	if at = hemera.PlainPath(at); !strings.HasPrefix(at, "/") || at == "/" {
		return ""
	}
	return "hemera ls " + path.Dir(at) + " shows what is there; if it was removed, hemera recycle ls " + at + " may have it"
}

// traceOf returns the trace id of the failed request in the servers' logs, or "".
func traceOf(err error) string {
	_, trace := plainly(err.Error())
	return cmp.Or(admin.TraceOf(err), trace)
}

// report prints the error of a command: for a person on Err, and with -j also on Out, with the exit code. Run calls it
// once.
func (c *Console) report(err error, code int) {
	// With -j standard output is one JSON object, also if the command failed.
	if c.json {
		// Without earlier output: an empty result list.
		if c.open == nil {
			c.open = c.Printer().Stream(nil)
		}
		_ = c.open.Fail(code, errs.Plain(err.Error()), remedyOf(err), traceOf(err))
	}
	c.Complain(err)
}

// Complain prints an error for a person, with its remedy and the trace id for the server's log. Texts may come from other
// servers, so control characters are made visible.
func (c *Console) Complain(err error) {
	text, trace := c.Explain(err.Error())
	fmt.Fprintf(c.Err, "hemera: %s\n", text)
	if remedy := remedyOf(err); remedy != "" {
		fmt.Fprintf(c.Err, "  what to do: %s\n", output.Visible(remedy))
	}
	if trace = cmp.Or(admin.TraceOf(err), trace); trace != "" {
		fmt.Fprintf(c.Err, "  trace: %s\n", trace)
	}
}

// Explain returns the text of an error for a person and the trace id in it. With --verbose it returns the whole text.
func (c *Console) Explain(text string) (string, string) {
	plain, trace := plainly(text)
	if c.verbose {
		first, steps, _ := strings.Cut(text, ": ")
		return output.Visible(strings.TrimSuffix(errs.Plain(first)+": "+steps, ": ")), ""
	}
	return output.Visible(plain), trace
}
