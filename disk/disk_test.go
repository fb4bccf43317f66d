package disk

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func randomBytes(seed uint64, n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(p)
	return p
}

func pieceID(file int) hemera.PieceID {
	return hemera.PieceID{File: hemera.FileID(file), Gen: 1, Index: 0}
}

func newDisk(t testing.TB, fsys vfs.FS, path string, o Options) *Disk {
	t.Helper()
	if _, err := Format(fsys, path); err != nil && !errors.Is(err, errs.Exists) {
		t.Fatal(err)
	}
	d, err := Open(fsys, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// store seals data as a piece, written in parts of the given length.
func store(t testing.TB, d *Disk, id hemera.PieceID, data []byte, part int) hemera.PieceStat {
	t.Helper()
	w, err := d.Create(id, CreateOptions{Path: "/a/b", Layout: hemera.Replica(2), SizeHint: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	for off := 0; off < len(data); off += part {
		if err := w.WritePages(data[off:min(off+part, len(data))], nil, int64(off)); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := checksum.Of(hemera.Adler32, data)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := w.Seal(hemera.SealInfo{FileSize: int64(len(data)), Checksums: []hemera.Checksum{sum}, Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	return stat
}

func TestWriteSealRead(t *testing.T) {
	d := newDisk(t, vfs.OS{}, t.TempDir(), Options{})
	for i, size := range []int{0, 1, 4095, 4096, 4097, 100_000, 3 << 20, blockSums*4096 - 1, blockSums * 4096, blockSums*4096 + 1, 9_000_000} {
		for j, part := range []int{1 << 20, 65536, 10_001} {
			data := randomBytes(uint64(size), size)
			id := hemera.PieceID{File: hemera.FileID(i*9999 + 1), Gen: hemera.Generation(j), Index: 1}
			want := store(t, d, id, data, part)
			r, err := d.Open(id)
			if err != nil {
				t.Fatal(err)
			}
			got := r.Stat()
			if got.Size != int64(size) || got.ID != id || got.Path != "/a/b" || len(got.Checksums) != 1 ||
				got.Checksums[0] != want.Checksums[0] || got.Layout != hemera.Replica(2) || !got.Sealed.Equal(want.Sealed) {
				t.Errorf("stat %+v, want %+v", got, want)
			}
			checkRead(t, r, data, 0, size+10)
			checkRead(t, r, data, 5000, 70_000)
			checkRead(t, r, data, 4096, 8192)
			checkRead(t, r, data, size-1, 1)
			if bad, err := r.Verify(); err != nil || len(bad) > 0 {
				t.Errorf("size %d part %d: bad pages %v, %v", size, part, bad, err)
			}
			if got, want := wholeCRC(t, r.(*reader).piece), checksum.CRC32C(data); got != want {
				t.Errorf("whole CRC %08x, want %08x", got, want)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if d.open.idle.Len() != 33 {
		t.Errorf("%d idle pieces", d.open.idle.Len())
	}
}

// checkRead reads n bytes at off, with and without sums, and compares with data.
func checkRead(t *testing.T, r interface {
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
}, data []byte, off, n int) {
	t.Helper()
	if off < 0 {
		return
	}
	p := make([]byte, n)
	sums := make([]uint32, checksum.Fragments(int64(off), n))
	got, err := r.ReadPages(p, sums, int64(off))
	want := data[min(off, len(data)):min(off+n, len(data))]
	if wantErr := map[bool]error{true: io.EOF}[len(want) < n]; got != len(want) || err != wantErr {
		t.Errorf("read %d at %d: %d, %v; want %d, %v", n, off, got, err, len(want), wantErr)
	}
	if !bytes.Equal(p[:got], want) {
		t.Errorf("read %d at %d: other bytes", n, off)
	}
	if bad := checksum.VerifyPages(want, int64(off), sums); bad >= 0 {
		t.Errorf("read %d at %d: sum %d does not match", n, off, bad)
	}
}

// wholeCRC returns the CRC32C of all data, from the CRCs of its pages.
func wholeCRC(t *testing.T, s pageSource) uint32 {
	t.Helper()
	var whole checksum.Appender
	size := s.dataSize()
	for page := range pages(size) {
		var sum [1]uint32
		if err := s.pageSums(page, sum[:]); err != nil {
			t.Fatal(err)
		}
		whole.Append(sum[0], int64(pageLen(size, page)))
	}
	return whole.Sum()
}

// TestAPieceThatIsCutWhileOpenIsBad: its end is gone, and its reader has what the footer said.
func TestAPieceThatIsCutWhileOpenIsBad(t *testing.T) {
	d := newDisk(t, vfs.OS{}, t.TempDir(), Options{})
	data := randomBytes(1, 20<<20)
	store(t, d, pieceID(1), data, 1<<20)
	r := openPiece(t, d, pieceID(1))
	checkRead(t, r, data, 0, 4096)
	if err := os.Truncate(d.sealedPath(pieceID(1)), 5<<20); err != nil {
		t.Fatal(err)
	}
	checkRead(t, r, data, 0, 4096) // with a checksum that is in memory
	buf := make([]byte, 1<<20)
	for _, off := range []int64{4096, 5<<20 - 4096, 6 << 20, int64(len(data)) - 4096} {
		n, err := r.ReadPages(buf, nil, off)
		if n < 0 || n > 0 && !bytes.Equal(buf[:n], data[off:off+int64(n)]) || n == 0 && !errors.Is(err, errs.Corrupt) {
			t.Errorf("%d bytes at %d: %v", n, off, err)
		}
	}
	if bad, err := r.Verify(); err == nil && len(bad) == 0 {
		t.Error("a check finds nothing")
	}
}
