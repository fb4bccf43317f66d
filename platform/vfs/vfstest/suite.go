// Package vfstest has the suite that every [vfs.FS] passes: the operating system's, the one in memory, and the one with
// faults while it has none. It tests the behaviour on which package disk relies: the error of each call, what a rename
// replaces, that a removed file stays readable, that holes are zeros. Package vfs tests the state after a power cut.
//
// # Tested
//
//   - Open with each combination of flags that package disk uses, and the error of each that must fail.
//   - Reads and writes at any offset; fewer bytes only with io.EOF; gaps and extended parts are zeros.
//   - Rename replaces a file in one step, Move never does; both fail if there is nothing to move.
//   - Directories are listed in order of bytes, and removed only when empty.
//   - A hole is never where data is; a filesystem may report that there are none.
//   - Space reports no more than there is.
//
// # Not tested
//
// Durability, which needs a power cut, and speed: hints are accepted, and may do nothing. The tests of package disk, with
// the race detector, test concurrent calls.
//
// # Use
//
// A test passes a function to Run that makes a filesystem and names an empty directory in it.
package vfstest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"testing"

	"hemera/platform/vfs"
)

// Run tests an FS in an empty directory, which newFS makes again for each part. The parts do not depend on each other.
// The caller removes the directory.
func Run(t *testing.T, newFS func(t *testing.T) (fsys vfs.FS, dir string)) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, vfs.FS, string)
	}{
		{"open", testOpen}, {"content", testContent}, {"truncate", testTruncate}, {"holes", testHoles}, {"clone", testClone},
		{"names", testNames}, {"directories", testDirectories}, {"removed", testRemoved}, {"space", testSpace},
	} {
		t.Run(part.name, func(t *testing.T) {
			fsys, dir := newFS(t)
			part.run(t, fsys, dir)
		})
	}
}

// create has the flags for a file that must not exist yet.
const create = os.O_RDWR | os.O_CREATE | os.O_EXCL

