package namespace_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/pebblekv"
	"hemera/words/hemera"
)

// workers is the usual load on a namespace: many clients at once, each in directories of its own.
type workers struct {
	b      *testing.B
	n      *namespace.Namespace
	count  int
	pieces int
}

// spent returns the processor time of this process.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// do runs fn(worker, 0 to each-1) in all workers at once.
func (w *workers) do(each int, fn func(worker, i int) error) {
	w.b.Helper()
	var wg sync.WaitGroup
	for worker := range w.count {
		wg.Go(func() {
			for i := range each {
				if err := fn(worker, i); err != nil {
					w.b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// phase reports the rate of fn, and the processor time it takes.
func (w *workers) phase(name string, each int, fn func(worker, i int) error) {
	runtime.GC()
	started, before := time.Now(), spent()
	pprof.Do(w.b.Context(), pprof.Labels("phase", name), func(context.Context) { w.do(each, fn) })
	ops := float64(w.count * each)
	w.b.ReportMetric(ops/time.Since(started).Seconds(), name+"/s")
	w.b.ReportMetric(float64((spent()-before).Microseconds())/ops, name+"-cpu-us")
}

func (w *workers) dir(worker int) string { return fmt.Sprintf("/bench/worker.%d", worker) }

func (w *workers) file(worker, i int) string { return fmt.Sprintf("%s/d.1/f.%d", w.dir(worker), i) }

func (w *workers) mkdir(path string) error {
	_, err := w.n.Tree.Mkdir(w.b.Context(), alice(), path, 0o755, false)
	return err
}

func (w *workers) create(path string) error {
	p, err := w.n.Writes.Prepare(w.b.Context(), alice(), hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: 0o644})
	if err != nil {
		return err
	}
	c := commitOf(p, path, alice())
	c.Size, c.Pieces = int64(w.pieces), c.Pieces[:w.pieces]
	_, err = w.n.Writes.Commit(w.b.Context(), c)
	return err
}

func (w *workers) remove(path string) error {
	return w.n.Tree.Remove(w.b.Context(), alice(), path, hemera.KindFile)
}

// BenchmarkWorkers has every change durable before the next of its worker. Run it with
// -benchtime 1x: the phases have a fixed size.
func BenchmarkWorkers(b *testing.B) {
	for _, c := range []struct{ count, files, pieces int }{{1000, 100, 0}, {1000, 100, 2}, {4, 2000, 0}, {1, 2000, 0}} {
		b.Run(fmt.Sprintf("%dx%d/%dpieces", c.count, c.files, c.pieces), func(b *testing.B) {
			for range b.N {
				workersLife(b, c.count, c.files, c.pieces)
			}
		})
	}
}

func workersLife(b *testing.B, count, files, pieces int) {
	s, err := pebblekv.Open(b.TempDir()+"/db", pebblekv.Options{})
	if err != nil {
		b.Fatal(err)
	}
	w := &workers{b: b, n: open(b, s, namespace.Options{}), count: count, pieces: pieces}
	defer func() {
		_ = w.n.Close()
		_ = s.Close()
	}()
	for _, dir := range []string{"/bench", "/bench/all"} {
		if err := w.mkdir(dir); err != nil {
			b.Fatal(err)
		}
	}
	w.phase("mkdir", 1, func(worker, _ int) error {
		if err := w.mkdir(w.dir(worker)); err != nil {
			return err
		}
		return w.mkdir(w.dir(worker) + "/d.1")
	})
	w.phase("mkdir2", max(1, files/10), func(worker, i int) error { return w.mkdir(fmt.Sprintf("%s/d.1/x.%d", w.dir(worker), i)) })
	w.phase("create", files, func(worker, i int) error { return w.create(w.file(worker, i)) })
	w.phase("delete", files, func(worker, i int) error { return w.remove(w.file(worker, i)) })
	w.phase("onedir", files, func(worker, i int) error { return w.create(fmt.Sprintf("/bench/all/f.%d.%d", worker, i)) })
}
