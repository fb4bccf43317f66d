package vfs_test

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"hemera/platform/vfs"
	"hemera/platform/vfs/vfstest"
)

func TestOS(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) { return vfs.OS{}, t.TempDir() })
}

func TestMemory(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) { return memory(t) })
}

func TestFaultyWithoutFaults(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) {
		m, dir := memory(t)
		return vfs.NewFaulty(m), dir
	})
}

func memory(t *testing.T) (*vfs.Memory, string) {
	m := vfs.NewMemory(0, nil)
	if err := m.Mkdir("/d"); err != nil {
		t.Fatal(err)
	}
	return m, "/d"
}

// Hints do not change readable content.
func TestHints(t *testing.T) {
	name := t.TempDir() + "/a"
	f := write(t, vfs.OS{}, name, "content")
	h := f.(vfs.Hinter)
	h.Preallocate(1 << 20)
	h.StartWriteback(0, 100)
	h.ReadAhead(0, 1<<20)
	h.Forget(0, 1<<20)
	if size, err := f.Size(); size != 7 || err != nil {
		t.Errorf("size %d, %v", size, err)
	}
	if got := content(t, vfs.OS{}, name); got != "content" {
		t.Errorf("content %q", got)
	}
	if f.(vfs.Backed).OSFile().Name() != name {
		t.Error("another file behind it")
	}
}

func write(t *testing.T, fsys vfs.FS, name, text string) vfs.File {
	t.Helper()
	f, err := fsys.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	return f
}

func content(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	f, err := fsys.Open(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 100)
	n, _ := f.ReadAt(p, 0)
	return string(p[:n])
}

func TestCrashLosesWhatWasNotSynced(t *testing.T) {
	m := vfs.NewMemory(0, nil)
	f := write(t, m, "/synced", "old")
	g := write(t, m, "/nodata", "x")
	if err := errors.Join(f.Sync(), m.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	write(t, m, "/synced", "new")
	h := write(t, m, "/noname", "y")
	if err := h.Sync(); err != nil {
		t.Fatal(err)
	}
	m.Crash(nil)
	for name, want := range map[string]string{"/synced": "old", "/nodata": "", "/noname": "(none)"} {
		if got := content(t, m, name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	for _, dead := range []vfs.File{f, g, h} {
		if err := dead.Sync(); !errors.Is(err, syscall.EIO) {
			t.Errorf("handle from before the crash: %v", err)
		}
	}
}

func TestCrashKeepsRenamesWhole(t *testing.T) {
	for kept := range 3 {
		m := vfs.NewMemory(0, nil)
		if err := errors.Join(m.Mkdir("/p"), m.Mkdir("/q"), write(t, m, "/p/a", "a").Sync(), m.SyncDir("/p")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(m.Rename("/p/a", "/q/a"), m.Remove("/q/a")); err != nil {
			t.Fatal(err)
		}
		n := 0
		m.Crash(func() bool { n++; return n <= kept })
		p, q := content(t, m, "/p/a"), content(t, m, "/q/a")
		want := [][2]string{{"a", "(none)"}, {"(none)", "a"}, {"(none)", "(none)"}}[kept]
		if p != want[0] || q != want[1] {
			t.Errorf("%d changes kept: %q %q, want %q", kept, p, q, want)
		}
	}
}

func TestCrashTearsPages(t *testing.T) {
	m := vfs.NewMemory(0, nil)
	f := write(t, m, "/a", "")
	old, now := make([]byte, 3*4096), make([]byte, 3*4096)
	for i := range now {
		old[i], now[i] = 1, 2
	}
	_, err := f.WriteAt(old, 0)
	if err := errors.Join(err, f.Sync(), m.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(now, 0); err != nil {
		t.Fatal(err)
	}
	n := 0
	m.Crash(func() bool { n++; return n == 2 }) // there are no names: keep is called for pages only
	f, err = m.Open("/a", os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 3*4096)
	if _, err := f.ReadAt(p, 0); err != nil {
		t.Fatal(err)
	}
	if p[0] != 1 || p[4096] != 2 || p[2*4096] != 1 {
		t.Errorf("pages %d %d %d, want 1 2 1", p[0], p[4096], p[2*4096])
	}
}

func TestMemoryFillsUp(t *testing.T) {
	m := vfs.NewMemory(8192, nil)
	f := write(t, m, "/a", "12345")
	if _, err := f.WriteAt(make([]byte, 9000), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("wrote more than fits: %v", err)
	}
	if s, err := m.Space("/"); err != nil || s.Free != 4096 {
		t.Errorf("free %d, %v", s.Free, err)
	}
	if err := m.Remove("/a"); err != nil {
		t.Fatal(err)
	}
	if s, err := m.Space("/"); err != nil || s.Free != 8192 {
		t.Errorf("free %d, %v", s.Free, err)
	}
}

func TestFaults(t *testing.T) {
	m := vfs.NewMemory(0, nil)
	fsys := vfs.NewFaulty(m)
	f := write(t, fsys, "/a.x", "0123456789")
	p := make([]byte, 10)

	fsys.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Pattern: "*.x", Skip: 1, Count: 1, Err: syscall.EIO})
	for i, want := range []error{nil, syscall.EIO, nil} {
		if _, err := f.ReadAt(p, 0); !errors.Is(err, want) {
			t.Errorf("read %d: %v, want %v", i, err, want)
		}
	}
	fsys.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Flip: true, Count: 1})
	if _, err := f.ReadAt(p, 0); err != nil || string(p) != "0123446789" {
		t.Errorf("flipped read %q, %v", p, err)
	}
	fsys.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Short: true, Count: 1})
	if n, err := f.WriteAt([]byte("abcdefghij"), 0); n != 5 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("short write %d, %v", n, err)
	}
	fsys.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSync}, Lie: true})
	if err := errors.Join(f.Sync(), fsys.SyncDir("/")); err != nil {
		t.Error(err)
	}
	m.Crash(nil)
	if got := content(t, m, "/a.x"); got != "" {
		t.Errorf("after a lying sync: %q", got)
	}
	fsys.Heal()
	fsys.Inject(vfs.Fault{Pattern: "/b", Err: syscall.EROFS})
	if err := fsys.Mkdir("/b"); !errors.Is(err, syscall.EROFS) {
		t.Errorf("mkdir: %v", err)
	}
	fsys.Inject(vfs.Fault{Space: &vfs.Space{Total: 10, Free: 1, ReadOnly: true}})
	if s, err := fsys.Space("/"); err != nil || s.Free != 1 || !s.ReadOnly {
		t.Errorf("space %+v, %v", s, err)
	}
	if n := fsys.Calls(vfs.OpRead, vfs.OpWrite); n != 6 {
		t.Errorf("%d reads and writes counted", n)
	}
}
