package cluster

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"hemera/client/pieces"
	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// byteClass is one kind of byte in the file of a piece: docs/formats/piece.md.
type byteClass struct {
	name string
	// at returns the offset of one such byte.
	at func(p pieceFile) int64
}

// pieceFile are the places in the file of a piece.
type pieceFile struct {
	size   int64 // of the data
	table  int64 // where the table begins
	footer int64 // where the footer begins
	path   int64 // length of the path
	end    int64 // of the file
}

// trailerLength is that of the end of a footer, which has a fixed size.
const trailerLength = 20

// readPieceFile finds the places by what the end of the file says.
func readPieceFile(t *testing.T, name string) pieceFile {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	footer := b[int64(len(b))-int64(le.Uint32(b[len(b)-trailerLength:])):]
	f := pieceFile{
		size: int64(le.Uint64(footer[24:])), footer: int64(len(b) - len(footer)), path: int64(le.Uint16(footer[48:])), end: int64(len(b)),
	}
	f.table = (f.size + hemera.PageSize - 1) / hemera.PageSize * hemera.PageSize
	return f
}

// byteClasses are all that a piece has, but the zeros that fill its last page: nobody reads those.
var byteClasses = []byteClass{
	{"the first byte", func(pieceFile) int64 { return 0 }},
	{"a byte in a page", func(p pieceFile) int64 { return p.size / 2 }},
	{"the last byte", func(p pieceFile) int64 { return p.size - 1 }},
	{"the sum of a page", func(p pieceFile) int64 { return p.table + 5 }},
	{"the sum of the table", func(p pieceFile) int64 { return p.footer - 3 }},
	{"the file's id in the footer", func(p pieceFile) int64 { return p.footer }},
	{"the layout in the footer", func(p pieceFile) int64 { return p.footer + 18 }},
	{"the size in the footer", func(p pieceFile) int64 { return p.footer + 24 }},
	{"the path in the footer", func(p pieceFile) int64 { return p.footer + 51 }},
	{"a checksum in the footer", func(p pieceFile) int64 { return p.footer + 51 + p.path + 2 }},
	{"the length of the footer", func(p pieceFile) int64 { return p.end - trailerLength }},
	{"the version", func(p pieceFile) int64 { return p.end - 16 }},
	{"the sum of the footer", func(p pieceFile) int64 { return p.end - 12 }},
	{"the magic", func(p pieceFile) int64 { return p.end - 1 }},
}

