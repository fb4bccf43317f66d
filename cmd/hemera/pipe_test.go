package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/test/conform"
)

// ending is a reader that returns some bytes, then calls a function and returns an error.
type ending struct {
	data io.Reader
	end  func() error
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.data.Read(p)
	if err == io.EOF {
		err = e.end()
	}
	return n, err
}

// If the source of a pipe fails, the destination keeps its old content, and nothing new appears under its name.
func TestABrokenPipeLeavesNothing(t *testing.T) {
	url, tree := conform.StockServer(t)
	run := func(ctx context.Context, in io.Reader, args ...string) (int, string) {
		var out, complaints bytes.Buffer
		e := &cli.Env{Console: cli.Console{In: in, Out: &out, Err: &complaints, Getenv: func(string) string { return "" }}, Now: time.Now}
		return cli.Run(ctx, e, newRootCommand(e), append([]string{"--url", strings.TrimRight(url, "/"), "cp"}, args...)), complaints.String()
	}
	want := func(names ...string) {
		t.Helper()
		all, err := os.ReadDir(tree)
		if err != nil || len(all) != len(names) {
			t.Errorf("there is %v, %v; want %v", all, err, names)
		}
	}
	broken := func(in context.CancelFunc) io.Reader {
		return &ending{strings.NewReader(strings.Repeat("x", 3<<20)), func() error {
			if in == nil {
				return errors.New("the pipe broke")
			}
			in() // Ctrl-C ends the program in front first: all that is seen is an end
			return io.EOF
		}}
	}
	if code, text := run(t.Context(), broken(nil), "-", ":/f"); code != cli.ExitFailed || !strings.Contains(text, "the pipe broke") {
		t.Errorf("exit code %d, %s", code, text)
	}
	want()
	ctx, cancel := context.WithCancel(t.Context())
	if code, text := run(ctx, broken(cancel), "-", ":/f"); code != cli.ExitFailed || !strings.Contains(text, "interrupted") {
		t.Errorf("exit code %d, %s", code, text)
	}
	want()
	if code, text := run(t.Context(), strings.NewReader("whole"), "-", ":/f"); code != 0 {
		t.Errorf("exit code %d, %s", code, text)
	}
	want("f")
	if code, _ := run(t.Context(), strings.NewReader("other"), "-", ":/f"); code != cli.ExitFailed {
		t.Error("a file was replaced without -f")
	}
	if code, _ := run(t.Context(), broken(nil), "-f", "-", ":/f"); code != cli.ExitFailed {
		t.Error("a broken pipe was copied")
	}
	want("f")
	if b, err := os.ReadFile(tree + "/f"); string(b) != "whole" {
		t.Errorf("the file is %q, %v", b, err)
	}
	if code, text := run(t.Context(), strings.NewReader("other"), "-f", "-", ":/f"); code != 0 {
		t.Errorf("exit code %d, %s", code, text)
	}
}
