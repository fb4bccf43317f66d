package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hemera/platform/kv/checkpoint"
	"hemera/platform/vfs"
	"hemera/words/errs"
)

// content is the files of a store by name.
type content map[string][]byte

// numbers makes bytes that differ from place to place.
func numbers(seed uint64, n int) []byte {
	p := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// usual returns a store with files of zero to three blocks.
func usual() content { return maps.Clone(usualFiles) }

var usualFiles = content{
	"000001.sst":           numbers(1, 2*checkpoint.BlockSize+5),
	"000002.sst":           numbers(2, checkpoint.BlockSize),
	"marker.format.000001": nil,
	"wal/state":            numbers(3, 10),
}

// fake is a store whose copy is some files in a filesystem.
type fake struct {
	fs    vfs.FS
	files content
	fails error
}

// Applied implements checkpoint.Store.
func (s fake) Applied() uint64 { return 42 }

// Backup implements checkpoint.Store.
func (s fake) Backup(_ context.Context, dir string) error {
	for name, b := range s.files {
		if d := path.Dir(name); d != "." {
			if err := s.fs.Mkdir(path.Join(dir, d)); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		f, err := s.fs.Open(path.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(b, 0)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return s.fails
}

// disk returns an empty filesystem in memory with a directory /d.
func disk(t testing.TB) *vfs.Memory {
	t.Helper()
	m := vfs.NewMemory(0, nil)
	if err := errors.Join(m.Mkdir("/d"), m.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return m
}

// source makes a checkpoint of files.
func source(t testing.TB, files content) checkpoint.Local {
	t.Helper()
	m := disk(t)
	if _, err := checkpoint.Make(t.Context(), fake{fs: m, files: files}, m, "/d/c"); err != nil {
		t.Fatal(err)
	}
	return checkpoint.Local{FS: m, Dir: "/d/c"}
}

// tree returns the files below a directory.
func tree(t testing.TB, fsys vfs.FS, root string) content {
	t.Helper()
	c := content{}
	names, err := fsys.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		full := path.Join(root, name)
		if info, err := fsys.Stat(full); err != nil {
			t.Fatal(err)
		} else if info.IsDir {
			for below, b := range tree(t, fsys, full) {
				c[path.Join(name, below)] = b
			}
			continue
		}
		f, err := fsys.Open(full, os.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := f.Size()
		c[name] = make([]byte, size)
		if n, err := f.ReadAt(c[name], 0); n < len(c[name]) {
			t.Fatal(err)
		}
		f.Close()
	}
	return c
}

// same fails the test unless a directory has exactly the files.
func same(t testing.TB, fsys vfs.FS, root string, want content) {
	t.Helper()
	got := tree(t, fsys, root)
	for name := range got {
		if b, ok := want[name]; !ok || !bytes.Equal(b, got[name]) {
			t.Fatalf("%s differs", name)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d files, want %d", len(got), len(want))
	}
}

// exists reports whether there is something with a name.
func exists(fsys vfs.FS, name string) bool {
	_, err := fsys.Stat(name)
	return err == nil
}

// hooked is a source whose calls a test counts and changes.
type hooked struct {
	checkpoint.Source
	asked map[string]int // reads by name and block
	reads int
	// before may replace a read; nil lets it happen.
	before func(ctx context.Context, where string, p []byte) error
	after  func(where string, p []byte)
	silent bool // Manifest answers once only
}

// Manifest implements checkpoint.Source.
func (h *hooked) Manifest(ctx context.Context) (*checkpoint.Manifest, error) {
	if h.silent && h.reads > 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Source.Manifest(ctx)
}

// Read implements checkpoint.Source.
func (h *hooked) Read(ctx context.Context, name string, off int64, p []byte) error {
	where := fmt.Sprintf("%s/%d", name, off/checkpoint.BlockSize)
	if h.asked == nil {
		h.asked = map[string]int{}
	}
	h.asked[where]++
	h.reads++
	if h.before != nil {
		if err := h.before(ctx, where, p); err != nil {
			return err
		}
	}
	err := h.Source.Read(ctx, name, off, p)
	if h.after != nil {
		h.after(where, p)
	}
	return err
}

// TestRoundTrip: the copy is the same, its manifest is that of the source, and progress ends with all.
func TestRoundTrip(t *testing.T) {
	src := source(t, usual())
	m := disk(t)
	var last checkpoint.Progress
	got, err := checkpoint.Fetch(t.Context(), src, m, "/d/db", checkpoint.Options{Progress: func(p checkpoint.Progress) { last = p }})
	if err != nil {
		t.Fatal(err)
	}
	m.Crash(nil) // it is durable
	same(t, m, "/d/db", usual())
	if total := got.Bytes(); got.Last != 42 || last != (checkpoint.Progress{Done: total, Total: total, Received: total}) || exists(m, "/d/db.part") {
		t.Errorf("%d, %+v, part %v", got.Last, last, exists(m, "/d/db.part"))
	}
	if _, err := checkpoint.Fetch(t.Context(), src, m, "/d/db", checkpoint.Options{}); !errors.Is(err, errs.Exists) {
		t.Errorf("over a store: %v", err)
	}
}

// TestFetchCutAnywhere cuts the power at each step. A directory with the final name is whole; otherwise the next Fetch continues.
func TestFetchCutAnywhere(t *testing.T) {
	src := source(t, usual())
	kept := false
	for step, ended := 0, false; !ended; step++ {
		r := rand.New(rand.NewPCG(uint64(step), 1))
		m := disk(t)
		cut := vfs.NewFaulty(m)
		cut.Inject(vfs.Fault{Ops: vfs.Changes(), Skip: step, Err: syscall.EIO})
		_, err := checkpoint.Fetch(t.Context(), src, cut, "/d/db", checkpoint.Options{})
		ended = err == nil
		m.Crash(func() bool { return r.IntN(3) > 0 })
		if exists(m, "/d/db") {
			same(t, m, "/d/db", usual())
			continue
		}
		if ended {
			t.Fatal("it ended, and is not there")
		}
		h := &hooked{Source: src}
		if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); err != nil {
			t.Fatalf("after a cut at step %d: %v", step, err)
		}
		kept = kept || h.reads == 0
		m.Crash(nil)
		same(t, m, "/d/db", usual())
	}
	if !kept {
		t.Error("each time something was asked for again")
	}
}

// TestMakeCutAnywhere cuts the power at each step of a Make over an older checkpoint. If there is a manifest, it is that of a whole checkpoint; the
// next Make removes what is left.
func TestMakeCutAnywhere(t *testing.T) {
	older := content{"000001.sst": numbers(9, 20), "old/file": numbers(8, 5)}
	for step, ended := 0, false; !ended; step++ {
		r := rand.New(rand.NewPCG(uint64(step), 2))
		src := source(t, older)
		m := src.FS.(*vfs.Memory)
		cut := vfs.NewFaulty(m)
		cut.Inject(vfs.Fault{Ops: vfs.Changes(), Skip: step, Err: syscall.EIO})
		_, err := checkpoint.Make(t.Context(), fake{fs: cut, files: usual()}, cut, "/d/c")
		ended = err == nil
		m.Crash(func() bool { return r.IntN(3) > 0 })
		got, err := src.Manifest(t.Context())
		switch {
		case err == nil && got.Bytes() == 25:
			same(t, m, "/d/c/files", older)
		case err == nil:
			same(t, m, "/d/c/files", usual())
		case !errors.Is(err, errs.NotFound) || ended:
			t.Fatalf("step %d: %v", step, err)
		}
		if _, err := checkpoint.Make(t.Context(), fake{fs: m, files: usual()}, m, "/d/c"); err != nil {
			t.Fatalf("after a cut at step %d: %v", step, err)
		}
		same(t, m, "/d/c/files", usual())
	}
}

// TestDirectoriesAreSynced: each directory is synced before the step that relies on it. A cut in memory does not show that, because there changes of
// names become durable in their order.
func TestDirectoriesAreSynced(t *testing.T) {
	for _, pattern := range []string{"/d/db.part/wal", "/d/db.part", "/d"} {
		m := vfs.NewFaulty(disk(t))
		m.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSyncDir}, Pattern: pattern, Err: syscall.EIO})
		if _, err := checkpoint.Fetch(t.Context(), source(t, usual()), m, "/d/db", checkpoint.Options{}); !errors.Is(err, syscall.EIO) || exists(m, "/d/db") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	for _, pattern := range []string{"/d/c/files/wal", "/d/c/files", "/d/c"} {
		src := source(t, usual())
		m := vfs.NewFaulty(src.FS)
		m.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSyncDir}, Pattern: pattern, Count: 1, Err: syscall.EIO})
		if _, err := checkpoint.Make(t.Context(), fake{fs: m, files: usual()}, m, src.Dir); !errors.Is(err, syscall.EIO) || exists(m, "/d/c/manifest") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// TestMakeFails: a copy that failed, or that no manifest can describe, leaves nothing; Remove removes all.
func TestMakeFails(t *testing.T) {
	m := disk(t)
	for want, s := range map[error]fake{
		syscall.EIO:  {fs: m, files: usual(), fails: syscall.EIO},
		errs.Invalid: {fs: m, files: content{"a name": nil}},
	} {
		if _, err := checkpoint.Make(t.Context(), s, m, "/d/c"); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if got := tree(t, m, "/d/c"); len(got) > 0 {
			t.Errorf("left: %v", got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := checkpoint.Make(ctx, fake{fs: m, files: usual()}, m, "/d/c"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled one: %v", err)
	}
	src := source(t, usual())
	if err := checkpoint.Remove(src.FS, "/d/c"); err != nil || exists(src.FS, "/d/c/files") {
		t.Errorf("removed: %v", err)
	}
	if _, err := src.Manifest(t.Context()); !errors.Is(err, errs.NotFound) {
		t.Errorf("removed: %v", err)
	}
	if err := checkpoint.Remove(src.FS, "/d/none"); err != nil {
		t.Error(err)
	}
}

// TestDamagedBlock: a damaged block is asked for again. If it stays damaged, the error names it, what arrived stays, and the next Fetch continues.
func TestDamagedBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := disk(t)
		times := 2
		h := &hooked{Source: source(t, usual())}
		h.after = func(where string, p []byte) {
			if where == "000001.sst/1" && times > 0 {
				times--
				p[77] ^= 4
			}
		}
		if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); err != nil {
			t.Fatal(err)
		}
		same(t, m, "/d/db", usual())

		times = 1000
		_, err := checkpoint.Fetch(t.Context(), h, m, "/d/again", checkpoint.Options{})
		if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "000001.sst at offset 1048576") || errs.RemedyOf(err) == "" {
			t.Errorf("a block that stays damaged: %v", err)
		}
		if exists(m, "/d/again") || 1000-times > 10 {
			t.Errorf("asked %d times", 1000-times)
		}
		times, h.asked = 0, nil
		if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/again", checkpoint.Options{}); err != nil || h.asked["000001.sst/0"] > 0 {
			t.Errorf("%v, asked for %v", err, h.asked)
		}
		same(t, m, "/d/again", usual())
	})
}

