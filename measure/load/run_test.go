package load

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hemera/measure/result"
	"hemera/words/errs"
)

// little returns the options of a very short run of all loads.
func little(target string) Options {
	return Options{Targets: []string{target}, Loads: Loads(), Clients: []int{1, 3}, Iterations: 2, Driver: DriverOwn, Files: 2, Size: 3*pageSize + 5,
		Transfer: pageSize, Block: 512, Elements: 5, SmallFiles: 4, SmallSize: 100, For: time.Nanosecond, Sync: true}
}

// recorder makes a recorder of the level.
func recorder(t *testing.T) *result.Recorder { return result.NewRecorder(t.TempDir(), "io", nil) }

// names returns the entries of a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestEveryLoadIsMeasuredAndNothingStays(t *testing.T) {
	dir, rec := t.TempDir(), recorder(t)
	if err := os.WriteFile(filepath.Join(dir, "theirs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := little(dir)
	o.Nodes = []Node{{Net: Rate{Mean: 1e6}}}
	if err := Run(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("the directory has %q", got)
	}
	for _, load := range []string{"write", "read", "random", "vector", "mixed", "put", "get", "create", "open"} {
		for _, clients := range []string{"1", "3"} {
			labels := result.Labels{"load": load, "clients": clients, "layout": layoutDefault}
			for _, name := range []string{"throughput", "rate", "latency_p50", "cpu_clients_per_gb"} {
				m, ok := rec.Find(name, labels)
				if !ok || len(m.Samples) != 2 || m.Samples[0] < 0 {
					t.Errorf("%s of %v: %+v", name, labels, m)
				}
			}
			_, ok := rec.Find("efficiency", labels)
			if want := slices.Contains([]string{"write", "read", "put", "get"}, load); ok != want {
				t.Errorf("%s has a share of the peak: %v", load, ok)
			}
		}
	}
	for _, load := range []string{"tree-creation", "directory-creation", "directory-stat", "directory-removal", "file-creation", "file-stat", "file-read",
		"file-removal", "tree-removal"} {
		labels := result.Labels{"load": load, "clients": "3", "layout": layoutDefault, "pattern": mdtest}
		for _, name := range []string{"rate", "latency_p50", "cpu_clients_per_operation"} {
			if m, ok := rec.Find(name, labels); !ok || len(m.Samples) != 2 || m.Samples[0] < 0 {
				t.Errorf("%s of %v: %+v", name, labels, m)
			}
		}
	}
	level := rec.End()
	for _, f := range level.Figures {
		points := 0
		for _, m := range level.Measures {
			if slices.Contains(f.Names, m.Name) && m.Labels["load"] == cmp.Or(f.Where["load"], m.Labels["load"]) && m.Labels["pattern"] == f.Where["pattern"] && m.Labels[f.X] != "" {
				points++
			}
		}
		if points < 2 {
			t.Errorf("figure %s has %d points", f.ID, points)
		}
	}
}

func TestBytesAndOperationsAreCounted(t *testing.T) {
	o := little(t.TempDir())
	at := directory{root: o.Targets[0]}
	g, err := newGroup(t.Context(), at, "d", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.join(t.Context(), 3, o.Transfer); err != nil {
		t.Fatal(err)
	}
	defer g.leave()
	file, small := o.Size*6, int64(o.SmallSize)*12 // of 3 clients with 2 files and 4 small ones each
	want := map[string][3]int64{                   // read, written, operations
		"write": {0, file, 6 * 4}, "read": {file, 0, 6 * 4}, "random": {3 * 512, 0, 3}, "vector": {3 * 5 * 512, 0, 3},
		"mixed": {file, file, 2 * 6 * 4}, "put": {0, file, 6}, "get": {file, 0, 6}, "create": {0, small, 12}, "open": {small, 0, 12},
		"tree-creation": {0, 0, 3}, "directory-creation": {0, 0, 12}, "directory-stat": {0, 0, 12}, "directory-removal": {0, 0, 12},
		"file-creation": {0, 0, 12}, "file-stat": {0, 0, 12}, "file-read": {0, 0, 12}, "file-removal": {0, 0, 12}, "tree-removal": {0, 0, 3},
	}
	for _, p := range o.phases("d", 0) {
		got, _, err := runPhase(t.Context(), []*group{g}, p, []int{os.Getpid()})
		if err != nil {
			t.Fatal(p.name, err)
		}
		if n := got[0]; want[p.name] != [3]int64{n.read, n.written, n.operations} || n.latency.TotalCount() != n.operations || n.took <= 0 {
			t.Errorf("%s: %d read, %d written, %d operations in %v; want %v", p.name, n.read, n.written, n.operations, n.took, want[p.name])
		}
		delete(want, p.name)
	}
	if len(want) != 0 {
		t.Errorf("not run: %v", slices.Collect(maps.Keys(want)))
	}
}

// faulty is a directory whose n-th transfer does something.
type faulty struct {
	directory
	left *atomic.Int64
	do   func(p []byte) error
}

func (f faulty) open(context.Context) (Target, error) { return f, nil }

func (f faulty) Create(ctx context.Context, name string, size int64) (File, error) {
	file, err := f.directory.Create(ctx, name, size)
	return faultyFile{file, f}, err
}

func (f faulty) Open(ctx context.Context, name string) (File, error) {
	file, err := f.directory.Open(ctx, name)
	return faultyFile{file, f}, err
}

type faultyFile struct {
	File
	of faulty
}

func (f faultyFile) ReadAt(ctx context.Context, p []byte, off int64) error {
	err := f.File.ReadAt(ctx, p, off)
	if f.of.left.Add(-1) == 0 {
		err = errors.Join(err, f.of.do(p))
	}
	return err
}

func (f faultyFile) WriteAt(ctx context.Context, p []byte, off int64) error {
	if f.of.left.Add(-1) == 0 {
		if err := f.of.do(p); err != nil {
			return err
		}
	}
	return f.File.WriteAt(ctx, p, off)
}

// measure works like Run, at a place of the test.
func measure(ctx context.Context, o *Options, at place, rec *result.Recorder) error {
	return (&run{o: o, rec: rec}).at(ctx, at)
}

func TestFilesAreReadThroughAnotherMount(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, other); err != nil {
		t.Fatal(err)
	}
	d := directory{root: dir, reads: other}
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := d.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if got := f.(*localFile).f.Name(); got != filepath.Join(other, "x") {
		t.Errorf("it is read from %s", got)
	}
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Everything else is where the target is.
	o := little(dir)
	o.ReadThrough = filepath.Join(dir, "nowhere")
	if err := Run(t.Context(), o, recorder(t)); !errors.Is(err, errs.NotFound) {
		t.Errorf("reads through a directory that is not there: %v", err)
	}
	o.ReadThrough = other
	if err := Run(t.Context(), o, recorder(t)); err != nil {
		t.Error(err)
	}
}

func TestChangedDataIsAnError(t *testing.T) {
	for transfer := int64(1); transfer <= 16; transfer++ {
		o := little(t.TempDir())
		o.Loads, o.Clients, o.Iterations = []string{Sequential}, []int{1}, 1
		at := faulty{directory{root: o.Targets[0]}, &atomic.Int64{}, func(p []byte) error { p[len(p)/2] ^= 4; return nil }}
		at.left.Store(transfer)
		if err := measure(t.Context(), &o, at, recorder(t)); !errors.Is(err, errs.IO) || !strings.Contains(err.Error(), "not what was written") {
			t.Errorf("transfer %d: %v", transfer, err)
		}
		if got := names(t, o.Targets[0]); len(got) != 0 {
			t.Errorf("transfer %d: %q stay", transfer, got)
		}
	}
}

func TestAnInterruptedRunRemovesWhatItMade(t *testing.T) {
	for _, transfer := range []int64{1, 7, 40, 90} {
		o := little(t.TempDir())
		ctx, cancel := context.WithCancel(t.Context())
		at := faulty{directory{root: o.Targets[0]}, &atomic.Int64{}, func([]byte) error { cancel(); return ctx.Err() }}
		at.left.Store(transfer)
		if err := measure(ctx, &o, at, recorder(t)); !errors.Is(err, context.Canceled) && !errors.Is(err, errs.Cancelled) {
			t.Errorf("transfer %d: %v", transfer, err)
		}
		if got := names(t, o.Targets[0]); len(got) != 0 {
			t.Errorf("transfer %d: %q stay", transfer, got)
		}
	}
}

// Stat counts as a transfer, for loads that have none.
func (f faulty) Stat(ctx context.Context, name string) error {
	if f.left.Add(-1) == 0 {
		if err := f.do([]byte{0}); err != nil {
			return err
		}
	}
	return f.directory.Stat(ctx, name)
}

func TestAnInterruptedTreeIsRemoved(t *testing.T) {
	// The first look at a directory, the last one, and the first at a file, of one client with four entries.
	for _, stat := range []int64{1, 4, 5} {
		o := little(t.TempDir())
		o.Loads, o.Clients = []string{Metadata}, []int{1}
		ctx, cancel := context.WithCancel(t.Context())
		at := faulty{directory{root: o.Targets[0]}, &atomic.Int64{}, func([]byte) error { cancel(); return ctx.Err() }}
		at.left.Store(stat)
		if err := measure(ctx, &o, at, recorder(t)); !errors.Is(err, context.Canceled) && !errors.Is(err, errs.Cancelled) {
			t.Errorf("stat %d: %v", stat, err)
		}
		if got := names(t, o.Targets[0]); len(got) != 0 {
			t.Errorf("stat %d: %q stay", stat, got)
		}
	}
}

func TestFilesOfOthersStay(t *testing.T) {
	o := little(t.TempDir())
	theirs := ""
	at := faulty{directory{root: o.Targets[0]}, &atomic.Int64{}, func([]byte) error {
		theirs = filepath.Join(o.Targets[0], names(t, o.Targets[0])[0], "theirs")
		return os.WriteFile(theirs, nil, 0o600)
	}}
	at.left.Store(5)
	if err := measure(t.Context(), &o, at, recorder(t)); !errors.Is(err, errs.NotEmpty) {
		t.Errorf("a directory with a file of others: %v", err)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
}

func TestADirectoryThatIsThereIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := newGroup(t.Context(), directory{root: dir}, "d", 1); !errors.Is(err, errs.Exists) {
		t.Errorf("%v", err)
	}
}

func TestLayoutsOfADirectoryAreSkipped(t *testing.T) {
	o, rec := little(t.TempDir()), recorder(t)
	o.Layouts = []string{"plain", "rs:4+2"}
	if err := Run(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	if got := rec.End(); len(got.Skipped) != 2 || got.Skipped[0].Remedy == "" || len(got.Measures) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for flag, change := range map[string]func(o *Options){
		"--clients":      func(o *Options) { o.Clients = []int{0} },
		"--files":        func(o *Options) { o.Files = 0 },
		"--load":         func(o *Options) { o.Loads = []string{"all"} },
		"--layout":       func(o *Options) { o.Layouts = []string{"rs:1"} },
		"--driver":       func(o *Options) { o.Driver = "dd" },
		"--iterations":   func(o *Options) { o.Iterations = 0 },
		"--transfer":     func(o *Options) { o.Transfer = 1 },
		"--block":        func(o *Options) { o.Block = int(o.Size) + 1 },
		"--small-size":   func(o *Options) { o.SmallSize = o.Transfer + 1 },
		"--direct":       func(o *Options) { o.Direct = true },
		"--read-through": func(o *Options) { o.Targets, o.ReadThrough = []string{"root://localhost//x"}, "/y" },
		"target":         func(o *Options) { o.Targets = nil },
	} {
		o := little("/x")
		if err := o.Check(); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if err := o.Check(); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestRamp(t *testing.T) {
	for n, want := range map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 8: {1, 2, 4, 8}, 9: {1, 2, 4, 8, 9}} {
		if got := Ramp(n); !slices.Equal(got, want) {
			t.Errorf("%d: %v", n, got)
		}
	}
}

// A percentile of fewer operations than it takes is their maximum by another name, and has no verdict of its own.
func TestPercentilesNeedOperations(t *testing.T) {
	for operations, want := range map[int]string{1: "latency_p50", 19: "latency_p50", 20: "latency_p50 latency_p95", 99: "latency_p50 latency_p95", 100: "latency_p50 latency_p95 latency_p99"} {
		rec := recorder(t)
		r := &run{o: &Options{}, rec: rec}
		got := outcome{took: time.Second}
		for range operations {
			got.add(1, 0, time.Millisecond)
		}
		r.addRate(result.Labels{}, got)
		var names []string
		for _, m := range rec.End().Measures {
			if m.Name != "rate" {
				names = append(names, m.Name)
			}
		}
		if text := strings.Join(names, " "); text != want {
			t.Errorf("%d operations have %s", operations, text)
		}
	}
}
