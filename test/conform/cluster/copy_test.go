package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hemera/client/copy"
	"hemera/client/xrootd"
	"hemera/rules/checksum"
)

// moments counts what a copy does, and ends its context at one of them.
type moments struct {
	seen, last atomic.Int64
	cancel     atomic.Pointer[context.CancelFunc]
}

// next begins a copy that is interrupted at the n-th moment; 0 is never.
func (m *moments) next(t testing.TB, n int64) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	m.seen.Store(0)
	m.last.Store(n)
	m.cancel.Store(&cancel)
	return ctx
}

func (m *moments) pass() {
	if m.seen.Add(1) == m.last.Load() {
		(*m.cancel.Load())()
	}
}

// sum makes each chunk of data a moment.
type sum struct {
	checksum.Hasher
	m *moments
}

func (s sum) Write(p []byte) (int, error) {
	s.m.pass()
	return s.Hasher.Write(p)
}

// proxy makes each piece of what is said to a server, or by it, a moment.
func (m *moments) proxy(t testing.TB, server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", server)
			if err != nil {
				c.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{s, c}, {c, s}} {
				go func() {
					defer way[0].Close()
					defer way[1].Close()
					for b := make([]byte, 16<<10); ; {
						n, err := way[1].Read(b)
						m.pass()
						if n > 0 {
							if _, err := way[0].Write(b[:n]); err != nil {
								return
							}
						}
						if err != nil {
							return
						}
					}
				}()
			}
		}
	}()
	return l.Addr().String()
}

// copies is a cluster with a client whose copies can be interrupted anywhere.
type copies struct {
	*rig
	m    moments
	addr string
	c    *xrootd.Client
}

const partMin = 24 << 10

func newCopies(t *testing.T) *copies {
	x := &copies{rig: start(t, t.TempDir(), 2, 2)}
	x.addr = x.m.proxy(t, x.up.Manager.Addr)
	x.c = xrootd.New(xrootd.Options{Chunk: 4 << 10, Window: 16 << 10})
	t.Cleanup(func() { _ = x.c.Close() })
	return x
}

// copy copies through the proxy. Each chunk of data is a moment.
func (x *copies) copy(ctx context.Context, from, to string, o copy.Options) (copy.Progress, error) {
	o.NewHasher = func() checksum.Hasher { return sum{checksum.NewAdler32(), &x.m} }
	return copy.Run(ctx, x.c, []string{from}, to, o)
}

// at returns a directory of the cluster, seen through the proxy.
func (x *copies) at(dir string) string { return "root://" + x.addr + "//" + dir }

// place is the source or the destination of a copy: a directory of this machine or of the cluster.
type place struct {
	x   *copies
	dir string // of this machine if absolute
}

func (p place) name() string {
	if filepath.IsAbs(p.dir) {
		return p.dir
	}
	return p.x.at(p.dir)
}

