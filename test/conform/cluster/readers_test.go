package cluster

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/process/daemon"
	"hemera/rules/wire"
	"hemera/test/conform"
	"hemera/test/fixture/serving"
	"hemera/words/hemera"
)

// split is a manager and a node behind a proxy that cuts connections.
type split struct {
	t       *testing.T
	options daemon.ManagerOptions
	manager *daemon.Manager
	stop    func()
	cutter  *conform.Cutter
	client  *xrootd.Client
}

func newSplit(t *testing.T, hold time.Duration) *split {
	t.Helper()
	s := &split{t: t, options: managerOptions(t.TempDir()), client: xrootd.New(xrootd.Options{})}
	t.Cleanup(func() { _ = s.client.Close() })
	s.options.Listen = fmt.Sprintf("127.0.0.1:%d", conform.FreePort(t))
	s.options.RemovalHold = hold
	s.start()
	a, err := admin.Dial("root://" + s.manager.Addr)
	if err != nil {
		t.Fatal(err)
	}
	token := (&joined{t, s.manager, a}).token(0)
	dir, listen := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", conform.FreePort(t))
	s.cutter = conform.NewCutter(t, listen)
	n, err := daemon.OpenNode(t.Context(), daemon.NodeOptions{
		Dir: dir, Listen: listen, Advertise: s.cutter.Addr(), Join: token, Log: slog.New(slog.DiscardHandler),
		Disks: []hemera.AttachDisk{{Path: filepath.Join(dir, "disk")}}, MakeDisks: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	(&joined{t: t}).run(n)
	s.online()
	return s
}

func (s *split) start() {
	s.t.Helper()
	var err error
	if s.manager, err = daemon.OpenManager(context.Background(), s.options); err != nil {
		s.t.Fatal(err)
	}
	m := s.manager
	s.stop = serving.Run(s.t, func(ctx context.Context, ready func()) error { ready(); return m.Run(ctx) })
}

// online waits for the node's disk.
func (s *split) online() {
	until(s.t, "a disk", func() bool {
		v, err := s.manager.Admin.View(context.Background())
		return err == nil && len(v.Disks) == 1 && v.Disks[0].Writable()
	})
}

func (s *split) restart() {
	s.stop()
	s.start()
	s.online()
}

// overwrite gives the file a new content, from nothing or upon the old one.
func (s *split) overwrite(path string, b []byte, o xrootd.OpenOptions) {
	ctx := context.Background()
	o.Write, o.Mode = true, 0o644
	f, err := s.client.Open(ctx, urlAt(s.t, s.manager.Addr, path), o)
	if err == nil {
		err = f.WriteAt(ctx, b, 0)
	}
	if err == nil {
		err = f.Close(ctx)
	}
	if err != nil {
		s.t.Error(err)
	}
}

// TestCutStockReaderGetsOneContent: xrdcp is cut in the middle of a read; before it notices, the file
// changes. It must copy what it began to, or fail; and it copies it wherever the content is still there.
func TestCutStockReaderGetsOneContent(t *testing.T) {
	if _, err := exec.LookPath("xrdcp"); err != nil {
		t.Skip("xrdcp is not installed")
	}
	const size = 40 << 20
	newer := xrootd.OpenOptions{Create: true}
	for _, c := range []struct {
		what   string
		hold   time.Duration
		change func(s *split)
		fails  bool
	}{
		{"nothing", time.Hour, func(*split) {}, false},
		{"overwritten", time.Hour, func(s *split) { s.overwrite("/f", content("/b", size), newer) }, false},
		{"overwritten with less", time.Hour, func(s *split) { s.overwrite("/f", content("/b", 1000), newer) }, false},
		{"overwritten twice", time.Hour, func(s *split) {
			s.overwrite("/f", content("/b", size), newer)
			s.overwrite("/f", content("/c", size+1), newer)
		}, false},
		{"updated", time.Hour, func(s *split) { s.overwrite("/f", content("/b", size-1), xrootd.OpenOptions{}) }, false},
		{"renamed over", time.Hour, func(s *split) {
			s.overwrite("/g", content("/b", size), newer)
			if err := s.client.Rename(context.Background(), urlAt(s.t, s.manager.Addr, "/g"), "/f"); err != nil {
				s.t.Error(err)
			}
		}, false},
		{"removed", time.Hour, func(s *split) {
			if err := s.client.Remove(context.Background(), urlAt(s.t, s.manager.Addr, "/f")); err != nil {
				s.t.Error(err)
			}
		}, false},
		{"overwritten, and nothing is held", 0, func(s *split) {
			s.overwrite("/f", content("/b", size), newer)
			until(s.t, "the old piece is removed", func() bool {
				n, err := s.manager.Observer.NamespaceStats(context.Background())
				return err == nil && n.Unlinked == 0
			})
		}, true},
		{"nothing, but the manager was restarted", time.Hour, (*split).restart, false},
		{"overwritten, and the manager was restarted", time.Hour, func(s *split) {
			s.overwrite("/f", content("/b", size), newer)
			s.restart()
		}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := newSplit(t, c.hold)
			old := content("/a", size)
			write(t, s.client, urlAt(t, s.manager.Addr, "/f"), old)
			address := s.manager.Addr // a change may replace the manager
			s.cutter.Next(conform.Cut{ToClient: 12 << 20, Before: func() { c.change(s) }})
			before := s.cutter.Connections()
			out := filepath.Join(t.TempDir(), "out")
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			text, err := exec.CommandContext(ctx, "xrdcp", "--nopbar", "root://"+address+"//f", out).CombinedOutput()
			if ctx.Err() != nil {
				t.Fatalf("the copy does not end\n%s", text)
			}
			if (err != nil) != c.fails {
				t.Errorf("the copy ends with %v\n%s", err, text)
			}
			if got, _ := os.ReadFile(out); err == nil && !bytes.Equal(got, old) {
				t.Errorf("the copy succeeds and has %d bytes, that are not the content it began with", len(got))
			}
			if s.cutter.Connections() == before {
				t.Error("the copy was not cut")
			}
		})
	}
}

// TestOpenRacesAReplacement: a client with a grant reads the file, although its name has another content or none by the
// time that the client comes to the node, and again after that, with the same capability.
func TestOpenRacesAReplacement(t *testing.T) {
	t.Parallel()
	s := newSplit(t, time.Hour)
	ctx := t.Context()
	old := content("/a", 300_000)
	write(t, s.client, urlAt(t, s.manager.Addr, "/f"), old)
	g, err := s.manager.Files.Open(ctx, hemera.SystemIdentity(), hemera.OpenRequest{Path: "/f", Access: hemera.AccessRead})
	if err != nil {
		t.Fatal(err)
	}
	token, err := g.Permit.Token()
	if err != nil {
		t.Fatal(err)
	}
	u := urlAt(t, g.Addr, "/f")
	u.Opaque = u.Opaque.With(wire.OpaqueCapability, token)
	settled := func() { // what is to be removed at once is
		until(t, "nothing is to be removed now", func() bool {
			n, err := s.manager.Observer.NamespaceStats(ctx)
			return err == nil && n.Unlinked == n.Held
		})
	}
	for _, change := range []func(){
		func() { s.overwrite("/f", content("/b", 300_000), xrootd.OpenOptions{Create: true}) },
		func() {
			s.overwrite("/g", content("/c", 300_000), xrootd.OpenOptions{Create: true})
			if err := s.client.Rename(ctx, urlAt(t, s.manager.Addr, "/g"), "/f"); err != nil {
				t.Error(err)
			}
		},
		func() {
			if err := s.client.Remove(ctx, urlAt(t, s.manager.Addr, "/f")); err != nil {
				t.Error(err)
			}
		},
	} {
		change()
		settled()
		read(t, s.client, u, old)
	}
}

// TestCutReaderOfOurOwn: the same for Hemera's client.
func TestCutReaderOfOurOwn(t *testing.T) {
	t.Parallel()
	for _, hold := range []time.Duration{time.Hour, 0} {
		s := newSplit(t, hold)
		const size = 20 << 20
		old := content("/a", size)
		write(t, s.client, urlAt(t, s.manager.Addr, "/f"), old)
		s.cutter.Next(conform.Cut{ToClient: 4 << 20, Before: func() {
			s.overwrite("/f", content("/b", size), xrootd.OpenOptions{Create: true})
			until(t, "what is not held is removed", func() bool {
				n, err := s.manager.Observer.NamespaceStats(context.Background())
				return err == nil && n.Unlinked == n.Held
			})
		}})
		c := xrootd.New(xrootd.Options{Chunk: 1 << 20, Window: 2 << 20})
		t.Cleanup(func() { _ = c.Close() })
		f, err := c.Open(t.Context(), urlAt(t, s.manager.Addr, "/f"), xrootd.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, failed := make([]byte, size), error(nil)
		for off := 0; off < size && failed == nil; off += 1 << 20 {
			_, failed = f.ReadAt(t.Context(), got[off:off+1<<20], int64(off))
		}
		if (failed != nil) != (hold == 0) || failed == nil && !bytes.Equal(got, old) {
			t.Errorf("with a hold of %s: %v, the right content: %t", hold, failed, bytes.Equal(got, old))
		}
	}
}