// TestPartDamaged: what is in the directory counts only if its sums are right; what does not belong there is removed.
func TestPartDamaged(t *testing.T) {
	m := disk(t)
	src := source(t, usual())
	fails := errors.New("cut")
	h := &hooked{Source: src, before: func(_ context.Context, where string, _ []byte) error {
		if strings.HasPrefix(where, "wal") {
			return fails
		}
		return nil
	}}
	synctest.Test(t, func(t *testing.T) {
		if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); !errors.Is(err, fails) {
			t.Fatal(err)
		}
	})
	// A bit that changed, a file that grew, a file and directories that are not in the checkpoint, one with the name of a file.
	err := m.Corrupt("/d/db.part/000001.sst", 5, 1)
	f, err2 := m.Open("/d/db.part/000002.sst", os.O_RDWR)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("more"), checkpoint.BlockSize)
	other := fake{fs: m, files: content{"x": nil, "y/z": nil}}
	if err := errors.Join(err, other.Backup(t.Context(), "/d/db.part"), m.Remove("/d/db.part/marker.format.000001"), m.Mkdir("/d/db.part/marker.format.000001")); err != nil {
		t.Fatal(err)
	}
	h = &hooked{Source: src}
	if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); err != nil {
		t.Fatal(err)
	}
	same(t, m, "/d/db", usual())
	if h.reads != 2 || h.asked["000001.sst/0"] != 1 || exists(m, "/d/db/y") {
		t.Errorf("asked for %v", h.asked)
	}
}

