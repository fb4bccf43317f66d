package pieces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// made has a file of a test and the files of its pieces, by index; "" for pieces without bytes.
type made struct {
	content []byte
	pieces  []string
}

// cut makes the pieces of a content byte by byte, independently of the code under test.
func cut(t *testing.T, l hemera.Layout, size int) made {
	t.Helper()
	m := made{content: make([]byte, size)}
	_, _ = rand.NewChaCha8([32]byte{byte(size), byte(size >> 8), l.Data, l.Pieces}).Read(m.content)
	data := make([][]byte, l.Pieces)
	rows := (size + int(l.BlockSize)*int(l.Data) - 1) / max(int(l.BlockSize)*int(l.Data), 1)
	switch {
	case l.Data <= 1:
		for i := range data {
			data[i] = m.content
		}
	default:
		code, err := layout.Code(l)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			data[i] = make([]byte, rows*int(l.BlockSize))
		}
		for at, b := range m.content {
			block := at / int(l.BlockSize)
			data[block%int(l.Data)][block/int(l.Data)*int(l.BlockSize)+at%int(l.BlockSize)] = b
		}
		if code != nil && size > 0 {
			if err := code.Encode(data); err != nil {
				t.Fatal(err)
			}
		}
		for i := range data {
			data[i] = data[i][:layout.PieceSize(l, int64(size), uint8(i))]
		}
	}
	sum, err := checksum.Of(hemera.Adler32, m.content)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range data {
		if len(p) == 0 && l.Data > 1 {
			m.pieces = append(m.pieces, "")
			continue
		}
		m.pieces = append(m.pieces, seal(t, hemera.PieceID{File: 42, Gen: 7, Index: uint8(i)}, l, p, int64(size), sum))
	}
	return m
}