// put makes a durable file. It fails the test if a write is short: a File writes all or returns an error.
func put(t *testing.T, fsys vfs.FS, name, content string) {
	t.Helper()
	f, err := fsys.Open(name, create)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.WriteAt([]byte(content), 0); n != len(content) || err != nil {
		t.Fatalf("write: %d, %v", n, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// get reads all of a file. io.EOF together with the last bytes is allowed, as for io.ReaderAt.
func get(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	f, err := fsys.Open(name, os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, size)
	if n, err := f.ReadAt(p, 0); int64(n) != size || err != nil && err != io.EOF {
		t.Fatalf("read: %d of %d, %v", n, size, err)
	}
	return string(p)
}

// is checks an error with errors.Is. The text of errors is free.
func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// testOpen: the flags with which files can be opened, and the errors otherwise. Callers rely on fs.ErrExist and
// fs.ErrNotExist.
func testOpen(t *testing.T, fsys vfs.FS, dir string) {
	_, err := fsys.Open(dir+"/none", os.O_RDONLY)
	is(t, "open of nothing", err, fs.ErrNotExist)
	_, err = fsys.Open(dir+"/none/x", create)
	is(t, "create below nothing", err, fs.ErrNotExist)
	put(t, fsys, dir+"/a", "first")
	_, err = fsys.Open(dir+"/a", create)
	is(t, "exclusive create", err, fs.ErrExist)
	_, err = fsys.Open(dir+"/a/b", create)
	is(t, "create below a file", err, syscall.ENOTDIR)
	f, err := fsys.Open(dir+"/a", os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	is(t, "truncating open", err, nil)
	size, err := f.Size()
	if size != 0 || err != nil {
		t.Errorf("size after truncating open: %d, %v", size, err)
	}
	is(t, "close", f.Close(), nil)
	// A closed handle must not reach another file that has its number by now.
	is(t, "second close", f.Close(), fs.ErrClosed)
	_, err = f.ReadAt(make([]byte, 1), 0)
	is(t, "read after close", err, fs.ErrClosed)
}

// testContent: reads and writes at any offset, also beyond the end, and the result of a read there. A gap reads as zeros.
func testContent(t *testing.T, fsys vfs.FS, dir string) {
	put(t, fsys, dir+"/a", "hello")
	f, err := fsys.Open(dir+"/a", os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	// The gap spans several blocks of most filesystems.
	if n, err := f.WriteAt([]byte("end"), 10_000); n != 3 || err != nil {
		t.Errorf("write after a gap: %d, %v", n, err)
	}
	p := make([]byte, 20_000)
	n, err := f.ReadAt(p, 0)
	if n != 10_003 || err != io.EOF {
		t.Errorf("read over the end: %d, %v", n, err)
	}
	want := append(append([]byte("hello"), make([]byte, 9995)...), "end"...)
	if !bytes.Equal(p[:n], want) {
		t.Error("a gap does not read as zeros")
	}
	if n, err := f.ReadAt(p, 10_003); n != 0 || err != io.EOF {
		t.Errorf("read at the end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(p[:3], 10_000); n != 3 || err != nil && err != io.EOF {
		t.Errorf("read up to the end: %d, %v", n, err)
	}
	r, err := fsys.Open(dir+"/a", os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	// The error is free: kernels return EBADF.
	if _, err := r.WriteAt([]byte("x"), 0); err == nil {
		t.Error("wrote to a file opened for reading")
	}
	// Another handle reads written bytes, synced or not.
	if n, err := r.ReadAt(p[:5], 0); n != 5 || err != nil || string(p[:5]) != "hello" {
		t.Errorf("second handle reads %q, %v", p[:n], err)
	}
}

// testTruncate: bytes that were cut do not come back when the file grows again.
func testTruncate(t *testing.T, fsys vfs.FS, dir string) {
	put(t, fsys, dir+"/a", "0123456789")
	f, err := fsys.Open(dir+"/a", os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	is(t, "cut", f.Truncate(4), nil)
	// Across the old end, where stale bytes would appear.
	is(t, "extend", f.Truncate(8), nil)
	is(t, "close", f.Close(), nil)
	if got := get(t, fsys, dir+"/a"); got != "0123\x00\x00\x00\x00" {
		t.Errorf("cut and extended: %q", got)
	}
}

// testHoles: data is never taken for a hole. Files without holes pass too: they report all as data.
func testHoles(t *testing.T, fsys vfs.FS, dir string) {
	const mib = 1 << 20
	f, err := fsys.Open(dir+"/f", create)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	s, ok := f.(vfs.Sparse)
	if !ok {
		t.Skip("no vfs.Sparse")
	}
	if _, err := f.WriteAt([]byte("x"), 8*mib+5); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(16 * mib); err != nil {
		t.Fatal(err)
	}
	// last is the latest correct answer: a later one would skip data. Earlier ones only take more time.
	for _, c := range []struct{ off, last int64 }{
		{0, 8*mib + 5}, {100, 8*mib + 5}, {8*mib + 5, 8*mib + 5}, {9 * mib, 16 * mib}, {16 * mib, 16 * mib}, {17 * mib, 17 * mib},
	} {
		if got, err := s.NextData(c.off); err != nil || got < c.off || got > c.last {
			t.Errorf("after %d: %d, %v, want at most %d", c.off, got, err, c.last)
		}
	}
	// More than the size is possible: filesystems preallocate and round up.
	if n, err := s.Allocated(); n <= 0 || n > 17*mib || err != nil {
		t.Errorf("%d bytes are allocated, %v", n, err)
	}
	if n, err := s.NextData(0); err != nil || n == 0 {
		t.Logf("no holes are known here: %v", err)
	}
}

// testClone: a file takes over another's content, and writes to one do not change the other. A filesystem without this
// changes nothing.
func testClone(t *testing.T, fsys vfs.FS, dir string) {
	const old = "what was there before, and is longer"
	put(t, fsys, dir+"/from", "0123456789")
	put(t, fsys, dir+"/to", old)
	// Both stay open: reads through them must not return the old content.
	from, err := fsys.Open(dir+"/from", os.O_RDWR)
	is(t, "open", err, nil)
	to, err := fsys.Open(dir+"/to", os.O_RDWR)
	is(t, "open", err, nil)
	defer func() { _ = errors.Join(from.Close(), to.Close()) }()
	// Without it, a copy is reads and writes, which other parts test.
	c, ok := to.(vfs.Cloner)
	if !ok {
		t.Skip("no vfs.Cloner")
	}
	// The old content disappears, whatever its length.
	want := old
	switch err := c.Clone(from); {
	case err == nil:
		want = "0123456789"
	case !errors.Is(err, errors.ErrUnsupported):
		t.Fatal(err)
	}
	if got := get(t, fsys, dir+"/to"); got != want {
		t.Fatalf("it has %q, want %q", got, want)
	}
	// From here on they may share blocks, but that must not be visible.
	_, err = from.WriteAt([]byte("x"), 5)
	is(t, "write", err, nil)
	if got := get(t, fsys, dir+"/to"); got != want {
		t.Errorf("it has %q, want %q", got, want)
	}
	// The same in the other direction.
	_, err = to.WriteAt([]byte("y"), 6)
	is(t, "write", err, nil)
	if got := get(t, fsys, dir+"/from"); got != "01234x6789" {
		t.Errorf("the other has %q", got)
	}
}

// testNames: renames replace files, moves do not, and removed names are gone.
func testNames(t *testing.T, fsys vfs.FS, dir string) {
	put(t, fsys, dir+"/a", "a")
	put(t, fsys, dir+"/b", "b")
	is(t, "rename over", fsys.Rename(dir+"/a", dir+"/b"), nil)
	if got := get(t, fsys, dir+"/b"); got != "a" {
		t.Errorf("renamed file holds %q", got)
	}
	_, err := fsys.Stat(dir + "/a")
	is(t, "old name", err, fs.ErrNotExist)
	put(t, fsys, dir+"/x", "x")
	// A move does not replace a file, even if it takes two steps.
	is(t, "move to a name that is taken", vfs.Move(fsys, dir+"/x", dir+"/b"), fs.ErrExist)
	if got := get(t, fsys, dir+"/b"); got != "a" {
		t.Errorf("file that was to be kept holds %q", got)
	}
	is(t, "move to a free name", vfs.Move(fsys, dir+"/x", dir+"/y"), nil)
	if got := get(t, fsys, dir+"/y"); got != "x" {
		t.Errorf("moved file holds %q", got)
	}
	is(t, "move of nothing", vfs.Move(fsys, dir+"/x", dir+"/z"), fs.ErrNotExist)
	is(t, "move into nothing", vfs.Move(fsys, dir+"/y", dir+"/none/c"), fs.ErrNotExist)
	is(t, "rename of nothing", fsys.Rename(dir+"/a", dir+"/c"), fs.ErrNotExist)
	is(t, "rename into nothing", fsys.Rename(dir+"/b", dir+"/none/c"), fs.ErrNotExist)
	// Sizes are those of the content, not of the allocated room.
	info, err := fsys.Stat(dir + "/b")
	if err != nil || info.Size != 1 || info.IsDir || info.Modified.IsZero() {
		t.Errorf("stat: %+v, %v", info, err)
	}
	is(t, "remove", fsys.Remove(dir+"/b"), nil)
	is(t, "second remove", fsys.Remove(dir+"/b"), fs.ErrNotExist)
}

// testDirectories: directories list their entries, in order of bytes, and are removed only when they are empty.
func testDirectories(t *testing.T, fsys vfs.FS, dir string) {
	is(t, "mkdir", fsys.Mkdir(dir+"/d"), nil)
	is(t, "second mkdir", fsys.Mkdir(dir+"/d"), fs.ErrExist)
	// Parents are not made: the caller makes and syncs each directory in order.
	is(t, "mkdir below nothing", fsys.Mkdir(dir+"/x/y"), fs.ErrNotExist)
	// Not in order, so that a listing in the order of creation fails.
	for _, name := range []string{"z", "a", "m"} {
		put(t, fsys, dir+"/d/"+name, "")
	}
	names, err := fsys.ReadDir(dir + "/d")
	if err != nil || !slices.Equal(names, []string{"a", "m", "z"}) {
		t.Errorf("readdir: %v, %v", names, err)
	}
	// A directory lists its own entries, and nothing below them.
	if names, err := fsys.ReadDir(dir); err != nil || !slices.Equal(names, []string{"d"}) {
		t.Errorf("readdir: %v, %v", names, err)
	}
	_, err = fsys.ReadDir(dir + "/none")
	is(t, "readdir of nothing", err, fs.ErrNotExist)
	// A directory is moved with its entries, and never over another that has some.
	is(t, "mkdir", fsys.Mkdir(dir+"/full"), nil)
	put(t, fsys, dir+"/full/a", "")
	is(t, "rename over a full directory", fsys.Rename(dir+"/d", dir+"/full"), syscall.ENOTEMPTY)
	is(t, "move to a directory that exists", vfs.Move(fsys, dir+"/d", dir+"/full"), fs.ErrExist)
	is(t, "rename into itself", fsys.Rename(dir+"/full", dir+"/full/b"), syscall.EINVAL)
	is(t, "move of a directory", vfs.Move(fsys, dir+"/full", dir+"/moved"), nil)
	_, err = fsys.Stat(dir + "/full/a")
	is(t, "old name of an entry", err, fs.ErrNotExist)
	is(t, "remove of the entry", fsys.Remove(dir+"/moved/a"), nil)
	is(t, "remove of the moved directory", fsys.Remove(dir+"/moved"), nil)
	// It must not remove the entries.
	is(t, "remove of a full directory", fsys.Remove(dir+"/d"), syscall.ENOTEMPTY)
	// Whether names become durable is tested with power cuts.
	is(t, "sync of a directory", fsys.SyncDir(dir+"/d"), nil)
	is(t, "sync of nothing", fsys.SyncDir(dir+"/none"), fs.ErrNotExist)
	_, err = fsys.Open(dir+"/d", os.O_RDWR)
	// Some systems allow opening one for reading, so that is not tested.
	is(t, "open of a directory for writing", err, syscall.EISDIR)
	for _, name := range names {
		is(t, "remove", fsys.Remove(dir+"/d/"+name), nil)
	}
	is(t, "remove of an empty directory", fsys.Remove(dir+"/d"), nil)
}

// testRemoved: an open file stays readable when its name is removed or reused. Readers of a piece that a newer generation
// replaced depend on it.
func testRemoved(t *testing.T, fsys vfs.FS, dir string) {
	put(t, fsys, dir+"/a", "old")
	f, err := fsys.Open(dir+"/a", os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	is(t, "remove", fsys.Remove(dir+"/a"), nil)
	// The new file gets the name, but not the handle.
	put(t, fsys, dir+"/a", "new")
	p := make([]byte, 3)
	if n, err := f.ReadAt(p, 0); n != 3 || err != nil || string(p) != "old" {
		t.Errorf("read of a removed file: %q, %v", p, err)
	}
}

// testSpace: there is a total, and no more than that is free. The numbers of a shared filesystem change between two
// calls, so only their order is checked.
func testSpace(t *testing.T, fsys vfs.FS, dir string) {
	s, err := fsys.Space(dir)
	if err != nil || s.Total <= 0 || s.Free <= 0 || s.Free > s.Total || s.ReadOnly {
		t.Errorf("space: %+v, %v", s, err)
	}
	// A missing mount point must not look like a full disk.
	_, err = fsys.Space(dir + "/none")
	is(t, "space of nothing", err, fs.ErrNotExist)
}
