package main

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hemera/cmd/hemera/internal/cli"
	"hemera/doors/admin"
	"hemera/test/fixture"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

var rewrite = flag.Bool("rewrite", false, "write what commands print into the scripts")

// TestScripts runs testdata/*.txt: command lines with the expected text, over a small cluster in memory behind the real
// admin server. Each script has a cluster of its own.
func TestScripts(t *testing.T) {
	time.Local = time.UTC
	keepUmask(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *rewrite, RequireUniqueNames: true,
		Setup: func(s *testscript.Env) error {
			server := serveFixture()
			s.Defer(server.Close)
			s.Setenv("HEMERA_URL", "root://"+server.Listener.Addr().String())
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"hemera": runHemera, "parse": parseOutput, "pieces": makePieces, "flip": flipBit},
	})
}

// keepUmask restores the umask of the process, which servers in scripts change.
func keepUmask(t *testing.T) {
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	t.Cleanup(func() { syscall.Umask(umask) })
}

// serveFixture serves the admin API over a new fixture. Every request is that of an admin.
func serveFixture() *httptest.Server {
	c := fixture.NewCluster()
	return httptest.NewServer(admin.NewHandler(admin.Services{
		Cluster: c, Tokens: c, Trust: c, Maint: c, Observe: c, Quota: c, Writes: c, Convert: c, Status: c, Tape: fixture.Tapes{}, Staging: fixture.NewStaging(c.Tree, func() time.Time { return fixture.Now }), Benchmark: c, Rebuild: c, Names: c.Tree, Directories: c.Tree, Attributes: c.Tree,
		Config: func() []adminapi.Setting {
			return []adminapi.Setting{{Key: "port", Value: "1094", Source: "default"}, {Key: "listen", Value: "127.0.0.1", Source: "flag"}}
		},
		Version: adminapi.VersionInfo{Version: "1.0.0", Commit: "abc", Go: "go1.26", Arch: "linux/arm64", Role: "up"},
	}, func(*http.Request) (hemera.Identity, error) { return hemera.Identity{Name: "root", Admin: true}, nil }))
}

// runHemera runs the command `hemera` of a script: [!] hemera [-exit code] args…
func runHemera(ts *testscript.TestScript, neg bool, args []string) {
	want := 0
	if neg {
		want = cli.ExitFailed
	}
	if len(args) > 1 && args[0] == "-exit" {
		want, _ = strconv.Atoi(args[1])
		args = args[2:]
	}
	width, _ := strconv.Atoi(ts.Getenv("WIDTH"))
	e := &cli.Env{Console: cli.Console{In: strings.NewReader(""), Out: ts.Stdout(), Err: ts.Stderr(), Getenv: ts.Getenv, Terminal: width}, Now: func() time.Time { return fixture.Now }, Completion: time.Hour}
	if code := cli.Run(hemera.WithTrace(context.Background(), "0123456789abcdef"), e, newRootCommand(e), args); code != want {
		ts.Fatalf("hemera %v: exit code %d, not %d", args, code, want)
	}
}

// parseOutput checks the form of the last output: parse json <n> or parse monitor <n> with n items.
func parseOutput(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile("stdout")
	want, _ := strconv.Atoi(args[1])
	switch args[0] {
	case "json":
		var out struct {
			Result   []map[string]any `json:"result"`
			Errormsg *string          `json:"errormsg"`
			Retc     *int             `json:"retc"`
		}
		if err := json.Unmarshal([]byte(text), &out); err != nil || out.Retc == nil || out.Errormsg == nil || out.Result == nil {
			ts.Fatalf("%v, %+v in %s", err, out, text)
		}
		if len(out.Result) != want {
			ts.Fatalf("%d results, not %d", len(out.Result), want)
		}
	case "monitor":
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) != want {
			ts.Fatalf("%d lines, not %d", len(lines), want)
		}
		for _, l := range lines {
			parseMonitor(ts, l)
		}
	}
}

// parseMonitor reads a line as a script would: key=value, the value quoted if it has blanks.
func parseMonitor(ts *testscript.TestScript, line string) {
	seen := map[string]bool{}
	for rest := line; rest != ""; {
		key, value, ok := strings.Cut(rest, "=")
		if !ok || key == "" || strings.ContainsAny(key, " \"") || seen[key] {
			ts.Fatalf("bad or doubled key %q in %s", key, line)
		}
		seen[key] = true
		if strings.HasPrefix(value, `"`) {
			quoted, err := strconv.QuotedPrefix(value)
			ts.Check(err)
			rest = strings.TrimPrefix(value[len(quoted):], " ")
			continue
		}
		_, rest, _ = strings.Cut(value, " ")
	}
}
