package nodeio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/client/xrootd"
	"hemera/process/daemon"
	"hemera/rules/wire"
	"hemera/tape/nodeio"
	"hemera/tape/session"
	"hemera/test/fixture/serving"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// cluster starts a manager with two nodes, and a client of it.
func cluster(t *testing.T) (*daemon.Up, *xrootd.Client) {
	t.Helper()
	up, err := daemon.OpenUp(t.Context(), daemon.UpOptions{Nodes: 2, Disks: 2, Manager: daemon.ManagerOptions{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 8 << 20, RepairGrace: time.Minute, TokenLifetime: time.Hour, RemovalHold: time.Hour,
		Log: slog.New(slog.DiscardHandler),
	}})
	if err != nil {
		t.Fatal(err)
	}
	serving.Run(t, up.Run)
	c := xrootd.New(xrootd.Options{})
	t.Cleanup(func() { _ = c.Close() })
	return up, c
}

// grant gets a capability the way a client does, and shows it as a manager's grant.
func grant(t *testing.T, up *daemon.Up, c *xrootd.Client, path string, size int64, o xrootd.OpenOptions) tapeapi.Grant {
	t.Helper()
	u, err := xrootd.ParseURL("root://" + up.Manager.Addr + "/" + path)
	if err == nil {
		u, err = c.Where(t.Context(), u, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tapeapi.Grant{Addr: u.Addr(), Token: u.Opaque.Value(wire.OpaqueCapability), Path: path, Size: size}
}

// put writes a file of random bytes.
func put(t *testing.T, up *daemon.Up, c *xrootd.Client, path string, size int) []byte {
	t.Helper()
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	u, err := xrootd.ParseURL("root://" + up.Manager.Addr + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Open(t.Context(), u, xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
	if err == nil {
		err = f.WriteAt(t.Context(), b, 0)
	}
	if err == nil {
		err = f.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// all reads a source by several reads at once.
func all(t *testing.T, s session.Content, size int) ([]byte, error) {
	t.Helper()
	got := make([]byte, size)
	reads, ctx := errgroup.WithContext(t.Context())
	for off := 0; off < size; off += 1 << 20 {
		reads.Go(func() error { return s.ReadAt(ctx, got[off:min(size, off+1<<20)], int64(off)) })
	}
	return got, reads.Wait()
}

func newFiles(t *testing.T) *nodeio.Files {
	t.Helper()
	f := nodeio.New(xrootd.Options{})
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestSourceReadsWhatIsThere(t *testing.T) {
	up, c := cluster(t)
	files := newFiles(t)
	for _, size := range []int{1, 4095, 70_000, 5<<20 + 3} {
		want := put(t, up, c, "/a", size)
		s, err := files.Open(t.Context(), grant(t, up, c, "/a", int64(size), xrootd.OpenOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := all(t, s, size)
		_ = s.Close()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: read %d, %v", size, len(got), err)
		}
	}
	s, err := files.Open(t.Context(), grant(t, up, c, "/a", 5<<20+3, xrootd.OpenOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ReadAt(t.Context(), make([]byte, 10), 5<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a read past the end: %v", err)
	}
	_ = s.Close()
	g := grant(t, up, c, "/a", 1, xrootd.OpenOptions{})
	if _, err := files.Open(t.Context(), g); !errors.Is(err, errs.Conflict) {
		t.Errorf("a file of another size: %v", err)
	}
	g.Token = "x"
	if _, err := files.Open(t.Context(), g); err == nil {
		t.Error("opened without a capability")
	}
}

func TestSinkCommits(t *testing.T) {
	up, c := cluster(t)
	files := newFiles(t)
	want := make([]byte, 3<<20+77)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(want)
	create := xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644}
	k, err := files.Create(t.Context(), grant(t, up, c, "/b", int64(len(want)), create))
	if err != nil {
		t.Fatal(err)
	}
	for rest := want; len(rest) > 0; {
		n := min(len(rest), 100_001)
		if err := k.Write(t.Context(), rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if _, err := up.Manager.Names.Stat(t.Context(), hemera.SystemIdentity(), "/b"); !errors.Is(err, errs.NotFound) {
		t.Errorf("before the commit: %v", err)
	}
	if err := k.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := files.Open(t.Context(), grant(t, up, c, "/b", int64(len(want)), xrootd.OpenOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if got, err := all(t, s, len(want)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
}

// TestSinkThatEndsEarlyLeavesNothing: too few bytes, an abort, and a context that ends.
func TestSinkThatEndsEarlyLeavesNothing(t *testing.T) {
	up, c := cluster(t)
	files := newFiles(t)
	create := xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644}
	for _, end := range []func(session.Target, context.CancelFunc) error{
		func(k session.Target, _ context.CancelFunc) error { return k.Commit(t.Context()) },
		func(k session.Target, _ context.CancelFunc) error { k.Abort(t.Context()); return errs.Corrupt },
		func(k session.Target, cancel context.CancelFunc) error {
			cancel()
			if k.Commit(t.Context()) == nil {
				return nil
			}
			return errs.Corrupt
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		k, err := files.Create(ctx, grant(t, up, c, "/c", 100_000, create))
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Write(ctx, make([]byte, 99_999)); err != nil {
			t.Fatal(err)
		}
		if err := end(k, cancel); !errors.Is(err, errs.Corrupt) {
			t.Errorf("it ended with %v", err)
		}
		cancel()
		if _, err := up.Manager.Names.Stat(t.Context(), hemera.SystemIdentity(), "/c"); !errors.Is(err, errs.NotFound) {
			t.Errorf("something is there: %v", err)
		}
	}
}
