package disk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// pieceFileOf seals data as a piece and returns a copy of its file, under a name that says nothing.
func pieceFileOf(t *testing.T, data []byte) (path string, stat hemera.PieceStat) {
	t.Helper()
	root := t.TempDir()
	d := newDisk(t, vfs.OS{}, root, Options{})
	stat = store(t, d, pieceID(7), data, 1<<20)
	raw, err := os.ReadFile(d.sealedPath(pieceID(7)))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "some name")
	if err := os.WriteFile(path, raw, 0o400); err != nil {
		t.Fatal(err)
	}
	return path, stat
}

func openPieceFile(t *testing.T, path string) *PieceFile {
	t.Helper()
	p, err := OpenPieceFile(vfs.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestAPieceFileAlone(t *testing.T) {
	for _, size := range []int{0, 1, 4095, 4096, 100_000, blockSums * 4096, blockSums*4096 + 1, 9_000_000} {
		data := randomBytes(uint64(size), size)
		path, want := pieceFileOf(t, data)
		p := openPieceFile(t, path)
		got := p.Stat()
		if got.ID != want.ID || got.Size != int64(size) || got.Path != want.Path || !slices.Equal(got.Checksums, want.Checksums) || !got.Sealed.Equal(want.Sealed) {
			t.Errorf("stat %+v, want %+v", got, want)
		}
		all, err := io.ReadAll(io.NewSectionReader(p, 0, int64(size)))
		if err != nil || !bytes.Equal(all, data) {
			t.Errorf("size %d: %d bytes, %v", size, len(all), err)
		}
		seen := 0
		if bad, err := p.Verify(t.Context(), func(b []byte) { seen += len(b) }); err != nil || bad != nil || seen != size {
			t.Errorf("size %d: %v, %v, %d bytes seen", size, bad, err, seen)
		}
	}
}

// TestAFlippedBitInAPieceFile flips one bit of each part of the file: what is read is right or an error.
func TestAFlippedBitInAPieceFile(t *testing.T) {
	data := randomBytes(1, 3*4096+100)
	path, stat := pieceFileOf(t, data)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		at  int64
		bad []int64 // nil: it does not open
	}{
		"first page": {17, []int64{0}},
		"last page":  {3*4096 + 99, []int64{3 * 4096}},
		"padding":    {3*4096 + 100, []int64{}},
		"table":      {tableOff(stat.Size) + 5, []int64{0, 4096, 8192, 12288}},
		"footer":     {footerOff(stat.Size), nil},
		"magic":      {int64(len(raw)) - 1, nil},
	}
	for name, c := range cases {
		flipped := filepath.Join(t.TempDir(), "flipped")
		raw[c.at] ^= 4
		if err := os.WriteFile(flipped, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		raw[c.at] ^= 4
		p, err := OpenPieceFile(vfs.OS{}, flipped)
		if c.bad == nil {
			if !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		bad, err := p.Verify(t.Context(), nil)
		if err != nil || !slices.Equal(bad, c.bad) {
			t.Errorf("%s: bad pages %v, %v", name, bad, err)
		}
		got := make([]byte, len(data))
		n, err := p.ReadAt(got, 0)
		if len(c.bad) > 0 && (!errors.Is(err, errs.Corrupt) || int64(n) != c.bad[0]) || !bytes.Equal(got[:n], data[:n]) {
			t.Errorf("%s: read %d bytes, %v", name, n, err)
		}
		_ = p.Close()
	}
}

func TestWhatIsNoPieceFile(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPieceFile(vfs.OS{}, empty); !errors.Is(err, errs.Corrupt) {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := OpenPieceFile(vfs.OS{}, empty+"x"); !errors.Is(err, errs.NotFound) {
		t.Errorf("no file: %v", err)
	}
	if _, err := OpenPieceFile(vfs.OS{}, filepath.Dir(empty)); err == nil {
		t.Error("a directory was opened")
	}
}
