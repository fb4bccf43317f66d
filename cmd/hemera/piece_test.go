package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/test/fixture"
	"hemera/words/hemera"
)

// makePieces runs the command `pieces <dir> <layout> <size>` of a script: it writes a content of random bytes, and the
// files of its pieces, named by their numbers.
func makePieces(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	l, err := hemera.ParseLayout(args[1], 0)
	ts.Check(err)
	size, err := strconv.Atoi(args[2])
	ts.Check(err)
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "content"), content, 0o600))
	sum, err := checksum.Of(hemera.Adler32, content)
	ts.Check(err)
	for i, data := range cutContent(ts, l, content) {
		id := hemera.PieceID{File: 18, Gen: 1, Index: uint8(i)}
		root := filepath.Join(dir, "disk"+strconv.Itoa(i))
		ts.Check(os.Mkdir(root, 0o700))
		_, err := disk.Format(vfs.OS{}, root)
		ts.Check(err)
		d, err := disk.Open(vfs.OS{}, root, disk.Options{Now: func() time.Time { return fixture.Now }})
		ts.Check(err)
		w, err := d.Create(id, disk.CreateOptions{Path: "/exp/data.root", Layout: l})
		ts.Check(err)
		ts.Check(w.WritePages(data, nil, 0))
		_, err = w.Seal(hemera.SealInfo{FileSize: int64(size), Checksums: []hemera.Checksum{sum}})
		ts.Check(err)
		ts.Check(d.Close())
		ts.Check(os.Rename(filepath.Join(root, "0", id.String()), filepath.Join(dir, strconv.Itoa(i))))
	}
}

// cutContent returns the pieces of a content.
func cutContent(ts *testscript.TestScript, l hemera.Layout, content []byte) [][]byte {
	if !l.Coded() {
		return [][]byte{content, bytes.Clone(content)}[:l.Pieces]
	}
	whole := layout.PieceMax(l, int64(len(content)))
	blocks := make([][]byte, l.Pieces)
	for i := range blocks {
		blocks[i] = make([]byte, whole)
	}
	for _, s := range layout.Split(l, 0, len(content)) {
		copy(blocks[s.Column][s.Off:], content[s.At:s.At+s.Len])
	}
	code, err := layout.Code(l)
	ts.Check(err)
	ts.Check(code.Encode(blocks))
	for i := range blocks {
		blocks[i] = blocks[i][:layout.PieceSize(l, int64(len(content)), uint8(i))]
	}
	return blocks
}

// flipBit runs the command `flip <file> <offset>` of a script: it changes one bit of a file.
func flipBit(ts *testscript.TestScript, _ bool, args []string) {
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	raw, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	raw[at] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw, 0o600))
}
