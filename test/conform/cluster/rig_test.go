package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/process/daemon"
	"hemera/test/fixture/serving"
	"hemera/words/hemera"
)

// patience bounds every wait; on an idle machine none takes a tenth of it.
const patience = 30 * time.Second

// rig is one cluster and a client of it.
type rig struct {
	t      *testing.T
	dir    string
	up     *daemon.Up
	client *xrootd.Client
	stop   func()
}

func managerOptions(dir string) daemon.ManagerOptions {
	return daemon.ManagerOptions{
		Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 8 << 20, RepairGrace: time.Second, TokenLifetime: time.Hour, Log: slog.New(slog.DiscardHandler),
	}
}

// start runs a cluster below the directory, until stop or the test's end.
func start(t *testing.T, dir string, nodes, disks int) *rig {
	t.Helper()
	up, err := daemon.OpenUp(t.Context(), daemon.UpOptions{Manager: managerOptions(dir), Nodes: nodes, Disks: disks})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir, up: up, client: xrootd.New(xrootd.Options{})}
	r.stop = serving.Run(t, up.Run)
	t.Cleanup(func() { _ = r.client.Close() })
	return r
}

// until waits for something that becomes true by itself.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("never: " + what)
		}
	}
}

func (r *rig) url(path string) xrootd.URL { return urlAt(r.t, r.up.Manager.Addr, path) }

func urlAt(t *testing.T, addr, path string) xrootd.URL {
	t.Helper()
	u, err := xrootd.ParseURL("root://" + addr + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (r *rig) view() *hemera.View {
	v, err := r.up.Manager.Admin.View(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r *rig) disk(id hemera.DiskID) hemera.Disk {
	d, _ := r.view().Disk(id)
	return d
}

// content returns the same for the same path.
func content(path string, size int) []byte {
	var key [32]byte
	copy(key[:], path)
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(key).Read(b)
	return b
}

func write(t *testing.T, c *xrootd.Client, u xrootd.URL, b []byte) {
	t.Helper()
	ctx := t.Context()
	f, err := c.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Parents: true, Mode: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteAt(ctx, b, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, c *xrootd.Client, u xrootd.URL, want []byte) {
	t.Helper()
	ctx := t.Context()
	f, err := c.Open(ctx, u, xrootd.OpenOptions{})
	if err != nil {
		t.Fatalf("%s: %v", u.Path, err)
	}
	defer func() { _ = f.Close(ctx) }()
	b := make([]byte, len(want)+1)
	n, err := f.ReadAt(ctx, b, 0)
	if err != nil && err != io.EOF || !bytes.Equal(b[:n], want) {
		t.Fatalf("%s: %d bytes that differ, %v", u.Path, n, err)
	}
}

// fill writes small files and a large one and returns their sizes by path.
func (r *rig) fill() map[string]int {
	r.t.Helper()
	files := map[string]int{"/big": 5<<20 + 17}
	for i := range 20 {
		files[fmt.Sprintf("/small/f%d", i)] = 1000 * i
	}
	for path, size := range files {
		write(r.t, r.client, r.url(path), content(path, size))
	}
	return files
}

// whole reads all files back and has the cluster audited: it must agree with itself, with as many
// pieces as the files should have.
func (r *rig) whole(files map[string]int) {
	r.t.Helper()
	for path, size := range files {
		read(r.t, r.client, r.url(path), content(path, size))
		info, err := r.up.Manager.Maint.FileInfo(r.t.Context(), hemera.SystemIdentity(), path)
		if err != nil || info.Status != "healthy" {
			r.t.Errorf("%s is %q, %v", path, info.Status, err)
		}
	}
	report, err := r.up.Manager.Maint.Fsck(r.t.Context(), false)
	if err != nil || len(report.Problems) > 0 {
		r.t.Errorf("the audit says %+v, %v", report, err)
	}
}

// pieces returns the paths of a file's pieces by disk.
func (r *rig) pieces(path string) map[hemera.DiskID]string {
	r.t.Helper()
	info, err := r.up.Manager.Maint.FileInfo(r.t.Context(), hemera.SystemIdentity(), path)
	if err != nil {
		r.t.Fatal(err)
	}
	found := map[hemera.DiskID]string{}
	for _, p := range info.Pieces {
		name := fmt.Sprintf("%s.%d.%d", info.Entry.ID.Hex(), info.Entry.Gen, p.Piece.Index)
		match, _ := filepath.Glob(filepath.Join(p.Disk.Path, "*", name))
		if len(match) != 1 {
			r.t.Fatalf("disk %d has %v for %s", p.Disk.ID, match, name)
		}
		found[p.Disk.ID] = match[0]
	}
	return found
}
