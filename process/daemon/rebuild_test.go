package daemon

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/namespace"
	"hemera/platform/pki"
	"hemera/process/backup"
	"hemera/process/statedir"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// startUp runs a cluster in the directory until it is stopped.
func startUp(t *testing.T, dir string) (u *Up, stop func()) {
	t.Helper()
	u, err := OpenUp(t.Context(), UpOptions{Nodes: 4, Disks: 8, Manager: ManagerOptions{
		Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: keptLog(t), RemovalHold: time.Hour,
		Space: hemera.Space{Policy: hemera.Policy{Layout: hemera.Replica(2), Checksum: hemera.Adler32}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return u, running(t, u)
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

// pieceFiles returns the names of all pieces below a directory.
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

// lostCluster is a cluster on loopback whose manager's state was lost, with its former content.
type lostCluster struct {
	t        *testing.T
	dir      string
	contents map[string][]byte // by the paths in footers
	replaced hemera.Entry      // a file with two contents on its disks
	view     *hemera.View
	files    []string // names of piece files
}

// quiet ignores the reports of a rebuild.
func quiet(adminapi.RebuildReport) error { return nil }

// fill writes files of several layouts; one is replaced, one renamed, one removed, whose pieces are held for readers.
func (l *lostCluster) fill(u *Up) {
	l.t.Helper()
	c, ctx, root := newClient(l.t, u), l.t.Context(), hemera.SystemIdentity()
	random := rand.NewChaCha8([32]byte{7})
	put := func(path string, size int) {
		l.contents[path] = make([]byte, size)
		_, _ = random.Read(l.contents[path])
		c.put(path, l.contents[path])
	}
	for _, layout := range []string{"plain", "replica:3", "rs:2+1", "lrc:4+2+1", "stripe:3"} {
		of := "/" + strings.NewReplacer(":", "", "+", "").Replace(layout)
		if _, err := u.Manager.Names.Mkdir(ctx, root, of, 0o777, false); err != nil {
			l.t.Fatal(err)
		}
		if err := u.Manager.Attributes.SetXattr(ctx, root, of, "sys.forced.layout", []byte(layout), false); err != nil {
			l.t.Fatal(err)
		}
		for i, size := range []int{1, 5000, 3 << 20} {
			put(of+"/deep/down/"+string(rune('a'+i)), size)
		}
	}
	put("/replaced", 10_000)
	put("/replaced", 20_000)
	put("/old-name", 300)
	put("/removed", 400)
	err := errors.Join(u.Manager.Names.Rename(ctx, root, "/old-name", "/new-name"), u.Manager.Names.Remove(ctx, root, "/removed", hemera.KindFile))
	if err == nil {
		l.replaced, err = u.Manager.Names.Stat(ctx, root, "/replaced")
	}
	if err == nil {
		l.view, err = u.Manager.Admin.View(ctx)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// loseManager returns a cluster with files whose manager's state was replaced by a prepared one.
func loseManager(t *testing.T) *lostCluster {
	t.Helper()
	l := &lostCluster{t: t, dir: t.TempDir(), contents: map[string][]byte{}}
	u, stop := startUp(t, l.dir)
	l.fill(u)
	stop()
	if err := os.RemoveAll(filepath.Join(l.dir, statedir.UpManager)); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Prepare(t.Context(), filepath.Join(l.dir, statedir.UpManager), backup.PrepareOptions{}); err != nil {
		t.Fatal(err)
	}
	l.files = pieceFiles(t, l.dir)
	return l
}

// TestAPreparedClusterWaits: nodes and disks are back under their ids. Clients cannot change anything, and for missing
// files get an error that says that they may come back.
func TestAPreparedClusterWaits(t *testing.T) {
	l := loseManager(t)
	u, stop := startUp(t, l.dir)
	defer stop()
	ctx, alice := t.Context(), hemera.Identity{Name: "alice", UID: 1000, GID: 1000}
	view, err := u.Manager.Admin.View(ctx)
	if err != nil || len(view.Disks) != 8 || len(view.Nodes) != 4 {
		t.Fatalf("%+v, %v", view, err)
	}
	for i, d := range view.Disks {
		if was := l.view.Disks[i]; d.ID != was.ID || d.UUID != was.UUID || d.Node != was.Node || d.Path != was.Path {
			t.Errorf("disk %+v was %+v", d, was)
		}
	}
	if _, err := u.Manager.Names.Mkdir(ctx, alice, "/new", 0o755, false); !errors.Is(err, errs.Unavailable) {
		t.Errorf("mkdir: %v", err)
	}
	if _, err := u.Manager.Names.Stat(ctx, alice, "/replaced"); !errors.Is(err, errs.Unavailable) {
		t.Errorf("stat: %v", err)
	}
	for _, access := range []hemera.Access{hemera.AccessRead, hemera.AccessCreate} {
		if _, err := u.Manager.Files.Open(ctx, alice, hemera.OpenRequest{Path: "/replaced", Access: access}); !errors.Is(err, errs.Unavailable) {
			t.Errorf("open: %v", err)
		}
	}
	if status, err := u.Manager.Status.Status(ctx); err != nil || len(status.Conditions) == 0 || status.Conditions[0].Code != "rebuilding" {
		t.Errorf("%+v, %v", status, err)
	}
	dry, err := u.Manager.Rebuild.Rebuild(ctx, adminapi.RebuildOptions{DryRun: true}, quiet)
	if err != nil || dry.Made != int64(len(l.contents)) || dry.Problems[adminapi.RebuildOlder] != 1 || dry.Ownerless != 0 {
		t.Errorf("%+v, %v", dry, err)
	}
	if stats, err := u.Manager.Observer.NamespaceStats(ctx); err != nil || stats.Totals.Files != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// TestAClusterWithoutItsManagersState: the cluster is rebuilt from the content of its disks.
func TestAClusterWithoutItsManagersState(t *testing.T) {
	l := loseManager(t)
	u, stop := startUp(t, l.dir)
	defer stop()
	ctx := t.Context()
	// The rebuild is interrupted, and continues later.
	_, err := u.Manager.Rebuild.Rebuild(ctx, adminapi.RebuildOptions{}, func(adminapi.RebuildReport) error { return errs.Cancelled })
	if err != nil && !errors.Is(err, errs.Cancelled) {
		t.Fatal(err)
	}
	report, err := u.Manager.Rebuild.Rebuild(ctx, adminapi.RebuildOptions{}, quiet)
	if err != nil || report.Made+report.Before != int64(len(l.contents)) || report.Lost != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	c := newClient(t, u)
	for path, content := range l.contents {
		if got := c.get(path); !bytes.Equal(got, content) {
			t.Errorf("%s has %d bytes and not %d, or others", path, len(got), len(content))
		}
	}
	is, err := u.Manager.Names.Stat(ctx, hemera.SystemIdentity(), "/replaced")
	if was := l.replaced; err != nil || is.ID != was.ID || is.Gen != was.Gen || is.Mode != was.Mode || is.UID != was.UID || is.GID != was.GID ||
		is.Layout != was.Layout || !slices.Equal(is.Checksums, was.Checksums) || !slices.Equal(is.Pieces, was.Pieces) {
		t.Errorf("%+v\nwas %+v, %v", is, was, err)
	}
	if err := u.Manager.Rebuild.ForgetLost(ctx, adminapi.ForgetOptions{}); !errors.Is(err, errs.Conflict) {
		t.Errorf("forgotten in the middle: %v", err)
	}
	if err := u.Manager.Rebuild.FinishRebuild(ctx); err != nil {
		t.Fatal(err)
	}
	l.compare(u)
	c.put("/after", []byte("a new file"))
	if _, err := u.Manager.Names.Stat(ctx, hemera.Identity{Name: "alice", UID: 1000}, "/nothing"); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if _, err := u.Manager.Rebuild.Rebuild(ctx, adminapi.RebuildOptions{}, quiet); !errors.Is(err, errs.NotEmpty) {
		t.Errorf("into a namespace with files: %v", err)
	}
	merged, err := u.Manager.Rebuild.Rebuild(ctx, adminapi.RebuildOptions{Merge: true}, quiet)
	if err != nil || merged.Made != 0 || merged.Before != int64(len(l.contents)) {
		t.Errorf("%+v, %v", merged, err)
	}
}

// compare checks the namespace and audits the disks: everything stays in its place, and pieces without a file count as
// newer.
func (l *lostCluster) compare(u *Up) {
	l.t.Helper()
	check, err := u.Manager.Maint.CheckNamespace(l.t.Context(), func(adminapi.NamespaceCheck) error { return nil })
	if err != nil || !check.Healthy() {
		l.t.Errorf("%+v, %v", check, err)
	}
	fsck, err := u.Manager.Maint.Fsck(l.t.Context(), true)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, p := range fsck.Problems {
		if p.Tag != "newer" || len(p.Files) != 1 || p.Files[0] != l.replaced.ID {
			l.t.Errorf("%+v", p)
		}
	}
	if now := pieceFiles(l.t, l.dir); !slices.Equal(now, l.files) {
		l.t.Errorf("%d pieces were there, and %d are", len(l.files), len(now))
	}
}

// TestARebuildNeedsAPreparedManager: another manager would give new files the ids of lost ones.
func TestARebuildNeedsAPreparedManager(t *testing.T) {
	o := ManagerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Log: keptLog(t)}
	m, err := OpenManager(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Rebuild.Rebuild(t.Context(), adminapi.RebuildOptions{}, quiet)
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

// TestNodesComeBackToAPreparedManager: with their certificates if its authority was saved, and with a token if not.
func TestNodesComeBackToAPreparedManager(t *testing.T) {
	for name, saved := range map[string]bool{"authority": true, "none": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			m, stop := s.start()
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
			if !m.tree.Past.Lost(hemera.PieceID{File: 2, Gen: 1}, time.Now()) || namespace.Adoptable("/lost+found/x") {
				t.Error("it is not prepared")
			}
		})
	}
}
