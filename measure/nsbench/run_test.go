package nsbench

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
)

// tree is a namespace in memory that counts and fails on demand.
type tree struct {
	mu      sync.Mutex
	entries map[string]bool // true: a directory
	asked   map[string]int
	fail    func(op, name string) error // nil: never
	closed  int
}

func newTree() *tree { return &tree{entries: map[string]bool{"/": true}, asked: map[string]int{}} }

func (t *tree) begin(op, name string) (func(), error) {
	t.mu.Lock()
	t.asked[op]++
	if t.fail != nil {
		return t.mu.Unlock, t.fail(op, name)
	}
	return t.mu.Unlock, nil
}

func (t *tree) make(op, name string, dir bool) error {
	end, err := t.begin(op, name)
	defer end()
	if err != nil {
		return err
	}
	if !t.entries[path.Dir(name)] {
		return errs.New(errs.NotFound, op, name, "")
	}
	if _, there := t.entries[name]; there {
		return errs.New(errs.Exists, op, name, "")
	}
	t.entries[name] = dir
	return nil
}

func (t *tree) open(op, name string) error {
	end, err := t.begin(op, name)
	defer end()
	if err != nil {
		return err
	}
	if dir, there := t.entries[name]; !there || dir {
		return errs.New(errs.NotFound, op, name, "")
	}
	return nil
}

func (t *tree) remove(op, name string, dir bool) error {
	end, err := t.begin(op, name)
	defer end()
	if err != nil {
		return err
	}
	if is, there := t.entries[name]; !there || is != dir {
		return errs.New(errs.NotFound, op, name, "")
	}
	for other := range t.entries {
		if dir && strings.HasPrefix(other, name+"/") {
			return errs.New(errs.NotEmpty, op, name, "")
		}
	}
	delete(t.entries, name)
	return nil
}

func (t *tree) Mkdir(_ context.Context, name string) error  { return t.make("mkdir", name, true) }
func (t *tree) Create(_ context.Context, name string) error { return t.make("create", name, false) }
func (t *tree) Read(_ context.Context, name string) error   { return t.open("read", name) }
func (t *tree) Write(_ context.Context, name string) error  { return t.open("write", name) }
func (t *tree) Remove(_ context.Context, name string) error { return t.remove("rm", name, false) }
func (t *tree) Rmdir(_ context.Context, name string) error  { return t.remove("rmdir", name, true) }
func (t *tree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed++
	return nil
}

func (t *tree) options(s Shape, results map[string]adminapi.BenchmarkResult) Options {
	return Options{
		Shape: s, Series: true,
		Open: func(context.Context, int) (Target, error) { return t, nil },
		Visit: func(u adminapi.BenchmarkUpdate) error {
			if u.Result != nil {
				results[u.Result.Phase] = *u.Result
			}
			return nil
		},
	}
}

// empty fails the test unless only the root is left.
func (t *tree) empty(test *testing.T) {
	test.Helper()
	if len(t.entries) != 1 {
		test.Errorf("%d entries are left: %v", len(t.entries)-1, t.entries)
	}
}