// flip changes one bit of a file.
func flip(t *testing.T, name string, at int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	if b[0] ^= 0x10; err == nil {
		_, err = f.WriteAt(b, at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// flipped is a file with bits that were flipped in pieces.
type flipped struct {
	path, what string
	content    []byte
	indexes    []uint8 // of the pieces with a flipped bit
	data       map[uint8][]byte
}

// TestEachByteClassOfAPiece: one bit of each class of bytes is flipped, in a data piece, in a parity piece, and in as many
// as the code survives. After a restart, when nothing of it is in memory, a stock client reads the right bytes. What a
// read touches is repaired by itself, everything else by a check.
func TestEachByteClassOfAPiece(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		layout string
		spoil  [][]uint8 // indexes of the pieces in which a bit is flipped
	}{
		{"replica:2", [][]uint8{{1}}},
		{"rs:2+1", [][]uint8{{1}}},
		{"rs:4+2", [][]uint8{{0}, {4}, {2, 5}}},
		{"lrc:4+2+1", [][]uint8{{4}, {0, 6}}},
	} {
		for _, indexes := range c.spoil {
			t.Run(fmt.Sprintf("%s/%v", c.layout, indexes), func(t *testing.T) { spoiled(t, c.layout, indexes) })
		}
	}
}

// spoiled has a cluster of its own, so that few bits are flipped on each disk: many would make the disk failing.
func spoiled(t *testing.T, layout string, indexes []uint8) {
	const block, disks = 64 << 10, 12
	dir := t.TempDir()
	r := start(t, dir, 4, disks)
	var files []flipped
	for i, class := range byteClasses {
		f := flipped{path: fmt.Sprintf("/f%d", i), what: class.name, indexes: indexes}
		f.content = content(f.path, 10*block+100)
		write(t, r.client, r.url(f.path+"?hem.layout="+layout+"&hem.blocksize=64k"), f.content)
		f.data = r.spoil(f, class)
		files = append(files, f)
	}
	r.stop()
	r = start(t, dir, 4, disks)
	until(t, "all disks are there", func() bool {
		v := r.view()
		return len(v.Disks) == disks && !slices.ContainsFunc(v.Disks, func(d hemera.Disk) bool { return !d.Writable() })
	})
	for _, f := range files {
		r.readStock(f)
	}
	r.sums(files[0])
	for _, f := range files {
		r.repaired(f)
	}
	r.whole(nil)
}

// spoil flips a bit of the class in pieces of a file. It returns what their data was.
func (r *rig) spoil(f flipped, class byteClass) map[uint8][]byte {
	r.t.Helper()
	data := map[uint8][]byte{}
	for index, name := range r.byIndex(f.path) {
		if !slices.Contains(f.indexes, index) {
			continue
		}
		places := readPieceFile(r.t, name)
		b, err := os.ReadFile(name)
		if err != nil {
			r.t.Fatal(err)
		}
		data[index] = b[:places.size]
		flip(r.t, name, class.at(places))
	}
	if len(data) != len(f.indexes) {
		r.t.Fatalf("%s has not all of its pieces", f.path)
	}
	return data
}

// byIndex returns the files of a file's pieces by the pieces' indexes. A piece that is being moved may be missing.
func (r *rig) byIndex(path string) map[uint8]string {
	r.t.Helper()
	info, err := r.up.Manager.Maint.FileInfo(r.t.Context(), hemera.SystemIdentity(), path)
	if err != nil {
		r.t.Fatal(err)
	}
	found := map[uint8]string{}
	for _, p := range info.Pieces {
		id := hemera.PieceID{File: info.Entry.ID, Gen: info.Entry.Gen, Index: p.Piece.Index}
		if match, _ := filepath.Glob(filepath.Join(p.Disk.Path, "*", id.String())); len(match) == 1 {
			found[id.Index] = match[0]
		}
	}
	return found
}

// readStock reads a file with xrdcp, or with this project's client where that is not installed.
func (r *rig) readStock(f flipped) {
	r.t.Helper()
	if _, err := exec.LookPath("xrdcp"); err != nil {
		read(r.t, r.client, r.url(f.path), f.content)
		return
	}
	to := filepath.Join(r.t.TempDir(), "copy")
	url := r.url(f.path)
	if out, err := exec.CommandContext(r.t.Context(), "xrdcp", "-f", "-N", url.String(), to).CombinedOutput(); err != nil {
		r.t.Errorf("%s: xrdcp: %v\n%s", f.what, err, out)
		return
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, f.content) {
		r.t.Errorf("%s: xrdcp got other bytes, %v", f.what, err)
	}
}

// sums has a checksum computed that is not stored. In a coded file no piece has all that it is of.
func (r *rig) sums(f flipped) {
	r.t.Helper()
	want, err := checksum.Of(hemera.MD5, f.content)
	if err != nil {
		r.t.Fatal(err)
	}
	if got, err := r.client.Checksum(r.t.Context(), r.url(f.path), hemera.MD5); got != want || err != nil {
		r.t.Errorf("%s: md5 is %v, want %v, %v", f.what, got, want, err)
	}
}

// repaired waits until pieces that a reader of the file needs are good, has a check repair the others, and compares them
// with what they were.
func (r *rig) repaired(f flipped) {
	r.t.Helper()
	ctx := r.t.Context()
	info, err := r.up.Manager.Maint.FileInfo(ctx, hemera.SystemIdentity(), f.path)
	if err != nil {
		r.t.Fatal(err)
	}
	// Files are compared here, not by the cluster: each look of it at a bad piece counts against the piece's disk.
	bad := func(of func(index uint8) bool) (count int) {
		files := r.byIndex(f.path)
		for _, index := range f.indexes {
			checked, err := pieces.Check(ctx, vfs.OS{}, files[index], nil)
			if of(index) && (err != nil || !checked.Good() || !r.holds(files[index], f.data[index])) {
				count++
			}
		}
		return count
	}
	coded := info.Entry.Layout.Coded()
	until(r.t, f.what+": what was read is repaired", func() bool {
		return bad(func(index uint8) bool { return coded && index < info.Entry.Layout.Data }) == 0
	})
	// A check fails while a repair that a read has caused holds the file.
	until(r.t, f.what+": all is repaired", func() bool {
		every := func(uint8) bool { return true }
		if bad(every) > 0 {
			_, err = r.up.Manager.Maint.CheckFile(ctx, f.path, true)
		}
		return err == nil && bad(every) == 0
	})
}

// holds reports whether the file of a piece begins with the data.
func (r *rig) holds(name string, data []byte) bool {
	b, err := os.ReadFile(name)
	return err == nil && bytes.HasPrefix(b, data)
}
