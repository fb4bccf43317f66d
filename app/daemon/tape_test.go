package daemon

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"hemera"
	"hemera/platform/tape/emulated"
	"hemera/platform/xrootd"
	testserving "hemera/test/fixture/serving"
)

// withTape runs a cluster of two nodes with a library whose devices do not wait.
func withTape(t *testing.T, dir string) *Up {
	t.Helper()
	up, err := OpenUp(t.Context(), UpOptions{Nodes: 2, Disks: 2,
		Tape: &TapeOptions{Name: "lib", Dir: filepath.Join(dir, "tape"), Spec: emulated.Spec{Drives: 2, Slots: 6, Cartridges: 4, Capacity: 32 << 20}},
		Manager: ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 8 << 20, RepairGrace: time.Minute, TokenLifetime: time.Hour,
			Log: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		t.Fatal(err)
	}
	testserving.Run(t, up.Run)
	return up
}

// until waits until something is so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after a minute: %s", what)
		}
	}
}

// TestUpWithTape: a fresh cluster archives without any set-up, evicts the disk copies, and recalls the files.
func TestUpWithTape(t *testing.T) {
	who := hemera.SystemIdentity()
	up := withTape(t, t.TempDir())
	m := up.Manager
	if _, err := m.Mkdir(t.Context(), who, "/a", 0o777, false); err != nil {
		t.Fatal(err)
	}
	if err := m.SetXattr(t.Context(), who, "/a", hemera.AttrStorageClass, []byte("default"), false); err != nil {
		t.Fatal(err)
	}
	c := xrootd.New(xrootd.Options{})
	t.Cleanup(func() { _ = c.Close() })
	url := func(path string) xrootd.URL {
		u, err := xrootd.ParseURL("root://" + m.Addr + "/" + path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	contents := map[string][]byte{}
	for i, size := range []int{1, 4097, 300_000, 5 << 20} {
		path := "/a/" + string(rune('a'+i))
		b := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(b)
		f, err := c.Open(t.Context(), url(path), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
		if err == nil {
			err = f.WriteAt(t.Context(), b, 0)
		}
		if err == nil {
			err = f.Close(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		contents[path] = b
	}
	stat := func(path string) hemera.Entry {
		e, err := m.Stat(t.Context(), who, path)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for path := range contents {
		until(t, path+" is on tape", func() bool { e := stat(path); return len(e.Tape) == 1 })
		if err := m.Evict(t.Context(), who, path); err != nil {
			t.Fatal(err)
		}
		if e := stat(path); !e.Evicted() {
			t.Errorf("%s is still on disk: %+v", path, e.Pieces)
		}
	}
	var r hemera.StageRequest
	for path := range contents {
		r.Files = append(r.Files, hemera.StageFile{Path: path})
	}
	if _, err := m.Stage(t.Context(), who, r); err != nil {
		t.Fatal(err)
	}
	for path, want := range contents {
		until(t, path+" is on disk again", func() bool { e := stat(path); return !e.Evicted() })
		f, err := c.Open(t.Context(), url(path), xrootd.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := f.ReadAt(t.Context(), got, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s came back with another content, %v", path, err)
		}
		_ = f.Close(t.Context())
	}
}
