package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hemera/cmd/hemera/internal/cli"
	"hemera/process/daemon"
	"hemera/process/statedir"
	"hemera/words/errs"
)

// realPatience bounds each wait of a script.
const realPatience = 30 * time.Second

// realCluster is a manager with nodes and disks for one script.
type realCluster struct {
	dir, addr   string
	withoutLoop bool
	stop        func() error
	stopTape    func() (code int)
}

type realKey struct{}

// start starts the cluster and returns its address.
func (c *realCluster) start() error {
	up, err := daemon.OpenUp(context.Background(), daemon.UpOptions{Nodes: 2, Disks: 2, Manager: daemon.ManagerOptions{
		Dir: c.dir, Listen: "127.0.0.1:0", CacheBytes: 8 << 20, RepairGrace: time.Minute, TokenLifetime: time.Hour, Log: slog.New(slog.DiscardHandler), WithoutLoop: c.withoutLoop,
	}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- up.Run(ctx, func() { close(ready) }) }()
	c.addr, c.stop = up.Manager.Addr, func() error { cancel(); return <-ended }
	select {
	case <-ready:
		return nil
	case err := <-ended:
		ended <- err
		return errs.New(errs.Internal, "start", c.dir, "it ended before it was ready")
	}
}

// TestReal runs testdata/real/*.txt twice, each script over a cluster of its own with real disks. The second run has no
// event loop.
func TestReal(t *testing.T) {
	for _, withoutLoop := range []bool{false, true} {
		t.Run(fmt.Sprintf("withoutLoop=%v", withoutLoop), func(t *testing.T) { runReal(t, withoutLoop) })
	}
}

func runReal(t *testing.T, withoutLoop bool) {
	keepUmask(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/real", RequireUniqueNames: true,
		Setup: func(s *testscript.Env) error {
			c := &realCluster{dir: t.TempDir(), withoutLoop: withoutLoop}
			s.Values[realKey{}] = c
			if err := c.start(); err != nil {
				return err
			}
			s.Defer(func() { _ = c.stop() })
			s.Setenv("HEMERA_URL", "root://"+c.addr)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"hemera": runHemera, "parse": parseOutput,
			"corrupt":    func(ts *testscript.TestScript, _ bool, args []string) { realOf(ts).corrupt(ts, args[0]) },
			"await":      func(ts *testscript.TestScript, _ bool, args []string) { awaitOutput(ts, args) },
			"metrics":    func(ts *testscript.TestScript, _ bool, args []string) { realOf(ts).metrics(ts, args[0]) },
			"tapeserver": func(ts *testscript.TestScript, _ bool, args []string) { realOf(ts).startTape(ts, args) },
			"stoptape":   func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(realOf(ts).endTape()) },
			"lose": func(ts *testscript.TestScript, _ bool, _ []string) {
				c := realOf(ts)
				state := filepath.Join(c.dir, statedir.UpManager)
				ts.Check(c.stop())
				ts.Check(os.RemoveAll(state))
				ts.Setenv("STATE", state)
			},
			"start": func(ts *testscript.TestScript, _ bool, _ []string) {
				c := realOf(ts)
				ts.Check(c.start())
				ts.Setenv("HEMERA_URL", "root://"+c.addr)
			},
			"restart": func(ts *testscript.TestScript, _ bool, _ []string) {
				c := realOf(ts)
				ts.Check(c.stop())
				ts.Check(c.start())
				ts.Setenv("HEMERA_URL", "root://"+c.addr)
			},
		},
	})
}

func realOf(ts *testscript.TestScript) *realCluster { return ts.Value(realKey{}).(*realCluster) }

// corrupt changes the first byte of each sealed piece that begins with a text.
func (c *realCluster) corrupt(ts *testscript.TestScript, text string) {
	changed := 0
	ts.Check(filepath.Walk(c.dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() || !realPiece.MatchString(filepath.Base(path)) {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(raw, []byte(text)) {
			return err
		}
		changed++
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt([]byte{raw[0] ^ 1}, 0)
		return err
	}))
	if changed == 0 {
		ts.Fatalf("no piece begins with %q", text)
	}
}

// realPiece matches the name of a piece's file.
var realPiece = regexp.MustCompile(`^[0-9a-f]+\.[0-9]+\.[0-9]+$`)

// awaitOutput runs hemera until it prints something.
func awaitOutput(ts *testscript.TestScript, args []string) {
	for end := time.Now().Add(realPatience); ; time.Sleep(50 * time.Millisecond) {
		var out strings.Builder
		e := &cli.Env{Console: cli.Console{In: strings.NewReader(""), Out: &out, Err: io.Discard, Getenv: ts.Getenv}, Now: time.Now, Completion: time.Hour}
		if code := cli.Run(context.Background(), e, newRootCommand(e), args); code == 0 && out.Len() > 0 {
			_, _ = io.WriteString(ts.Stdout(), out.String())
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("hemera %v prints nothing", args)
		}
	}
}

// startTape runs `hemera tape` beside the cluster. It returns when the tape server runs.
func (c *realCluster) startTape(ts *testscript.TestScript, args []string) {
	path, url := ts.MkAbs("tapeserver.log"), ts.Getenv("HEMERA_URL")
	log, err := os.Create(path)
	ts.Check(err)
	// The script may change its environment while the server runs.
	getenv := func(name string) string { return map[string]string{"HEMERA_URL": url}[name] }
	e := &cli.Env{Console: cli.Console{In: strings.NewReader(""), Out: io.Discard, Err: log, Getenv: getenv}, Now: time.Now}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- cli.Run(ctx, e, newRootCommand(e), append([]string{"tape"}, args...)) }()
	c.stopTape = sync.OnceValue(func() int {
		cancel()
		code := <-ended
		_ = log.Close()
		return code
	})
	ts.Defer(func() { _ = c.stopTape() })
	for end := time.Now().Add(realPatience); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(path)
		ts.Check(err)
		if bytes.Contains(text, []byte("tape server is running")) {
			return
		}
		if len(ended) > 0 || time.Now().After(end) {
			ts.Fatalf("the tape server does not run: %s", text)
		}
	}
}

// endTape ends the tape server as Ctrl-C does.
func (c *realCluster) endTape() error {
	if code := c.stopTape(); code != 0 {
		return fmt.Errorf("the tape server ended with %d", code)
	}
	return nil
}

func (c *realCluster) metrics(ts *testscript.TestScript, pattern string) {
	r, err := http.Get("http://" + c.addr + "/metrics")
	ts.Check(err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	ts.Check(err)
	if !regexp.MustCompile("(?m)" + pattern).Match(text) {
		ts.Fatalf("the metrics do not say %s", pattern)
	}
}
