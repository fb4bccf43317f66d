package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hemera/cmd/hemera/internal/cli"
)

// If a command is interrupted while it waits for the manager, its error must not say that the manager cannot be reached.
func TestAnInterruptedCommandSaysSo(t *testing.T) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the end of the connection is noticed
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	for args, name := range map[string]string{
		"fs ls": "fs ls", "find /": "find", "ns check": "ns check", "fsck report": "fsck report", "du / /a /b": "du", "chown -r 1 /": "chown",
	} {
		for _, flag := range []string{"-m", "-j"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-asked; cancel(errors.New("interrupt signal received")) }()
			var out, complaints bytes.Buffer
			e := &cli.Env{Console: cli.Console{In: strings.NewReader(""), Out: &out, Err: &complaints, Getenv: func(string) string { return "" }}, Now: time.Now}
			code := cli.Run(ctx, e, newRootCommand(e), append([]string{"--url", server.URL, flag}, strings.Fields(args)...))
			want := "hemera: " + name + ": interrupted\n"
			wantCode := cli.ExitFailed
			if name == "fsck report" {
				wantCode = cli.ExitUnknown
			}
			if code != wantCode || complaints.String() != want {
				t.Errorf("%s: exit code %d, %q, want %q", args, code, &complaints, want)
			}
			if flag == "-j" && !json.Valid(out.Bytes()) {
				t.Errorf("%s: %s", args, &out)
			}
			cancel(nil)
		}
	}
}
