package zerocopy

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// mapFile writes data to a file and maps it. No page of the mapping was touched yet.
func mapFile(t testing.TB, data []byte) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b, err := unix.Mmap(int(f.Fd()), 0, len(data), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

func newPipe(t testing.TB) *Pipe {
	t.Helper()
	p, err := NewPipe()
	if err != nil {
		t.Skip("no pipes of this size: ", err)
	}
	t.Cleanup(p.Close)
	return p
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 7)
	}
	return b
}

// touch reads a byte of every page.
func touch(b []byte) {
	var sum byte
	for i := 0; i < len(b); i += 4096 {
		sum += b[i]
	}
	runtime.KeepAlive(sum)
}

// put puts mapped pages into the empty pipe, again if the thread had an unrelated fault.
func put(p *Pipe, b []byte) (n int, steady bool) {
	for range 10 {
		if n, steady = p.Put(b); steady {
			break
		}
		p.Drop()
	}
	return n, steady
}

func TestPipeTellsWhetherPagesWereMapped(t *testing.T) {
	data := pattern(256 << 10)
	b, p := mapFile(t, data), newPipe(t)
	if n, steady := p.Put(b); n != len(b) || steady {
		t.Errorf("untouched: %d bytes, steady %v", n, steady)
	}
	p.Drop()
	touch(b)
	if n, steady := put(p, b); n != len(b) || !steady {
		t.Errorf("touched: %d bytes, steady %v", n, steady)
	}
	p.Drop()
	// Unmap one page, as the kernel does with a page that leaves memory.
	if err := unix.Madvise(b[64<<10:68<<10], unix.MADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if n, steady := put(p, b[68<<10:]); n != len(b)-68<<10 || !steady {
		t.Errorf("behind the page: %d bytes, steady %v", n, steady)
	}
	p.Drop()
	if n, steady := p.Put(b); n != len(b) || steady {
		t.Errorf("with the page: %d bytes, steady %v", n, steady)
	}
}

func TestPipeTakesWhatFits(t *testing.T) {
	data := pattern(PipeBytes + 64<<10)
	b, p := mapFile(t, data), newPipe(t)
	touch(b)
	const off = 100 // one page more than its length needs
	n, steady := put(p, b[off:off+PipeBytes])
	if !steady || n <= 0 || n >= PipeBytes || p.Len() != n {
		t.Fatalf("%d bytes, steady %v, holds %d", n, steady, p.Len())
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) }()
	var got []byte
	buf := make([]byte, 64<<10)
	for full := false; p.Len() > 0; {
		switch err := p.Send(pair[0]); err {
		case nil:
		case unix.EAGAIN:
			full = true
		default:
			t.Fatal(err)
		}
		if full || p.Len() == 0 {
			k, err := unix.Read(pair[1], buf)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, buf[:k]...)
		}
	}
	for len(got) < n {
		k, err := unix.Read(pair[1], buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, buf[:k]...)
	}
	if !bytes.Equal(got, data[off:off+n]) {
		t.Error("other bytes came out")
	}
}

// The content of the pipe stays the same when the mapping is removed.
func TestPipeOutlivesTheMapping(t *testing.T) {
	data := pattern(64 << 10)
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b, err := unix.Mmap(int(f.Fd()), 0, len(data), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	touch(b)
	p := newPipe(t)
	if n, steady := put(p, b); n != len(b) || !steady {
		t.Fatalf("%d bytes, steady %v", n, steady)
	}
	if err := unix.Munmap(b); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(data))
	if n, err := unix.Read(p.out, got); n != len(got) || err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func BenchmarkPipe(b *testing.B) {
	m, p := mapFile(b, pattern(1<<20)), newPipe(b)
	touch(m)
	for _, n := range []int{64 << 10, 1 << 20} {
		b.Run(map[int]string{64 << 10: "64KiB", 1 << 20: "1MiB"}[n], func(b *testing.B) {
			null, err := unix.Open("/dev/null", unix.O_WRONLY, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = unix.Close(null) }()
			b.SetBytes(int64(n))
			for b.Loop() {
				p.Put(m[:n])
				for p.Len() > 0 {
					if err := p.Send(null); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	b.Run("faults", func(b *testing.B) {
		for b.Loop() {
			threadFaults()
		}
	})
}
