package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/nsbench"
	"hemera/process/daemon"
	"hemera/test/fixture/serving"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// benchmarked is a whole cluster with a file in it.
type benchmarked struct {
	t      *testing.T
	up     *daemon.Up
	url    string
	before []adminapi.Found
}

func newBenchmarked(t *testing.T) *benchmarked {
	t.Helper()
	up, err := daemon.OpenUp(t.Context(), daemon.UpOptions{
		Manager: daemon.ManagerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 8 << 20, RepairGrace: time.Minute, Log: slog.New(slog.DiscardHandler)},
		Nodes:   2, Disks: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	serving.Run(t, up.Run)
	b := &benchmarked{t: t, up: up, url: "root://" + up.Manager.Addr}
	cl := xrootd.New(xrootd.Options{})
	defer cl.Close()
	u, err := xrootd.ParseURL(b.url + "//kept/file")
	if err != nil {
		t.Fatal(err)
	}
	f, err := cl.Open(t.Context(), u, xrootd.OpenOptions{Write: true, Create: true, Parents: true, Mode: 0o644})
	if err == nil {
		err = f.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	b.before = b.tree()
	return b
}

// tree returns all entries of the namespace, without the times of "/", which a benchmark below it changes.
func (b *benchmarked) tree() (all []adminapi.Found) {
	b.t.Helper()
	m, err := admin.Dial(b.url)
	if err == nil {
		defer m.Close()
		_, err = m.Names.Walk(b.t.Context(), adminapi.WalkRequest{Path: "/"}, func(f adminapi.Found) error {
			if f.Path == "/" {
				f.Entry.Mtime, f.Entry.Ctime = time.Time{}, time.Time{}
			}
			all = append(all, f)
			return nil
		})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// unchanged fails the test unless the tree is as before and no write is pending.
func (b *benchmarked) unchanged() {
	b.t.Helper()
	if diff := cmp.Diff(b.before, b.tree()); diff != "" {
		b.t.Errorf("the namespace is not as before:\n%s", diff)
	}
	if s, err := b.up.Manager.Observer.NamespaceStats(b.t.Context()); err != nil || s.Pending != 0 {
		b.t.Errorf("%d writes are pending, %v", s.Pending, err)
	}
}

// run runs one command line. Its stderr also goes to live, if that is not nil.
func (b *benchmarked) run(ctx context.Context, live io.Writer, args ...string) (code int, out, complaints string) {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	e := &cli.Env{Console: cli.Console{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: func(string) string { return "" }, Live: live != nil}, Now: time.Now}
	if live != nil {
		e.Err = io.MultiWriter(&stderr, live)
	}
	code = cli.Run(ctx, e, newRootCommand(e), append([]string{"--url", b.url, "ns", "benchmark"}, args...))
	return code, stdout.String(), stderr.String()
}

type phaseRow struct {
	Phase, Unit, Where string
	Durable            bool
	Ops, Errors        int64
	Rate               float64
	Dirs               *struct{ Ops int64 }
}

func TestBenchmarkOfAWholeCluster(t *testing.T) {
	b := newBenchmarked(t)
	const threads, subdirs, files = 3, 2, 4
	for _, test := range []struct {
		name, where string
		flags       []string
		runs        int
	}{
		{"inside", "inside", nil, 1},
		{"relaxed", "inside", []string{"--relaxed"}, 2},
		{"wire", "wire", []string{"--wire"}, 1},
		{"deep wire to the node", "wire", []string{"--wire", "--depth", "4", "--full"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, complaints := b.run(t.Context(), nil, append(test.flags, "3", "2", "4", "-j")...)
			var got struct{ Result []phaseRow }
			if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || complaints != "" {
				t.Fatalf("exit code %d, %v, %s%s", code, err, out, complaints)
			}
			names := nsbench.Phases()
			if len(got.Result) != len(names)*test.runs {
				t.Fatalf("%d results", len(got.Result))
			}
			for i, r := range got.Result {
				name := names[i%len(names)]
				ops, dirs := int64(threads*subdirs*files), int64(0)
				switch name {
				case "mkdir":
					ops = threads * subdirs
				case "exists":
					dirs = threads * subdirs
				case "deletion":
					dirs = threads*subdirs + threads + 1
				}
				if r.Phase != name || r.Ops != ops || r.Errors != 0 || r.Rate <= 0 || r.Where != test.where || r.Durable != (i < len(names)) {
					t.Errorf("%s: %+v", name, r)
				}
				if (r.Dirs == nil) != (dirs == 0) || r.Dirs != nil && r.Dirs.Ops != dirs {
					t.Errorf("%s: directories %+v, not %d", name, r.Dirs, dirs)
				}
			}
			b.t = t
			b.unchanged()
		})
	}
}

func TestBenchmarkDrawsWhatItMeasured(t *testing.T) {
	b := newBenchmarked(t)
	name := filepath.Join(t.TempDir(), "plot.svg")
	if code, _, complaints := b.run(t.Context(), nil, "2", "1", "5", "--plot", name); code != 0 {
		t.Fatal(complaints)
	}
	svg, err := os.ReadFile(name)
	for _, phase := range nsbench.Phases() {
		if !strings.Contains(string(svg), ">"+phase+", ") {
			t.Errorf("%s is not in it, %v", phase, err)
		}
	}
	if code, _, complaints := b.run(t.Context(), nil, "2", "1", "5", "/none", "--plot", name); code != cli.ExitFailed {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("a plot of nothing was left: %v", err)
	}
}

// interrupter is a writer that cancels a context at the first write.
type interrupter struct {
	once   sync.Once
	cancel func()
}

func (i *interrupter) Write(p []byte) (int, error) {
	i.once.Do(i.cancel)
	return len(p), nil
}

func TestInterruptedBenchmarkLeavesNothing(t *testing.T) {
	b := newBenchmarked(t)
	for _, flags := range [][]string{nil, {"--wire"}} {
		ctx, cancel := context.WithCancel(t.Context())
		code, out, complaints := b.run(ctx, &interrupter{cancel: cancel}, append(flags, "16", "5", "100")...)
		cancel()
		if code != cli.ExitFailed || strings.Contains(out, "deletion") || !strings.Contains(complaints, "interrupted: ") {
			t.Errorf("%v: exit code %d, %s%s", flags, code, out, complaints)
		}
		b.unchanged()
	}
}

func TestBenchmarkCleansWhatWasKept(t *testing.T) {
	b := newBenchmarked(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if code, _, complaints := b.run(ctx, &interrupter{cancel: cancel}, "16", "5", "100", "/kept", "--keep"); code != cli.ExitFailed {
		t.Fatalf("exit code %d, %s", code, complaints)
	}
	who := hemera.SystemIdentity()
	until(t, func() bool { // the manager still brings to an end what it had begun
		code, _, complaints := b.run(t.Context(), nil, "1", "1", "1", "/kept")
		return code == cli.ExitFailed && strings.Contains(complaints, "hemera ns benchmark --clean /kept")
	})
	kept := len(b.tree())
	if _, err := b.up.Manager.Names.Mkdir(t.Context(), who, "/kept/benchmark/worker.0/mine", 0o755, false); err != nil {
		t.Fatal(err)
	}
	if code, _, complaints := b.run(t.Context(), nil, "--clean", "/kept"); code != cli.ExitFailed || !strings.Contains(complaints, "worker.0/mine") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	if now := len(b.tree()); now != kept+1 {
		t.Errorf("%d entries, not %d", now, kept+1)
	}
	if err := b.up.Manager.Names.Remove(t.Context(), who, "/kept/benchmark/worker.0/mine", 0); err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"/kept/benchmark removed", "/kept/benchmark is not there"} {
		if code, out, complaints := b.run(t.Context(), nil, "--clean", "/kept"); code != 0 || strings.TrimSpace(out) != said {
			t.Errorf("exit code %d, %s%s", code, out, complaints)
		}
	}
	if _, err := b.up.Manager.Names.Stat(t.Context(), who, "/kept/benchmark"); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
}

// until polls a condition until it is true, and fails the test after a time.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("never")
		}
	}
}
