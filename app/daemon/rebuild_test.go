package daemon

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera"
	"hemera/app/backup"
	"hemera/app/statedir"
	"hemera/core/namespace"
	"hemera/errs"
	"hemera/platform/pki"
	"hemera/platform/xrootd"
)

// startUp runs a cluster in the directory until it is stopped.
func startUp(t *testing.T, dir string) (u *Up, stop func()) {
	t.Helper()
	u, err := OpenUp(t.Context(), UpOptions{Nodes: 4, Disks: 8, Manager: ManagerOptions{
		Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: slog.New(slog.DiscardHandler), RemovalHold: time.Hour,
		Space: hemera.Space{Policy: hemera.Policy{Layout: hemera.Replica(2), Checksum: hemera.Adler32}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	stop = serving(t, func(ctx context.Context) error { return u.Run(ctx, func() { close(ready) }) })
	<-ready
	return u, stop
}

// client writes and reads files of a cluster.
type client struct {
	*xrootd.Client
	t   *testing.T
	url string
}

func newClient(t *testing.T, u *Up) client {
	c := client{xrootd.New(xrootd.Options{}), t, "root://" + u.Manager.Addr + "/"}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (c client) at(path string) xrootd.URL {
	c.t.Helper()
	u, err := xrootd.ParseURL(c.url + path)
	if err != nil {
		c.t.Fatal(err)
	}
	return u
}

func (c client) put(path string, content []byte) {
	c.t.Helper()
	f, err := c.Open(c.t.Context(), c.at(path), xrootd.OpenOptions{Write: true, Create: true, Parents: true, Mode: 0o640})
	if err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
	w := f.NewWriter(c.t.Context(), 0)
	_, err = w.Write(content)
	if err = errors.Join(err, w.Flush(), f.Close(c.t.Context())); err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
}

func (c client) get(path string) []byte {
	c.t.Helper()
	f, err := c.Open(c.t.Context(), c.at(path), xrootd.OpenOptions{})
	if err != nil {
		c.t.Errorf("%s: %v", path, err)
		return nil
	}
	content := make([]byte, f.Info().Size)
	if _, err := f.ReadAt(c.t.Context(), content, 0); err != nil && len(content) > 0 {
		c.t.Errorf("%s: %v", path, err)
	}
	_ = f.Close(c.t.Context())
	return content
}

// pieceFiles are the names of all pieces below a directory.
func pieceFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if _, bad := hemera.ParsePieceID(filepath.Base(path)); bad == nil && !e.IsDir() {
			names = append(names, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// TestAClusterWithoutItsManagersState is built up again from what its disks have.
func TestAClusterWithoutItsManagersState(t *testing.T) {
	dir := t.TempDir()
	u, stop := startUp(t, dir)
	c := newClient(t, u)
	ctx, root := t.Context(), hemera.SystemIdentity()
	want := map[string][]byte{}
	random := rand.NewChaCha8([32]byte{7})
	bytesOf := func(n int) []byte {
		b := make([]byte, n)
		_, _ = random.Read(b)
		return b
	}
	for _, layout := range []string{"plain", "replica:3"} {
		of := "/" + strings.ReplaceAll(layout, ":", "")
		if _, err := u.Manager.Mkdir(ctx, root, of, 0o777, false); err != nil {
			t.Fatal(err)
		}
		if err := u.Manager.SetXattr(ctx, root, of, "sys.forced.layout", []byte(layout), false); err != nil {
			t.Fatal(err)
		}
		for i, size := range []int{1, 5000, 3 << 20} {
			path := of + "/deep/down/" + string(rune('a'+i))
			want[path] = bytesOf(size)
			c.put(path, want[path])
		}
	}
	c.put("/replaced", bytesOf(10_000))
	want["/replaced"] = bytesOf(20_000)
	c.put("/replaced", want["/replaced"])
	want["/old-name"] = bytesOf(300)
	c.put("/old-name", want["/old-name"])
	want["/removed"] = bytesOf(400) // its pieces are held for readers, and so it comes back
	c.put("/removed", want["/removed"])
	if err := errors.Join(u.Manager.Rename(ctx, root, "/old-name", "/new-name"), u.Manager.Remove(ctx, root, "/removed", hemera.KindFile)); err != nil {
		t.Fatal(err)
	}
	before, err := u.Manager.Stat(ctx, root, "/replaced")
	if err != nil {
		t.Fatal(err)
	}
	view, err := u.Manager.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop()

	if err := os.RemoveAll(filepath.Join(dir, statedir.UpManager)); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Prepare(ctx, filepath.Join(dir, statedir.UpManager), backup.PrepareOptions{}); err != nil {
		t.Fatal(err)
	}
	files := pieceFiles(t, dir)
	u, stop = startUp(t, dir)
	defer stop()
	again, err := u.Manager.View(ctx)
	if err != nil || len(again.Disks) != 8 || len(again.Nodes) != 4 {
		t.Fatalf("%+v, %v", again, err)
	}
	for i, d := range again.Disks {
		if was := view.Disks[i]; d.ID != was.ID || d.UUID != was.UUID || d.Node != was.Node || d.Path != was.Path {
			t.Errorf("disk %+v was %+v", d, was)
		}
	}

	// Clients change nothing, and hear that what they do not find may come.
	alice := hemera.Identity{Name: "alice", UID: 1000, GID: 1000}
	if _, err := u.Manager.Mkdir(ctx, alice, "/new", 0o755, false); !errors.Is(err, errs.Unavailable) {
		t.Errorf("mkdir: %v", err)
	}
	if _, err := u.Manager.Stat(ctx, alice, "/replaced"); !errors.Is(err, errs.Unavailable) {
		t.Errorf("stat: %v", err)
	}
	if _, err := u.Manager.Open(ctx, alice, hemera.OpenRequest{Path: "/replaced", Access: hemera.AccessRead}); !errors.Is(err, errs.Unavailable) {
		t.Errorf("open: %v", err)
	}
	if _, err := u.Manager.Open(ctx, alice, hemera.OpenRequest{Path: "/replaced", Access: hemera.AccessCreate}); !errors.Is(err, errs.Unavailable) {
		t.Errorf("create: %v", err)
	}

	quiet := func(hemera.RebuildReport) error { return nil }
	dry, err := u.Manager.Rebuild(ctx, hemera.RebuildOptions{DryRun: true}, quiet)
	if err != nil || dry.Made != int64(len(want)) || dry.Problems[hemera.RebuildOlder] != 1 || dry.Ownerless != 0 {
		t.Fatalf("%+v, %v", dry, err)
	}
	// It is cut off, and goes on.
	if _, err := u.Manager.Rebuild(ctx, hemera.RebuildOptions{}, func(hemera.RebuildReport) error { return errs.Cancelled }); err != nil && !errors.Is(err, errs.Cancelled) {
		t.Fatal(err)
	}
	report, err := u.Manager.Rebuild(ctx, hemera.RebuildOptions{}, quiet)
	if err != nil || report.Made+report.Before != int64(len(want)) || report.Lost != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	c = newClient(t, u)
	for path, content := range want {
		if got := c.get(path); !bytes.Equal(got, content) {
			t.Errorf("%s has %d bytes and not %d, or others", path, len(got), len(content))
		}
	}
	after, err := u.Manager.Stat(ctx, root, "/replaced")
	if err != nil || after.ID != before.ID || after.Gen != before.Gen || after.Mode != before.Mode || after.UID != before.UID || after.GID != before.GID ||
		after.Layout != before.Layout || !slices.Equal(after.Checksums, before.Checksums) || !slices.Equal(after.Pieces, before.Pieces) {
		t.Errorf("%+v\nwas %+v, %v", after, before, err)
	}

	if err := u.Manager.FinishRebuild(ctx); err != nil {
		t.Fatal(err)
	}
	if check, err := u.Manager.CheckNamespace(ctx, func(hemera.NamespaceCheck) error { return nil }); err != nil || !check.Healthy() {
		t.Errorf("%+v, %v", check, err)
	}
	// The audit that repairs leaves everything where it is: what no file has counts as newer.
	fsck, err := u.Manager.Fsck(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fsck.Problems {
		if p.Tag != "newer" || len(p.Files) != 1 || p.Files[0] != before.ID {
			t.Errorf("%+v", p)
		}
	}
	if now := pieceFiles(t, dir); !slices.Equal(now, files) {
		t.Errorf("%d pieces were there, and %d are", len(files), len(now))
	}
	c.put("/after", []byte("a new file"))
	if _, err := u.Manager.Stat(ctx, alice, "/nothing"); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if _, err := u.Manager.Rebuild(ctx, hemera.RebuildOptions{}, quiet); !errors.Is(err, errs.NotEmpty) {
		t.Errorf("into a namespace with files: %v", err)
	}
	merged, err := u.Manager.Rebuild(ctx, hemera.RebuildOptions{Merge: true}, quiet)
	if err != nil || merged.Made != 0 || merged.Before != int64(len(want)) {
		t.Errorf("%+v, %v", merged, err)
	}
}

// TestARebuildNeedsAPreparedManager: another one would give new files the ids of lost ones.
func TestARebuildNeedsAPreparedManager(t *testing.T) {
	o := ManagerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Log: slog.New(slog.DiscardHandler)}
	m, err := OpenManager(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Rebuild(t.Context(), hemera.RebuildOptions{}, func(hemera.RebuildReport) error { return nil })
	if !errors.Is(err, errs.Denied) || !strings.Contains(errs.RemedyOf(err), "prepare") {
		t.Errorf("%v, %q", err, errs.RemedyOf(err))
	}
	authority := filepath.Join(o.Dir, pki.AuthorityFile)
	m.close()

	if _, err := backup.Prepare(t.Context(), o.Dir, backup.PrepareOptions{}); !errors.Is(err, errs.NotEmpty) {
		t.Errorf("over a manager's state: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "prepared")
	if _, err := backup.Prepare(t.Context(), dir, backup.PrepareOptions{Authority: filepath.Join(o.Dir, "none")}); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "wrong"), []byte("no authority"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Prepare(t.Context(), dir, backup.PrepareOptions{Authority: filepath.Join(o.Dir, "wrong")}); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
		t.Error(err)
	}
	b, err := backup.Prepare(t.Context(), dir, backup.PrepareOptions{Authority: authority})
	if err != nil || !b.Taken.IsZero() || b.To < uint64(time.Now().Unix())<<19 {
		t.Errorf("%+v, %v", b, err)
	}
	was, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := os.ReadFile(filepath.Join(dir, pki.AuthorityFile)); err != nil || !bytes.Equal(is, was) {
		t.Errorf("another authority, %v", err)
	}
}

// TestNodesComeBackToAPreparedManager, with their certificates if its authority was saved, and by a token if not.
func TestNodesComeBackToAPreparedManager(t *testing.T) {
	for name, saved := range map[string]bool{"authority": true, "none": false} {
		t.Run(name, func(t *testing.T) {
			s := &site{t: t, dir: t.TempDir(), addr: "127.0.0.1:0"}
			m, stop := s.start()
			s.addr = m.Addr
			first := s.joins(s.token(m))
			stop()
			lost := s.path("lost")
			if err := os.Rename(m.Dir(), lost); err != nil {
				t.Fatal(err)
			}
			var o backup.PrepareOptions
			if saved {
				o.Authority = filepath.Join(lost, pki.AuthorityFile)
			}
			if _, err := backup.Prepare(t.Context(), m.Dir(), o); err != nil {
				t.Fatal(err)
			}
			m, stop = s.start()
			defer stop()
			token := ""
			if !saved {
				token = s.token(m)
				if err := os.Remove(s.path("node/node.pem")); err != nil {
					t.Fatal(err)
				}
			}
			id := s.joins(token)
			if saved && id != first || !saved && id <= 1000 {
				t.Errorf("node %v came back as %v", first, id)
			}
			if s.diskOf(m) != id { // the disk is 1, as it was
				t.Errorf("the disk is node %v's", s.diskOf(m))
			}
			if !m.tree.Lost(hemera.PieceID{File: 2, Gen: 1}) || namespace.Adoptable("/lost+found/x") {
				t.Error("it is not prepared")
			}
		})
	}
}
