package files

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/copy"
	"hemera/cmd/hemera/internal/cli"
	"hemera/words/errs"
)

// After Ctrl-C, a copy of any number of files prints one line and the remedy.
func TestAnInterruptedCopyPrintsOneLine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var said bytes.Buffer
	e := &cli.Env{Console: cli.Console{Out: &bytes.Buffer{}, Err: &said, Getenv: func(string) string { return "" }}, Now: time.Now}
	told := &teller{e: e, s: e.Stream(nil), again: "go on", over: func() bool { return ctx.Err() != nil }}
	told.file("a", "b", nil)
	cancel()
	for range 7 {
		told.file("a", "b", errs.Wrap(ctx.Err(), "copy", "a"))
	}
	e.Complain(told.end(ctx, copy.Progress{Files: 1, Failed: 7, Kept: 2}, ctx.Err()))
	if want := "hemera: copy: interrupted; 1 file, 0 B copied; 2 parts kept\n  what to do: go on\n"; said.String() != want {
		t.Errorf("%q, want %q", said.String(), want)
	}
	said.Reset()
	told.file("a", "b", errs.New(errs.Denied, "open", "a", "")) // a failure of its own is told
	e.Complain(told.end(ctx, copy.Progress{Failed: 8}, ctx.Err()))
	if got := said.String(); !strings.HasPrefix(got, "hemera: open a: permission denied\nhemera: copy: interrupted") {
		t.Errorf("%q", got)
	}
}

// A file that failed because of Ctrl-C is not counted as failed.
func TestAnInterruptionIsToldOnce(t *testing.T) {
	var out strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for last, want := range map[error]bool{errs.Wrap(context.Canceled, "copy", "/f"): false, errs.New(errs.Denied, "copy", "/f", "not yours"): true} {
		out.Reset()
		err := (&teller{e: &cli.Env{Console: cli.Console{Err: &out}}, last: last}).end(ctx, copy.Progress{}, nil)
		if (out.String() != "") != want || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("%v: %q, then %v", last, &out, err)
		}
	}
}

// With --verbose a copy says which of the two ways each file takes; without it, nothing.
func TestAVerboseCopySaysTheWay(t *testing.T) {
	for _, verbose := range []bool{true, false} {
		var said bytes.Buffer
		e := &cli.Env{Console: cli.Console{Out: &bytes.Buffer{}, Err: &said, Getenv: func(string) string { return "" }}, Now: time.Now}
		root := &cobra.Command{}
		e.Connect(root)
		if err := root.PersistentFlags().Set("verbose", strconv.FormatBool(verbose)); err != nil {
			t.Fatal(err)
		}
		told := &teller{e: e}
		told.straight("root://h//a", "rs:4+2")
		told.note("root://h//b", "it has less than 16 MiB")
		want := "hemera: root://h//a goes straight between this machine and the nodes of its pieces, in layout rs:4+2\n" +
			"hemera: root://h//b goes through one node: it has less than 16 MiB\n"
		if !verbose {
			want = ""
		}
		if said.String() != want {
			t.Errorf("%q, want %q", said.String(), want)
		}
	}
}

// TestTheRemedyOfACopyThatFailed: the remedy is to repeat the copy where that continues it. If each failure has its own
// remedy, that one comes first.
func TestTheRemedyOfACopyThatFailed(t *testing.T) {
	failure := errs.New(errs.Unsupported, "copy", "/l", "a link").WithRemedy("add -L")
	for name, c := range map[string]struct {
		known int // failures with a remedy, of two
		kept  int64
		want  string
	}{
		"each has its remedy":   {2, 0, "do what each of them says above; then repeat"},
		"one has none":          {1, 0, "repeat"},
		"a part of one is kept": {2, 1, "repeat"},
	} {
		var out strings.Builder
		err := (&teller{e: &cli.Env{Console: cli.Console{Err: &out}}, last: failure, failed: 2, known: c.known, again: "repeat"}).end(t.Context(), copy.Progress{Kept: c.kept}, failure)
		if got := errs.RemedyOf(err); got != c.want || !strings.Contains(err.Error(), "2 files failed") {
			t.Errorf("%s: %v; %s", name, err, got)
		}
	}
}