// seal writes the file of a piece.
func seal(t *testing.T, id hemera.PieceID, l hemera.Layout, data []byte, size int64, sums ...hemera.Checksum) string {
	t.Helper()
	root := t.TempDir()
	if _, err := disk.Format(vfs.OS{}, root); err != nil {
		t.Fatal(err)
	}
	d, err := disk.Open(vfs.OS{}, root, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	w, err := d.Create(id, disk.CreateOptions{Path: "/some/file", Layout: l})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WritePages(data, nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seal(hemera.SealInfo{FileSize: size, Checksums: sums}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "0", id.String())
}

// flip returns a copy of the file with one bit changed.
func flip(t *testing.T, path string, at int64) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[at] ^= 1
	path = filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// join joins the pieces.
func join(t *testing.T, paths ...string) ([]byte, []Problem, error) {
	t.Helper()
	f, err := Open(vfs.OS{}, paths)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var out bytes.Buffer
	err = f.WriteTo(t.Context(), &out, nil)
	return out.Bytes(), f.Problems(), err
}

// layouts returns the layouts of the tests. Blocks are small, so that small files have several rows.
func layouts() []hemera.Layout {
	list := []hemera.Layout{hemera.Plain(), hemera.Replica(3), hemera.ReedSolomon(2, 1), hemera.ReedSolomon(4, 2), hemera.Stripe(3), hemera.Local(4, 2, 1)}
	for i := range list {
		if list[i].Data > 1 {
			list[i].BlockSize = hemera.BlockSizeMin
		}
	}
	return list
}

// TestAnySufficientPiecesMakeTheFile tries every subset of the pieces of every layout.
func TestAnySufficientPiecesMakeTheFile(t *testing.T) {
	const b = hemera.BlockSizeMin
	for _, l := range layouts() {
		for _, size := range []int{1, 5000, b, b + 1, 4*b - 1, 9*b + 4097} {
			m := cut(t, l, size)
			for subset := range 1 << l.Pieces {
				var paths []string
				var have layout.Set
				for i, p := range m.pieces {
					if subset>>i&1 != 0 && p != "" {
						paths, have = append(paths, p), have.With(i)
					}
				}
				slices.Reverse(paths) // the order must not matter
				got, problems, err := join(t, paths...)
				switch readable := layout.Readable(l, int64(size), have); {
				case readable && (err != nil || len(problems) > 0 || !bytes.Equal(got, m.content)):
					t.Errorf("%s of %d bytes from %s: %d bytes, %v, %v", l, size, have, len(got), problems, err)
				case !readable && !errors.Is(err, errs.NoReplicas):
					t.Errorf("%s of %d bytes from %s: %v", l, size, have, err)
				}
			}
		}
	}
}

// TestBadPagesComeFromOtherPieces damages two pieces at different places, so each place has enough good pieces.
func TestBadPagesComeFromOtherPieces(t *testing.T) {
	const size = 9*hemera.BlockSizeMin + 4097
	l := hemera.ReedSolomon(2, 1)
	l.BlockSize = hemera.BlockSizeMin
	m := cut(t, l, size)
	bad := []string{flip(t, m.pieces[0], 100), flip(t, m.pieces[1], 9000), m.pieces[2]}
	got, problems, err := join(t, bad...)
	if err != nil || !bytes.Equal(got, m.content) || len(problems) != 2 {
		t.Fatalf("%d bytes, %v, %v", len(got), problems, err)
	}
	for i, p := range problems {
		if p.Path != bad[i] || !strings.Contains(p.Err.Error(), "offset") {
			t.Errorf("%+v", p)
		}
	}
	// At the same place the damage is too much, and the error names both pieces.
	bad[1] = flip(t, m.pieces[1], 100)
	_, _, err = join(t, bad...)
	if !errors.Is(err, errs.NoReplicas) || !strings.Contains(err.Error(), bad[0]) || !strings.Contains(err.Error(), bad[1]) {
		t.Errorf("two bad blocks of a row: %v", err)
	}
	// A piece with a bad footer counts as missing.
	bad = []string{m.pieces[0], flip(t, m.pieces[1], fileSize(t, m.pieces[1])-20), m.pieces[2]}
	got, problems, err = join(t, bad...)
	if err != nil || !bytes.Equal(got, m.content) || len(problems) != 1 || problems[0].Path != bad[1] {
		t.Errorf("%d bytes, %v, %v", len(got), problems, err)
	}
	// A replica has other replicas.
	m = cut(t, hemera.Replica(2), size)
	got, problems, err = join(t, flip(t, m.pieces[0], 5000), flip(t, m.pieces[1], 20_000))
	if err != nil || !bytes.Equal(got, m.content) || len(problems) != 2 {
		t.Errorf("%d bytes, %v, %v", len(got), problems, err)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestWhatCannotBeJoined(t *testing.T) {
	m := cut(t, hemera.Replica(2), 5000)
	sum, err := checksum.Of(hemera.Adler32, m.content)
	if err != nil {
		t.Fatal(err)
	}
	other := seal(t, hemera.PieceID{File: 42, Gen: 8}, hemera.Replica(2), m.content, 5000, sum)
	if _, _, err := join(t, m.pieces[0], other); !errors.Is(err, errs.Conflict) || !strings.Contains(err.Error(), "generation 8") || !strings.Contains(err.Error(), other) {
		t.Errorf("two generations: %v", err)
	}
	m.content[17]++
	wrong := seal(t, hemera.PieceID{File: 42, Gen: 7}, hemera.Replica(2), m.content, 5000, sum)
	if got, _, err := join(t, wrong); !errors.Is(err, errs.Corrupt) || len(got) != 5000 {
		t.Errorf("pages that agree of another content: %v", err)
	}
	if _, _, err := join(t, "/nowhere"); !errors.Is(err, errs.NoReplicas) || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("no file: %v", err)
	}
	unknown := seal(t, hemera.PieceID{File: 42, Gen: 7}, hemera.Layout{Kind: 14, Data: 1, Pieces: 2}, m.content, 5000)
	if _, _, err := join(t, unknown); !errors.Is(err, errs.Unsupported) {
		t.Errorf("a layout of a later version: %v", err)
	}
	long := seal(t, hemera.PieceID{File: 42, Gen: 7}, hemera.Replica(2), m.content, 4999)
	if _, _, err := join(t, long); !errors.Is(err, errs.NoReplicas) || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("a piece that is longer than its file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, err := Open(vfs.OS{}, m.pieces)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.WriteTo(ctx, new(bytes.Buffer), nil); !errors.Is(err, errs.Cancelled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestCheck(t *testing.T) {
	m := cut(t, hemera.Replica(2), 50_000)
	read := 0
	if c, err := Check(t.Context(), vfs.OS{}, m.pieces[1], func(n int) { read += n }); err != nil || !c.Good() || read != 50_000 || c.Stat.ID.Index != 1 {
		t.Errorf("%+v, %v, %d bytes read", c, err, read)
	}
	c, err := Check(t.Context(), vfs.OS{}, flip(t, m.pieces[0], 4096), nil)
	if err != nil || c.Good() || fmt.Sprint(c.BadPages) != "[4096]" {
		t.Errorf("%+v, %v", c, err)
	}
	sum, err := checksum.Of(hemera.MD5, []byte("another content"))
	if err != nil {
		t.Fatal(err)
	}
	c, err = Check(t.Context(), vfs.OS{}, seal(t, hemera.PieceID{File: 1, Gen: 1}, hemera.Plain(), m.content, 50_000, sum), nil)
	if err != nil || c.Good() || !strings.Contains(c.Wrong, sum.String()) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := Check(t.Context(), vfs.OS{}, "/nowhere", nil); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
}