func TestRunCountsEveryOperationOnce(t *testing.T) {
	for _, depth := range []int{1, 3} {
		s := Shape{Threads: 4, Subdirs: 2, Files: 5, Base: "/benchmark", Depth: depth}
		tr, got := newTree(), map[string]adminapi.BenchmarkResult{}
		if err := Run(t.Context(), tr.options(s, got)); err != nil {
			t.Fatal(err)
		}
		tr.empty(t)
		want := map[string][2]int64{"mkdir": {8, 0}, "create": {40, 0}, "exists": {40, 8}, "read": {40, 0}, "write": {40, 0}, "deletion": {40, 8 + 4 + 1}}
		for _, name := range Phases() {
			r := got[name]
			var dirs int64
			if r.Dirs != nil {
				dirs = r.Dirs.Ops
			}
			if now := [2]int64{r.Main.Ops, dirs}; now != want[name] || r.Main.Errors != 0 {
				t.Errorf("depth %d, %s: %v and %d errors, not %v", depth, name, now, r.Main.Errors, want[name])
			}
			var series int64
			for _, p := range r.Series {
				series += p.Ops
			}
			if series != r.Main.Ops || r.Main.P50 > r.Main.P99 || r.Main.P999 > r.Main.Max || r.Main.Max > r.Time {
				t.Errorf("depth %d, %s: series has %d, %+v", depth, name, series, r)
			}
		}
		asked := map[string]int{"mkdir": 1 + 4 + 8 + 8, "create": 80, "read": 40, "write": 40, "rm": 40, "rmdir": 13}
		for op, n := range asked {
			if tr.asked[op] != n {
				t.Errorf("depth %d: %s was asked %d times, not %d", depth, op, tr.asked[op], n)
			}
		}
		if tr.closed != s.Threads {
			t.Errorf("%d targets were closed", tr.closed)
		}
	}
}

// TestRunCountsSuccessesOnly has some operations fail and counts them where they belong.
func TestRunCountsSuccessesOnly(t *testing.T) {
	denied := errs.New(errs.NoSpace, "create", "", "the disks are full").WithRemedy("add disks")
	tr, got := newTree(), map[string]adminapi.BenchmarkResult{}
	tr.fail = func(op, name string) error {
		if op == "create" && strings.HasSuffix(name, "/f.3") {
			return denied
		}
		return nil
	}
	if err := Run(t.Context(), tr.options(Shape{Threads: 2, Subdirs: 2, Files: 4, Base: "/benchmark", Depth: 1}, got)); err != nil {
		t.Fatal(err)
	}
	tr.empty(t)
	for _, name := range Phases()[1:] {
		if m := got[name].Main; m.Ops != 12 || m.Errors != 4 {
			t.Errorf("%s: %d succeeded and %d failed", name, m.Ops, m.Errors)
		}
	}
	f := got["create"].Failures
	if len(f) != 1 || !strings.Contains(f[0].Text, "disks are full") || f[0].Remedy != "add disks" {
		t.Errorf("failures are %+v", f)
	}
}

// TestRunTakesNoSecondSuccess has files be made twice: "exists" must not count that.
func TestRunTakesNoSecondSuccess(t *testing.T) {
	tr, got := newTree(), map[string]adminapi.BenchmarkResult{}
	tr.fail = func(op, name string) error {
		if op == "create" {
			delete(tr.entries, name)
		}
		return nil
	}
	err := Run(t.Context(), tr.options(Shape{Threads: 1, Subdirs: 1, Files: 3, Base: "/benchmark", Depth: 1}, got))
	if r := got["exists"]; err == nil || r.Main.Ops != 0 || r.Main.Errors != 3 || r.Dirs.Ops != 1 {
		t.Errorf("%v, %+v", err, r)
	}
	tr.empty(t)
}

func TestRunEndsWhereNothingSucceeds(t *testing.T) {
	tr, got := newTree(), map[string]adminapi.BenchmarkResult{}
	tr.fail = func(op, _ string) error {
		if op == "create" {
			return errs.New(errs.Denied, op, "", "no").WithRemedy("ask")
		}
		return nil
	}
	err := Run(t.Context(), tr.options(Shape{Threads: 3, Subdirs: 1, Files: 3, Base: "/benchmark", Depth: 1}, got))
	if err == nil || errs.RemedyOf(err) != "ask" || len(got) != 2 || tr.asked["read"] != 0 {
		t.Errorf("%v after %d phases", err, len(got))
	}
	tr.empty(t)
}