// TestOtherCheckpoint: a source that makes another checkpoint meanwhile is followed to that, and blocks that are the same are kept.
func TestOtherCheckpoint(t *testing.T) {
	src := source(t, usual())
	later := usual()
	delete(later, "000002.sst")
	later["000003.sst"] = numbers(7, 100)
	later["wal/state"] = numbers(6, 11)
	h := &hooked{Source: src}
	h.before = func(_ context.Context, where string, _ []byte) error {
		if where == "000002.sst/0" {
			if _, err := checkpoint.Make(t.Context(), fake{fs: src.FS, files: later}, src.FS, src.Dir); err != nil {
				t.Fatal(err)
			}
		}
		return nil
	}
	m := disk(t)
	if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); err != nil {
		t.Fatal(err)
	}
	same(t, m, "/d/db", later)
	if h.asked["000001.sst/0"] != 1 {
		t.Errorf("asked for %v", h.asked)
	}

	n := byte(0)
	h.before = func(context.Context, string, []byte) error {
		n++
		_, err := checkpoint.Make(t.Context(), fake{fs: src.FS, files: content{"a": {n}}}, src.FS, src.Dir)
		return errors.Join(err, errors.New("gone"))
	}
	if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/other", checkpoint.Options{}); !errors.Is(err, errs.Conflict) || n > 100 {
		t.Errorf("a source that changes all the time: %v after %d", err, n)
	}
}

