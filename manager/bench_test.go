package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The shape of the namespace benchmark: benchThreads callers, each with a directory of its own.
const (
	benchThreads = 1000
	benchFiles   = 20
)

func benchDir(thread int) string { return fmt.Sprintf("/bench/t%04d/d0", thread) }

// benchPaths are the files of each thread: half are empty, half have two pieces. Made before the
// clock runs, as a client would have them.
type benchPaths struct{ empty, full [benchThreads][]string }

// newBenchRig makes a manager over a store on disk, with six disks on three nodes.
func newBenchRig(b *testing.B) (*rig, *benchPaths) {
	store, err := pebblekv.Open(b.TempDir()+"/db", pebblekv.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	r := &rig{t: b, store: store, lost: time.Hour}
	tree, err := namespace.Open(b.Context(), store, namespace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if r.m, err = New(b.Context(), Options{Store: store, Writer: tree.Writer(), Tree: tree.Parts(), Addr: "manager:1094"}); err != nil {
		b.Fatal(err)
	}
	r.addNodes(3, 2)
	for _, n := range r.nodes {
		stop := n.beat(b.Context())
		b.Cleanup(stop)
	}
	p := &benchPaths{}
	for t := range benchThreads {
		for f := range benchFiles {
			p.empty[t] = append(p.empty[t], fmt.Sprintf("%s/e%04d", benchDir(t), f))
			p.full[t] = append(p.full[t], fmt.Sprintf("%s/f%04d", benchDir(t), f))
		}
	}
	r.threads(b, benchThreads, func(t, _ int) error {
		if _, err := r.m.Names.Mkdir(b.Context(), alice, benchDir(t), 0o755, true); err != nil {
			return err
		}
		for f := range benchFiles {
			if err := r.put(b.Context(), p.empty[t][f], 0); err != nil {
				return err
			}
			if err := r.put(b.Context(), p.full[t][f], 1000); err != nil {
				return err
			}
		}
		return nil
	})
	return r, p
}

// beat keeps the node's lease until the returned function is called.
func (n *fakeNode) beat(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(hemera.HeartbeatInterval)
		defer tick.Stop()
		for {
			_, _ = n.rig.m.Control.Heartbeat(ctx, n.id, n.epoch, hemera.NodeReport{Disks: n.disks})
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-done }
}

// put stores a file without telling the nodes.
func (r *rig) put(ctx context.Context, path string, size int64) error {
	g, err := r.m.Files.Open(ctx, alice, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: 0o644, Size: size})
	if err != nil {
		return err
	}
	_, err = r.m.Control.Commit(ctx, benchCommit(g, size))
	return err
}

func benchCommit(g hemera.Grant, size int64) hemera.CommitRequest {
	sum, _ := hemera.MakeChecksum(hemera.Adler32, []byte{0, 0, byte(size >> 8), byte(size)})
	req := hemera.CommitRequest{Permit: shown(g), Size: size, Checksums: []hemera.Checksum{sum}, Mtime: time.Now()}
	for _, t := range g.Permit.Targets {
		if size > 0 {
			req.Pieces = append(req.Pieces, hemera.Piece{Index: t.Index, Disk: t.Disk})
		}
	}
	return req
}

// threads runs op until it was called count times, in one goroutine a thread. n counts the calls of
// one thread.
func (r *rig) threads(b *testing.B, count int, op func(thread, n int) error) {
	var left atomic.Int64
	left.Store(int64(count))
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	for t := range benchThreads {
		wg.Go(func() {
			for n := 0; left.Add(-1) >= 0; n++ {
				if err := op(t, n); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
}

// BenchmarkOpen measures the work of a manager for one request, without a network. cpu-ns/op is of all threads of the
// process: what is left to plan with on a machine that does other work.
func BenchmarkOpen(b *testing.B) {
	r, p := newBenchRig(b)
	ctx := b.Context()
	who := hemera.Identity{Name: "alice", UID: 1000, GID: 100, Protocol: "unix", Host: "127.0.0.1"}
	file := func(of *[benchThreads][]string, t, n int) string { return of[t][n%benchFiles] }
	read := func(of *[benchThreads][]string) func(t, n int) error {
		return func(t, n int) error {
			g, err := r.m.Files.Open(ctx, who, hemera.OpenRequest{Path: file(of, t, n), Access: hemera.AccessRead})
			if err == nil {
				_, err = g.Permit.Token()
			}
			return err
		}
	}
	update := func(of *[benchThreads][]string) func(t, n int) error {
		return func(t, n int) error {
			g, err := r.m.Files.Open(ctx, who, hemera.OpenRequest{Path: file(of, t, n), Access: hemera.AccessUpdate})
			if err != nil {
				return err
			}
			return r.m.Control.Abort(ctx, shown(g))
		}
	}
	exists := func(err error) error {
		if !errors.Is(err, errs.Exists) {
			return fmt.Errorf("want exists, got %w", err)
		}
		return nil
	}
	for _, c := range []struct {
		name string
		op   func(t, n int) error
	}{
		{"read/empty", read(&p.empty)},
		{"read/replicas", read(&p.full)},
		{"update/empty", update(&p.empty)},
		{"update/replicas", update(&p.full)},
		{"stat", func(t, n int) error { _, err := r.m.Names.Stat(ctx, who, file(&p.empty, t, n)); return err }},
		{"mkdir/exists", func(t, _ int) error {
			_, err := r.m.Names.Mkdir(ctx, who, benchDir(t), 0o755, false)
			return exists(err)
		}},
		{"create/exists", func(t, n int) error {
			_, err := r.m.Files.Open(ctx, who, hemera.OpenRequest{Path: file(&p.empty, t, n), Access: hemera.AccessCreate, Exclusive: true, Mode: 0o644})
			return exists(err)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpuTime()
			r.threads(b, b.N, c.op)
			b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
		})
	}
}

// cpuTime returns the processor time that the process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
