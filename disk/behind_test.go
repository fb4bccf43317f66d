package disk

import (
	"fmt"
	"syscall"
	"testing"

	"hemera"
	"hemera/errs"
	"hemera/vfs"
)

// durable begins a piece that is written past the page cache from its first byte on.
func durable(t *testing.T, d *Disk, file int) Writer {
	t.Helper()
	w, err := d.Create(pieceID(file), CreateOptions{Path: "/x", Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// writeParts writes data[from:] in parts.
func writeParts(t *testing.T, w Writer, data []byte, from, part int) {
	t.Helper()
	for off := from; off < len(data); off += part {
		if err := w.WritePages(data[off:min(off+part, len(data))], nil, int64(off)); err != nil {
			t.Fatal(err)
		}
	}
}

func wantDirects(t *testing.T, when string, d *Disk, n int) {
	t.Helper()
	if got := len(d.directs); got != n {
		t.Errorf("%s: %d pieces past the page cache, want %d", when, got, n)
	}
}

// A piece is the same whatever comes between the writes that go past the page cache, on a real
// filesystem and in memory, where the power is cut after the seal.
func TestPastThePageCache(t *testing.T) {
	const part = 192 << 10 // does not divide a step
	size := 2*directStep + 5*part + 1234
	for _, c := range []struct {
		name    string
		between func(t *testing.T, w Writer, data []byte) []byte // after half of it; returns what is expected
		ends    bool
	}{
		{"nothing", func(_ *testing.T, _ Writer, data []byte) []byte { return data }, false},
		{"written again", func(t *testing.T, w Writer, data []byte) []byte {
			copy(data[directStep-100:], randomBytes(8, 5000))
			if err := w.WritePages(data[directStep-100:directStep+4900], nil, directStep-100); err != nil {
				t.Fatal(err)
			}
			return data
		}, true},
		{"read", func(t *testing.T, w Writer, data []byte) []byte {
			checkRead(t, w, data[:len(data)/2/part*part], 1000, directStep)
			return data
		}, true},
		{"synced", func(t *testing.T, w Writer, data []byte) []byte {
			if err := w.Sync(); err != nil {
				t.Fatal(err)
			}
			return data
		}, true},
		{"cut", func(t *testing.T, w Writer, data []byte) []byte {
			if err := w.Truncate(directStep + 17); err != nil {
				t.Fatal(err)
			}
			clear(data[directStep+17 : len(data)/2/part*part])
			return data
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemoryDisk(t, 0, Options{DirectFrom: 1})
			disks := map[string]*Disk{"memory": m.Disk, "real": newDisk(t, vfs.OS{}, t.TempDir(), Options{DirectFrom: 1})}
			for name, d := range disks {
				data := randomBytes(1, size)
				w := durable(t, d, 1)
				half := len(data) / 2 / part * part
				writeParts(t, w, data[:half], 0, part)
				if name == "memory" {
					wantDirects(t, "half way", d, 1)
				}
				data = c.between(t, w, data)
				if name == "memory" && c.ends {
					wantDirects(t, "after that", d, 0)
				}
				writeParts(t, w, data, half, part)
				stat, err := w.Seal(hemera.SealInfo{FileSize: int64(size), Sync: true})
				if err != nil || stat.Size != int64(size) {
					t.Fatalf("%s: sealed %d bytes, %v", name, stat.Size, err)
				}
				wantDirects(t, "sealed", d, 0)
				if name == "memory" {
					m.memory.Crash(nil)
					if d, err = Open(m.memory, "/d", Options{}); err != nil {
						t.Fatal(err)
					}
				}
				r, err := d.Open(pieceID(1))
				if err != nil {
					t.Fatal(err)
				}
				checkRead(t, r, data, 0, size)
				if bad, err := r.Verify(); err != nil || len(bad) > 0 {
					t.Errorf("%s: bad pages %v, %v", name, bad, err)
				}
				_ = r.Close()
			}
		})
	}
}

// An error of a write behind the client is found at the latest when the piece is sealed or asked for.
func TestErrorPastThePageCache(t *testing.T) {
	data := randomBytes(1, 3*directStep)
	for _, c := range []struct {
		name   string
		err    error
		skip   int // writes that go well: the first part goes through the page cache
		length int
		kind   errs.Kind
	}{
		{"first step", syscall.EIO, 1, directStep + 2*partLen, errs.IO},
		{"last step", syscall.EIO, 2, 2*directStep + 2*partLen, errs.IO},
		{"rest", syscall.EIO, 2, directStep + 2*partLen, errs.IO},
		{"no space", syscall.ENOSPC, 1, directStep + 2*partLen, errs.NoSpace},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newMemoryDisk(t, 0, Options{DirectFrom: 1})
			d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Pattern: pieceID(1).String(), Skip: c.skip, Count: 1, Err: c.err})
			w := durable(t, d.Disk, 1)
			writeParts(t, w, data[:c.length], 0, partLen)
			_, err := w.Seal(hemera.SealInfo{FileSize: int64(c.length), Sync: true})
			wantKind(t, "seal", err, c.kind)
			wantDirects(t, "failed", d.Disk, 0)
			_, err = d.Disk.Open(pieceID(1))
			wantKind(t, "open", err, errs.NotFound)
		})
	}
}

const partLen = 256 << 10

// What the device does not take directly goes through the page cache.
func TestDeviceRefusesDirectWrites(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{DirectFrom: 1})
	d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Pattern: pieceID(1).String(), Skip: 1, Count: 1, Err: syscall.EINVAL})
	d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpOpen}, Pattern: pieceID(2).String(), Skip: 1, Count: 1, Err: syscall.EINVAL})
	data := randomBytes(1, 2*directStep)
	for file := 1; file <= 2; file++ {
		w := durable(t, d.Disk, file)
		writeParts(t, w, data, 0, partLen)
		if _, err := w.Seal(hemera.SealInfo{FileSize: int64(len(data)), Sync: true}); err != nil {
			t.Fatal(err)
		}
		r, err := d.Disk.Open(pieceID(file))
		if err != nil {
			t.Fatal(err)
		}
		checkRead(t, r, data, 0, len(data))
		_ = r.Close()
	}
	if n := d.faulty.Calls(vfs.OpOpen); n < 4 {
		t.Errorf("%d opens: no direct write was tried", n)
	}
}

// Only so many pieces have memory of their own, and give it back however they end.
func TestPiecesPastThePageCacheAreBounded(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{DirectFrom: 1})
	data := randomBytes(1, 3*partLen)
	loose, err := d.Create(pieceID(100), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	writeParts(t, loose, data, 0, partLen)
	wantDirects(t, "a piece that need not be durable", d.Disk, 0)
	var writers []Writer
	for i := range directPieces + 1 {
		w := durable(t, d.Disk, i+1)
		writeParts(t, w, data, 0, partLen)
		writers = append(writers, w)
	}
	wantDirects(t, "one too many", d.Disk, directPieces)
	for i, end := range []func(Writer) error{
		Writer.Abort,
		Writer.Park,
		func(w Writer) error { _, err := w.(*writer).CRC32C(); return err },
		func(w Writer) error {
			_, err := w.Seal(hemera.SealInfo{FileSize: int64(len(data))})
			return err
		},
	} {
		if err := end(writers[i]); err != nil {
			t.Error(err)
		}
		wantDirects(t, fmt.Sprint("after end ", i), d.Disk, directPieces-1-i)
	}
}
