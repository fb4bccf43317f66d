package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hemera/words/hemera"
)

// BenchmarkPair measures an open and its close in a cluster of one process, without doors and network: the manager's
// part, the node's, and the calls between them. cpu-ns/op counts all threads. With TMPDIR on a memory-backed filesystem
// an fsync costs almost nothing, as in the table of manager/DESIGN.md.
func BenchmarkPair(b *testing.B) {
	r := newBenchCluster(b)
	for _, clients := range []int{1, 4, 16} {
		for _, c := range []struct {
			name string
			op   func(ctx context.Context, path string) error
			fill int64 // bytes of the existing files; -1: none
		}{
			{"create/empty", create(r.local, nil), -1},
			{"create/4KiB", create(r.local, make([]byte, 4096)), -1},
			{"create/4KiB/redirected", create(r.node, make([]byte, 4096)), -1},
			{"open/empty", read(r.local), 0},
			{"open/4KiB", read(r.local), 4096},
			{"open/4KiB/redirected", read(r.node), 4096},
		} {
			b.Run(fmt.Sprintf("%s/x%d", c.name, clients), func(b *testing.B) {
				r.round++
				dir := fmt.Sprintf("/bench/r%d", r.round)
				if c.fill >= 0 {
					for i := range clients {
						if err := create(r.local, make([]byte, c.fill))(b.Context(), fmt.Sprintf("%s/c%d/f", dir, i)); err != nil {
							b.Fatal(err)
						}
					}
				}
				path := func(client, n int) string {
					if c.fill >= 0 {
						return fmt.Sprintf("%s/c%d/f", dir, client)
					}
					return fmt.Sprintf("%s/c%d/%d", dir, client, n)
				}
				b.ReportAllocs()
				b.ResetTimer()
				before := cpuTime()
				share(b, clients, func(client, n int) error { return c.op(b.Context(), path(client, n)) })
				b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

type benchCluster struct {
	*Up
	round int
}

func newBenchCluster(b *testing.B) *benchCluster {
	u, err := OpenUp(b.Context(), UpOptions{Nodes: 1, Disks: 1, Manager: ManagerOptions{
		Dir: b.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 1 << 30, Log: slog.New(slog.DiscardHandler),
		Space: hemera.Space{Policy: hemera.Policy{Layout: hemera.Layout{Kind: hemera.LayoutPlain, Data: 1, Pieces: 1, BlockSize: hemera.PageSize}}},
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(running(b, u))
	return &benchCluster{Up: u}
}

var benchUser = hemera.Identity{Name: "alice", UID: 1000, GID: 100, Protocol: "unix", Host: "127.0.0.1"}

// local opens a file like the manager's door.
func (c *benchCluster) local(ctx context.Context, o hemera.OpenRequest) (hemera.File, error) {
	ctx = hemera.WithTrace(ctx, hemera.NewTraceID())
	g, err := c.Manager.Files.Open(ctx, benchUser, o)
	if err != nil {
		return nil, err
	}
	return c.Nodes[0].Open(ctx, g.Permit, hemera.NodeOpen{Truncate: o.Access == hemera.AccessCreate})
}

// node opens the granted file, like the door of the node after a redirect.
func (c *benchCluster) node(ctx context.Context, o hemera.OpenRequest) (hemera.File, error) {
	ctx = hemera.WithTrace(ctx, hemera.NewTraceID())
	g, err := c.Manager.Files.Open(ctx, benchUser, o)
	if err != nil {
		return nil, err
	}
	token, err := g.Permit.Token()
	if err != nil {
		return nil, err
	}
	return c.Nodes[0].Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{Truncate: o.Access == hemera.AccessCreate})
}

type opener func(ctx context.Context, o hemera.OpenRequest) (hemera.File, error)

func create(open opener, content []byte) func(ctx context.Context, path string) error {
	return func(ctx context.Context, path string) error {
		f, err := open(ctx, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Parents: true, Mode: 0o644})
		if err != nil {
			return err
		}
		if len(content) > 0 {
			if err := f.WritePages(content, nil, 0); err != nil {
				return err
			}
		}
		return f.End(ctx, hemera.EndClose)
	}
}

func read(open opener) func(ctx context.Context, path string) error {
	return func(ctx context.Context, path string) error {
		f, err := open(ctx, hemera.OpenRequest{Path: path, Access: hemera.AccessRead})
		if err != nil {
			return err
		}
		return f.End(ctx, hemera.EndClose)
	}
}

// share runs op as often as the benchmark wants, distributed to the clients; n counts the calls of one.
func share(b *testing.B, clients int, op func(client, n int) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for n := 0; left.Add(-1) >= 0; n++ {
				if err := op(i, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// cpuTime returns the processor time of the process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