// TestNoRoom: a checkpoint that does not fit is refused before it begins, and what is there counts.
func TestNoRoom(t *testing.T) {
	src := source(t, usual())
	m := vfs.NewFaulty(disk(t))
	const need = 3*checkpoint.BlockSize + 2*4096
	m.Inject(vfs.Fault{Count: 1, Ops: []vfs.Op{vfs.OpSpace}, Space: &vfs.Space{Free: need - 1}})
	h := &hooked{Source: src}
	_, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{})
	if !errors.Is(err, errs.NoSpace) || !strings.Contains(err.Error(), fmt.Sprintf("needs %d bytes more, and %d are free", need, need-1)) || h.reads > 0 {
		t.Errorf("%v after %d reads", err, h.reads)
	}
	if exists(m, "/d/db.part") {
		t.Error("it has begun")
	}
	m.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSync}, Pattern: "state", Count: 1, Err: syscall.EIO})
	if _, err = checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if exists(m, "/d/db.part/wal/state") {
		t.Error("a file whose sync failed is there")
	}
	m.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSpace}, Space: &vfs.Space{Free: 4096}})
	if _, err = checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); err != nil {
		t.Error(err)
	}
}

// TestDiskFails: an error of the disk ends a Fetch at once, and asks the source for nothing again.
func TestDiskFails(t *testing.T) {
	for _, fault := range []vfs.Fault{
		{Ops: []vfs.Op{vfs.OpWrite}, Skip: 1, Short: true},
		{Ops: []vfs.Op{vfs.OpSpace}, Err: syscall.EIO},
		{Ops: []vfs.Op{vfs.OpStat}, Err: syscall.EIO},
		{Ops: []vfs.Op{vfs.OpMkdir}, Err: syscall.EROFS},
	} {
		m := vfs.NewFaulty(disk(t))
		m.Inject(fault)
		h := &hooked{Source: source(t, usual())}
		if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); err == nil || h.reads > 2 {
			t.Errorf("%v: %v after %d reads", fault.Ops, err, h.reads)
		}
	}
}

// mad is a source with a manifest that no decoder has seen.
type mad struct {
	hooked
	files []checkpoint.File
}

// Manifest implements checkpoint.Source.
func (m *mad) Manifest(context.Context) (*checkpoint.Manifest, error) {
	return &checkpoint.Manifest{Files: m.files}, nil
}

// TestBadNames: nothing outside the directory is read or written.
func TestBadNames(t *testing.T) {
	src := source(t, usual())
	for _, name := range []string{"", ".", "..", "../manifest", "wal/../../manifest", "/d/c/manifest", "wal//state", "wal/", "./wal/state", "a\x00b", "a b", "a\\b", "ä"} {
		if err := src.Read(t.Context(), name, 0, make([]byte, 1)); !errors.Is(err, errs.Invalid) {
			t.Errorf("read of %q: %v", name, err)
		}
		m := disk(t)
		_, err := checkpoint.Fetch(t.Context(), &mad{files: []checkpoint.File{{Name: name}}}, m, "/d/db", checkpoint.Options{})
		if names, _ := m.ReadDir("/d"); !errors.Is(err, errs.Invalid) || len(names) > 0 {
			t.Errorf("fetch of %q: %v, %v", name, err, names)
		}
	}
}

