package namespace_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"hemera/namespace"
	"hemera/platform/kv/pebblekv"
	"hemera/words/hemera"
)

// benched returns a namespace on disk with 100 directories of 100 files.
func benched(b *testing.B) *namespace.Namespace {
	s, err := pebblekv.Open(b.TempDir()+"/db", pebblekv.Options{})
	if err != nil {
		b.Fatal(err)
	}
	n := open(b, s, namespace.Options{})
	b.Cleanup(func() {
		_ = n.Close()
		_ = s.Close()
	})
	parallel(b, 100, 100, func(i int) error {
		if _, err := n.Tree.Mkdir(b.Context(), alice(), fmt.Sprintf("/bench/d%d", i), 0o755, true); err != nil {
			return err
		}
		_, err := n.Tree.Mkdir(b.Context(), alice(), fmt.Sprintf("/bench/n%d", i), 0o755, true)
		return err
	})
	return n
}

// parallel runs fn for 0 to count-1 in goroutines.
func parallel(b *testing.B, goroutines, count int, fn func(i int) error) {
	var next atomic.Int64
	done := make(chan error, goroutines)
	for range goroutines {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= count {
					done <- nil
					return
				}
				if err := fn(i); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	for range goroutines {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

func filePath(i int) string { return fmt.Sprintf("/bench/d%d/f%d", i%100, i) }

// newPath returns a path in other directories, so that those of filePath keep their size.
func newPath(i int) string { return fmt.Sprintf("/bench/n%d/f%d", i%100, i) }

func create(b *testing.B, n *namespace.Namespace, path string) error {
	p, err := n.Writes.Prepare(b.Context(), alice(), hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: 0o644})
	if err != nil {
		return err
	}
	c := commitOf(p, path, alice())
	c.Size = 1 << 20
	_, err = n.Writes.Commit(b.Context(), c)
	return err
}

// The goal is 20,000 durable creates (Prepare and Commit) and 300,000 stats a second.
func BenchmarkNamespace(b *testing.B) {
	const files = 10_000
	n := benched(b)
	parallel(b, 100, files, func(i int) error { return create(b, n, filePath(i)) })
	made := atomic.Int64{}
	made.Store(files)
	for _, c := range []struct {
		name string
		op   func(i int) error
	}{
		{"create", func(int) error { return create(b, n, newPath(int(made.Add(1)))) }},
		{"mkdir", func(int) error {
			_, err := n.Tree.Mkdir(b.Context(), alice(), newPath(int(made.Add(1))), 0o755, true)
			return err
		}},
		{"stat", func(i int) error { _, err := n.Tree.Stat(b.Context(), alice(), filePath(i%files)); return err }},
		{"open", func(i int) error {
			_, err := n.Writes.Prepare(b.Context(), alice(), hemera.OpenRequest{Path: filePath(i % files), Access: hemera.AccessRead})
			return err
		}},
		{"list100", func(i int) error {
			return n.Tree.List(b.Context(), alice(), fmt.Sprintf("/bench/d%d", i%100), func(hemera.Entry) error { return nil })
		}},
		{"rename", func(i int) error {
			from := filePath(i % files)
			if err := n.Tree.Rename(b.Context(), alice(), from, from+".new"); err != nil {
				return err
			}
			return n.Tree.Rename(b.Context(), alice(), from+".new", from)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			parallel(b, 100, b.N, c.op)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
		})
	}
}