func TestRunRefusesATreeThatIsThere(t *testing.T) {
	tr := newTree()
	tr.entries["/benchmark"], tr.entries["/benchmark/worker.0"] = true, true
	err := Run(t.Context(), tr.options(Shape{Threads: 1, Subdirs: 1, Files: 1, Base: "/benchmark", Depth: 1}, nil))
	if !errors.Is(err, errs.Exists) || !strings.Contains(errs.RemedyOf(err), "ns benchmark --clean") {
		t.Errorf("%v, remedy %q", err, errs.RemedyOf(err))
	}
	if len(tr.entries) != 3 {
		t.Errorf("it is not as it was: %v", tr.entries)
	}
}

// TestInterruptedRunLeavesNothing cuts runs short in each phase, with Keep and without.
func TestInterruptedRunLeavesNothing(t *testing.T) {
	for _, op := range []string{"mkdir", "create", "read", "write", "rm", "rmdir"} {
		for _, keep := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { interrupt(t, op, keep) })
		}
	}
}

func interrupt(t *testing.T, op string, keep bool) {
	tr, got := newTree(), map[string]adminapi.BenchmarkResult{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tr.fail = func(now, _ string) error {
		if now == op && tr.asked[op] == 6 {
			cancel()
			tr.mu.Unlock()
			time.Sleep(time.Second) // in the bubble: until nothing else can happen, the end of this phase included
			tr.mu.Lock()
		}
		return nil
	}
	o := tr.options(Shape{Threads: 2, Subdirs: 4, Files: 2, Base: "/benchmark", Depth: 1}, got)
	o.Keep = keep
	if err := Run(ctx, o); !errors.Is(err, errs.Cancelled) {
		t.Errorf("%s: %v", op, err)
	}
	if keep == (len(tr.entries) == 1) {
		t.Errorf("keep %t, %s: %d entries are left", keep, op, len(tr.entries)-1)
	}
}

func TestRunSaysWhatItCouldNotRemove(t *testing.T) {
	tr, got := newTree(), map[string]adminapi.BenchmarkResult{}
	tr.fail = func(op, name string) error {
		if op == "rm" && strings.HasSuffix(name, "/f.0") {
			return errs.New(errs.Unavailable, op, name, "")
		}
		return nil
	}
	err := Run(t.Context(), tr.options(Shape{Threads: 1, Subdirs: 1, Files: 2, Base: "/scratch/benchmark", Depth: 1}, got))
	if !errors.Is(err, errs.NotFound) || !strings.Contains(errs.RemedyOf(err), "mkdir -p /scratch`") {
		t.Errorf("without the prefix: %v", err)
	}
	tr.entries["/scratch"] = true
	err = Run(t.Context(), tr.options(Shape{Threads: 1, Subdirs: 1, Files: 2, Base: "/scratch/benchmark", Depth: 1}, got))
	if !errors.Is(err, errs.Unavailable) || !strings.Contains(errs.RemedyOf(err), "--clean /scratch`") {
		t.Errorf("%v, remedy %q", err, errs.RemedyOf(err))
	}
}

func TestShapesThatMakeNoSense(t *testing.T) {
	for _, r := range []adminapi.BenchmarkRequest{
		{Threads: 0, Subdirs: 1, Files: 1}, {Threads: 1025, Subdirs: 1, Files: 1}, {Threads: 1, Subdirs: 0, Files: 1},
		{Threads: 1, Subdirs: 1, Files: -1}, {Threads: 1000, Subdirs: 1000, Files: 101}, {Threads: 1, Subdirs: 1 << 62, Files: 1 << 62},
		{Threads: 1, Subdirs: 1, Files: 1, Prefix: "scratch"},
	} {
		if _, err := ShapeOf(r); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	s, err := ShapeOf(adminapi.BenchmarkRequest{Threads: 1024, Subdirs: 2, Files: 3, Prefix: "/a/"})
	if err != nil || s.file(7, 4) != "/a/benchmark/worker.7/d.1/f.1" {
		t.Errorf("%v, %s", err, s.file(7, 4))
	}
}
