package disk

import (
	"errors"
	"os"
	"testing"
	"time"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// hookedFS calls hooks in the middle of operations.
type hookedFS struct {
	vfs.FS
	opened  func(name string)
	syncDir func() error
}

func (h *hookedFS) Open(name string, flag int) (vfs.File, error) {
	f, err := h.FS.Open(name, flag)
	if h.opened != nil {
		h.opened(name)
	}
	return f, err
}

func (h *hookedFS) SyncDir(name string) error {
	if h.syncDir != nil {
		return h.syncDir()
	}
	return h.FS.SyncDir(name)
}

// newHooked makes an empty disk in memory with hooks.
func newHooked(t *testing.T, o Options) (*Disk, *hookedFS) {
	t.Helper()
	h := &hookedFS{FS: vfs.NewMemory(64<<20, time.Now)}
	if err := h.Mkdir("/disk"); err != nil {
		t.Fatal(err)
	}
	return newDisk(t, h, "/disk", o), h
}

// TestFailedDirectorySyncIsFinal asks after a failed sync for names made before it.
func TestFailedDirectorySyncIsFinal(t *testing.T) {
	fail := errors.New("lost")
	h := &hookedFS{syncDir: func() error { return fail }}
	var s dirSync
	s.init(h, "/")
	first, second := s.mark(), s.mark()
	if err := s.reach(first); !errors.Is(err, fail) {
		t.Errorf("the sync that failed: %v", err)
	}
	h.syncDir = func() error { return nil }
	if err := s.reach(second); !errors.Is(err, fail) {
		t.Errorf("a name that the failed sync was for: %v", err)
	}
	third := s.mark()
	if err := s.reach(third); err != nil {
		t.Errorf("a name made later: %v", err)
	}
	if err := s.reach(first); !errors.Is(err, fail) {
		t.Errorf("the first name, after a good sync: %v", err)
	}
}

// TestFencedWriterLeavesTheSideFile ends a writer whose piece was started over, both with more page
// checksums than stay in memory.
func TestFencedWriterLeavesTheSideFile(t *testing.T) {
	d, _ := newHooked(t, Options{PendingBlocks: 1})
	write := func(w Writer) {
		for _, off := range []int64{0, blockSums * hemera.PageSize, 0} {
			if err := w.WritePages([]byte("x"), nil, off); err != nil {
				t.Fatal(err)
			}
		}
	}
	old, err := d.Create(pieceID(1), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	write(old)
	again, err := d.Create(pieceID(1), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	write(again)
	if err := old.Abort(); err != nil {
		t.Errorf("the old writer: %v", err)
	}
	write(again)
	if _, err := again.Seal(hemera.SealInfo{FileSize: again.Size(), Sync: true}); err != nil {
		t.Errorf("the new writer: %v", err)
	}
}

// TestRemovedWhileOpened removes a piece between the opening of its file and the end of Open: what
// was opened must not be served to those who come later.
func TestRemovedWhileOpened(t *testing.T) {
	d, h := newHooked(t, Options{})
	id := pieceID(1)
	store(t, d, id, []byte("content"), 7)
	h.opened = func(name string) {
		if name == d.sealedPath(id) {
			h.opened = nil
			if err := d.Remove(id); err != nil {
				t.Error(err)
			}
		}
	}
	r, err := d.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if _, err := d.Open(id); !errors.Is(err, errs.NotFound) {
		t.Errorf("a removed piece was opened: %v", err)
	}
}

// TestReplace seals a piece over one that is there, and fails to.
func TestReplace(t *testing.T) {
	d, _ := newHooked(t, Options{})
	id := pieceID(1)
	store(t, d, id, []byte("old"), 3)
	again := func() Writer {
		w, err := d.Create(id, CreateOptions{Replace: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WritePages([]byte("anew"), nil, 0); err != nil {
			t.Fatal(err)
		}
		return w
	}
	content := func() string {
		r, err := d.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		p := make([]byte, 10)
		n, _ := r.ReadPages(p, nil, 0)
		return string(p[:n])
	}
	if err := again().Abort(); err != nil || content() != "old" {
		t.Errorf("after an abort: %q, %v", content(), err)
	}
	if _, err := again().Seal(hemera.SealInfo{FileSize: 4, Sync: true}); err != nil || content() != "anew" {
		t.Errorf("after the seal: %q, %v", content(), err)
	}
	if n := d.Status().Pieces; n > 1 {
		t.Errorf("%d pieces are counted", n)
	}
}

// TestReplacedAfterCrash opens a disk where the move over a bad piece was lost.
func TestReplacedAfterCrash(t *testing.T) {
	path := t.TempDir()
	d := newDisk(t, vfs.OS{}, path, Options{})
	id := pieceID(1)
	data := randomBytes(1, 10_000)
	store(t, d, id, data, len(data))
	whole, err := os.ReadFile(d.sealedPath(id))
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
	if err := os.WriteFile(d.pendingPath(id), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	whole[5000] ^= 1
	if err := os.WriteFile(d.sealedPath(id), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	d = newDisk(t, vfs.OS{}, path, Options{})
	r, err := d.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if bad, err := r.Verify(); len(bad) > 0 || err != nil {
		t.Errorf("bad pages %v, %v", bad, err)
	}
}