// TestShortFile: a file that is shorter than its manifest says is an error that names it.
func TestShortFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := source(t, usual())
		f, err := src.FS.Open("/d/c/files/000001.sst", os.O_RDWR)
		if err == nil {
			err = f.Truncate(checkpoint.BlockSize + 7)
		}
		if err != nil {
			t.Fatal(err)
		}
		m := disk(t)
		_, err = checkpoint.Fetch(t.Context(), src, m, "/d/db", checkpoint.Options{})
		if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "000001.sst at offset 1048576") {
			t.Error(err)
		}
		for title, err := range map[string]error{
			"negative": src.Read(t.Context(), "000001.sst", -1, make([]byte, 1)),
			"large":    src.Read(t.Context(), "000001.sst", 0, make([]byte, checkpoint.BlockSize+1)),
		} {
			if !errors.Is(err, errs.Invalid) {
				t.Errorf("%s: %v", title, err)
			}
		}
	})
}

// TestSilentSource: a source that does not answer costs bounded time. A slow one that sends its blocks in time may take as long as it needs.
func TestSilentSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := disk(t)
		h := &hooked{Source: source(t, usual()), silent: true, before: func(ctx context.Context, _ string, _ []byte) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		began := time.Now()
		_, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{})
		if took := time.Since(began); !errors.Is(err, errs.Timeout) || took > 3*time.Minute || !strings.Contains(err.Error(), "000001.sst at offset 0") {
			t.Errorf("%v after %v", err, took)
		}
		began = time.Now()
		if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); !errors.Is(err, errs.Timeout) || time.Since(began) != 2*time.Minute {
			t.Errorf("without a manifest: %v after %v", err, time.Since(began))
		}
		h.silent = false
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := checkpoint.Fetch(ctx, h, m, "/d/db", checkpoint.Options{}); !errors.Is(err, context.DeadlineExceeded) || h.reads != 6 {
			t.Errorf("%v after %d reads", err, h.reads)
		}
		h.before = func(context.Context, string, []byte) error { time.Sleep(25 * time.Second); return nil }
		began = time.Now()
		if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); err != nil || time.Since(began) != 5*25*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestLostConnection: a source that is away for a moment is asked again.
func TestLostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := disk(t)
		began := time.Now()
		h := &hooked{Source: source(t, usual()), before: func(_ context.Context, where string, _ []byte) error {
			if away := time.Since(began); where == "000002.sst/0" && away < 2*time.Second {
				return errs.New(errs.Unavailable, "test.Read", "", "away")
			}
			return nil
		}}
		if _, err := checkpoint.Fetch(t.Context(), h, m, "/d/db", checkpoint.Options{}); err != nil {
			t.Fatal(err)
		}
		same(t, m, "/d/db", usual())
	})
}

// TestRate: the bytes come at the rate, after the first block, and a wait ends with the context.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := disk(t)
		began := time.Now()
		var times []time.Duration
		o := checkpoint.Options{BytesPerSecond: checkpoint.BlockSize / 4, Progress: func(checkpoint.Progress) { times = append(times, time.Since(began)) }}
		if _, err := checkpoint.Fetch(t.Context(), source(t, usual()), m, "/d/db", o); err != nil {
			t.Fatal(err)
		}
		// Three blocks, then 5 bytes and 10 bytes.
		const five = 5 * 4 * time.Second / checkpoint.BlockSize
		want := []time.Duration{0, 4 * time.Second, 8 * time.Second, 8*time.Second + five, 12*time.Second + five}
		if !slices.Equal(times, want) {
			t.Errorf("%v, want %v", times, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began = time.Now()
		o = checkpoint.Options{BytesPerSecond: 1}
		if _, err := checkpoint.Fetch(ctx, source(t, usual()), m, "/d/slow", o); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestReadWhileMaking: a reader of a checkpoint that is being replaced gets bytes of either or an error, and never crashes.
func TestReadWhileMaking(t *testing.T) {
	src := source(t, usual())
	var stop atomic.Bool
	done := make(chan error)
	go func() {
		var err error
		for err == nil && !stop.Load() {
			_, err = checkpoint.Make(context.Background(), fake{fs: src.FS, files: usual()}, src.FS, src.Dir)
		}
		done <- err
	}()
	for range 200 {
		if err := src.Read(t.Context(), "wal/state", 0, make([]byte, 10)); err != nil && !errors.Is(err, errs.NotFound) && !errors.Is(err, errs.Corrupt) {
			t.Error(err)
		}
	}
	stop.Store(true)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
