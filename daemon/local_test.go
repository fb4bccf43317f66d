package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"hemera"
)

// startUp runs a cluster of one node and one disk below a fresh directory, for user 1000.
func startUp(tb testing.TB) *Up {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	u, err := OpenUp(ctx, UpOptions{Nodes: 1, Disks: 1,
		Manager: ManagerOptions{Dir: tb.TempDir(), Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)}})
	if err != nil {
		tb.Fatal(err)
	}
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- u.Run(ctx, func() { close(ready) }) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	<-ready
	return u
}

var alice = hemera.Identity{Name: "alice", UID: 1000, GID: 100, Protocol: "unix", Host: "127.0.0.1"}

// file opens a file as a client's two opens do: with a token that the node verifies, or within the process.
func (u *Up) file(ctx context.Context, r hemera.OpenRequest) (hemera.File, error) {
	g, err := u.Manager.Open(ctx, alice, r)
	if err != nil {
		return nil, err
	}
	if r.Unsigned {
		return u.node(g.Cap.Targets[0].Node).OpenPermit(ctx, g.Permit, hemera.NodeOpen{})
	}
	return u.Nodes[0].Open(ctx, g.Token, hemera.NodeOpen{})
}

// BenchmarkOpen is an open and a close without a network; cpu-ns/op is of all threads.
func BenchmarkOpen(b *testing.B) {
	u := startUp(b)
	ctx := b.Context()
	serial := 0
	create := func(unsigned bool) error {
		serial++
		f, err := u.file(ctx, hemera.OpenRequest{Path: fmt.Sprintf("/f%d", serial), Access: hemera.AccessCreate, Exclusive: true, Mode: 0o644, Unsigned: unsigned})
		if err != nil {
			return err
		}
		if serial == 1 {
			if err := f.WriteAt([]byte("x"), 0); err != nil {
				return err
			}
		}
		return f.Close(ctx)
	}
	if err := create(false); err != nil {
		b.Fatal(err)
	}
	read := func(unsigned bool) error {
		f, err := u.file(ctx, hemera.OpenRequest{Path: "/f1", Access: hemera.AccessRead, Unsigned: unsigned})
		if err != nil {
			return err
		}
		return f.Close(ctx)
	}
	for _, c := range []struct {
		name     string
		op       func(unsigned bool) error
		unsigned bool
	}{{"read/token", read, false}, {"read/permit", read, true}, {"create/token", create, false}, {"create/permit", create, true}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpuTime()
			for b.Loop() {
				if err := c.op(c.unsigned); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