// list returns every file below, with its content. The rig's client does not go through the proxy.
func (p place) list(t testing.TB) map[string]string {
	got := map[string]string{}
	if filepath.IsAbs(p.dir) {
		err := filepath.WalkDir(p.dir, func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(name)
			rel, _ := filepath.Rel(p.dir, name)
			got[rel] = string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	var walk func(rel string)
	walk = func(rel string) {
		u := p.x.url("/" + p.dir).Join(rel)
		err := p.x.client.List(t.Context(), u, func(i xrootd.Info) error {
			name := path.Join(rel, i.Name)
			if i.IsDir() {
				walk(name)
				return nil
			}
			f, err := p.x.client.Open(t.Context(), u.Join(i.Name), xrootd.OpenOptions{})
			if err != nil {
				return err
			}
			defer f.Close(t.Context())
			b, err := io.ReadAll(f.NewReader(t.Context(), 0, i.Size))
			got[name] = string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	walk("")
	return got
}

// check holds that every file that is there under a final name is whole, and says how many parts there are.
func check(t testing.TB, what string, got, want map[string]string) (parts int) {
	t.Helper()
	for name, b := range got {
		if strings.HasSuffix(name, ".hemera-part") {
			if of := strings.TrimSuffix(strings.TrimPrefix(path.Base(name), "."), ".hemera-part"); !strings.HasPrefix(want[path.Join(path.Dir(name), of)], b) {
				t.Errorf("%s: the part %s is no beginning of its file", what, name)
			}
			parts++
			continue
		}
		if w, ok := want[name]; !ok || w != b {
			t.Errorf("%s: %s has %d bytes, and is not the source's with %d", what, name, len(b), len(w))
		}
	}
	return parts
}

// treeOf makes files of a tree.
func treeOf(t testing.TB, dir string, files map[string]string) {
	for name, b := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func bytesOf(name string, n int) string { return string(content(name, n)) }

// way tests one direction of copies, from a place with the files to an empty one.
func (x *copies) way(t testing.TB, kind string, n int, files map[string]string) (from, to place) {
	from, to = place{x, t.TempDir()}, place{x, t.TempDir()}
	treeOf(t, from.dir, files)
	if kind == "up" || kind == "across" {
		to = place{x, fmt.Sprintf("to%s%d", kind, n)}
		if err := x.client.Mkdir(t.Context(), x.url("/"+to.dir), 0o755, true); err != nil {
			t.Fatal(err)
		}
	}
	if kind == "down" || kind == "across" {
		local := from.dir
		from = place{x, fmt.Sprintf("from%s%d", kind, n)}
		if err := x.client.Mkdir(t.Context(), x.url("/"+from.dir), 0o755, true); err != nil {
			t.Fatal(err)
		}
		if _, err := copy.Run(t.Context(), x.client, []string{local + "/."}, x.url("/"+from.dir).String(), copy.Options{Recursive: true}); err != nil {
			t.Fatal(err)
		}
	}
	return from, to
}

// TestACopyInterruptedAnywhereIsGoneOnWith interrupts the copy of one tree at every moment there is.
func TestACopyInterruptedAnywhereIsGoneOnWith(t *testing.T) {
	t.Parallel()
	x := newCopies(t)
	files := map[string]string{"empty": "", "small": "small", "sub/large": bytesOf("large", 90_001), "sub/deep/least": bytesOf("least", partMin)}
	total := 0
	for _, b := range files {
		total += len(b)
	}
	o := copy.Options{Recursive: true, Continue: true, TPC: copy.TPCOff, PartMin: partMin, Verify: copy.VerifyAlways, Parallel: 2}
	for _, kind := range []string{"up", "down", "across"} {
		goneOn := 0
		for n := int64(1); ; n++ {
			from, to := x.way(t, kind, int(n), files)
			what := fmt.Sprintf("%s, interrupted at moment %d", kind, n)
			p, err := x.copy(x.m.next(t, n), from.name()+"/.", to.name(), o)
			if parts := check(t, what, to.list(t), files); parts > 0 {
				goneOn++
			} else if p.Kept > 0 {
				t.Errorf("%s: %+v, and there is no part", what, p)
			}
			whole := x.m.seen.Load() < n
			if err != nil && whole {
				t.Fatalf("%s: %v", what, err)
			}
			if _, err := x.copy(x.m.next(t, 0), from.name()+"/.", to.name(), o); err != nil {
				t.Fatalf("%s, gone on with: %v", what, err)
			}
			got := to.list(t)
			if parts := check(t, what, got, files); len(got) != len(files) || parts != 0 {
				t.Fatalf("%s: in the end there are %d files and %d parts", what, len(got), parts)
			}
			if whole {
				t.Logf("%s: %d moments, %d times with parts", kind, n, goneOn)
				break
			}
		}
		if goneOn < 5 {
			t.Errorf("%s: only %d copies left a part", kind, goneOn)
		}
	}
}

// TestTreesArriveWholeWhateverHappens copies trees of any shape with any number of interruptions, while their
// files change in between.
func TestTreesArriveWholeWhateverHappens(t *testing.T) {
	t.Parallel()
	x := newCopies(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		files := map[string]string{}
		for i := range rapid.IntRange(1, 6).Draw(r, "files") {
			name := rapid.SampledFrom([]string{"", "a/", "a/b/", "c d/"}).Draw(r, "dir") + fmt.Sprintf("f%d", i)
			size := rapid.SampledFrom([]int{0, 1, 4096, partMin - 1, partMin, partMin + 1, 3 * partMin}).Draw(r, "size")
			files[name] = bytesOf(name+fmt.Sprint(n), size)
		}
		kind := rapid.SampledFrom([]string{"up", "down", "across"}).Draw(r, "way")
		from, to := x.way(t, kind, 1_000_000+n, files)
		o := copy.Options{
			Recursive: true, Continue: true, TPC: copy.TPCOff, PartMin: partMin, Force: rapid.Bool().Draw(r, "force"),
			Parallel: rapid.IntRange(1, 3).Draw(r, "parallel"),
			Verify:   rapid.SampledFrom([]copy.Verify{copy.VerifyPossible, copy.VerifyAlways, copy.VerifyNever}).Draw(r, "verify"),
		}
		for range rapid.IntRange(1, 4).Draw(r, "interruptions") {
			at := int64(rapid.IntRange(1, 150).Draw(r, "moment"))
			_, _ = x.copy(x.m.next(t, at), from.name()+"/.", to.name(), o)
			check(t, kind, to.list(t), files)
		}
		if _, err := x.copy(x.m.next(t, 0), from.name()+"/.", to.name(), o); err != nil {
			r.Fatal(err)
		}
		got := to.list(t)
		if parts := check(t, kind, got, files); len(got) != len(files) || parts != 0 {
			r.Fatalf("in the end there are %d files and %d parts", len(got), parts)
		}
	})
}

// TestAChangedSourceIsNotMixed: between an interruption and going on, the source gets another content.
func TestAChangedSourceIsNotMixed(t *testing.T) {
	t.Parallel()
	x := newCopies(t)
	o := copy.Options{Recursive: true, Continue: true, TPC: copy.TPCOff, PartMin: partMin}
	for i, kind := range []string{"up", "down", "across"} {
		before, after := map[string]string{"f": bytesOf("before", 4*partMin)}, map[string]string{"f": bytesOf("after", 4*partMin)}
		from, to := x.way(t, kind, i, before)
		parts := 0
		for n := int64(10); parts == 0; n += 3 {
			_, err := x.copy(x.m.next(t, n), from.name()+"/.", to.name(), o)
			if parts = check(t, kind, to.list(t), before); err == nil {
				t.Fatal("no interruption left a part")
			}
		}
		again := t.TempDir()
		treeOf(t, again, after)
		source := from.name() + "/f"
		if !filepath.IsAbs(from.dir) {
			source = x.url("/" + from.dir + "/f").String()
		}
		if filepath.IsAbs(from.dir) {
			treeOf(t, from.dir, after)
		} else if _, err := copy.Run(t.Context(), x.client, []string{again + "/f"}, source, copy.Options{Force: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := x.copy(x.m.next(t, 0), from.name()+"/.", to.name(), o); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if got := to.list(t); len(got) != 1 || !bytes.Equal([]byte(got["f"]), []byte(after["f"])) {
			t.Errorf("%s: %d files, the content is not the new source's", kind, len(got))
		}
	}
}

// TestACopyKeepsModesAndTimes there and back again, also of directories that nobody may write to, and also
// where the content was there already.
func TestACopyKeepsModesAndTimes(t *testing.T) {
	t.Parallel()
	x := start(t, t.TempDir(), 2, 2)
	from, back := t.TempDir(), filepath.Join(t.TempDir(), "back")
	treeOf(t, from, map[string]string{"private": "1", "sub/read": "2", "sub/deep/run": "3", "large": bytesOf("large", 2*partMin)})
	modes := map[string]os.FileMode{"private": 0o600, "sub/read": 0o444, "sub/deep/run": 0o755, "large": 0o640, "sub/deep": 0o755, "sub": 0o550, ".": 0o711}
	when := func(name string) time.Time { return time.Unix(1_000_000_000+int64(len(name)), 0) }
	for _, name := range []string{"private", "sub/read", "sub/deep/run", "large", "sub/deep", "sub", "."} {
		file := filepath.Join(from, name)
		if err := errors.Join(os.Chmod(file, modes[name]), os.Chtimes(file, time.Time{}, when(name))); err != nil {
			t.Fatal(err)
		}
	}
	o := copy.Options{Recursive: true, Continue: true, Preserve: true, PartMin: partMin, TPC: copy.TPCOff}
	copyTo := func(from, to string) {
		t.Helper()
		if _, err := copy.Run(t.Context(), x.client, []string{from}, to, o); err != nil {
			t.Fatal(err)
		}
	}
	dir := x.url("/kept")
	for range 2 {
		copyTo(from, dir.String())
		for name, mode := range modes {
			i, err := x.client.Stat(t.Context(), dir.Join(strings.TrimPrefix(name, ".")))
			if err != nil || i.Mode != uint32(mode) || i.Mtime != when(name).Unix() {
				t.Errorf("%s has mode %04o and time %d, %v", name, i.Mode, i.Mtime, err)
			}
		}
		// what an interruption may leave: the content without the rest
		if err := x.client.Chmod(t.Context(), dir.Join("private"), 0o644); err != nil {
			t.Fatal(err)
		}
		from += "/."
	}
	copyTo(dir.String()+"/.", x.url("/again").String())
	copyTo(x.url("/again").String(), back)
	for name, mode := range modes {
		if name == "private" {
			mode = 0o644
		}
		i, err := os.Stat(filepath.Join(back, name))
		if err != nil || i.Mode().Perm() != mode || !i.ModTime().Equal(when(name)) {
			t.Errorf("%s came back with mode %04o and time %v, %v", name, i.Mode().Perm(), i.ModTime(), err)
		}
	}
}
