package volume_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"hemera/tape/internal/memtape"
	"hemera/tape/volume"
	"hemera/test/tapelabels"
)

// image returns a tape in SIMH's format, which test/tapelabels describes.
func image(m *memtape.Tape) []byte {
	var out []byte
	for _, b := range m.Objects() {
		length := binary.LittleEndian.AppendUint32(nil, uint32(len(b)))
		out = append(out, length...)
		if b == nil {
			continue
		}
		out = append(out, b...)
		if len(b)%2 == 1 {
			out = append(out, 0)
		}
		out = append(out, length...)
	}
	return out
}

// TestAProgramThatKnowsTheLabelsReadsTheTape has the files read by a package that shares nothing with this one.
func TestAProgramThatKnowsTheLabelsReadsTheTape(t *testing.T) {
	m, v := labelled(t)
	a := appendTo(t, v, volume.Last{})
	files := []volume.Written{put(t, a, 4294967306, 3*volume.BlockSize, 1<<20), put(t, a, 1, 1, 1), put(t, a, 2, 300_001, 1000)}
	index(t, a)
	objects, err := tapelabels.Image(image(m))
	if err != nil {
		t.Fatal(err)
	}
	read := tapelabels.Read(objects)
	if read.Rest != nil || read.VID != vid || len(read.Files) != 4 {
		t.Fatalf("%d files of %s, %v", len(read.Files), read.VID, read.Rest)
	}
	for i, w := range files {
		data := content(w.ArchiveID, int(w.Size))
		r := read.Files[i]
		if r.FSeq != w.FSeq || uint64(r.BlockID) != w.Block || r.ArchiveID != w.ArchiveID || int64(r.Size) != w.Size || r.Adler32 != adler(data).Hex() {
			t.Errorf("%d %d %d %d %s, want %+v", r.FSeq, r.BlockID, r.ArchiveID, r.Size, r.Adler32, w)
		}
		if !bytes.Equal(r.Content, data) {
			t.Errorf("file %d: %d bytes", w.FSeq, len(r.Content))
		}
	}
}

// TestTheBytesOfATapeStay compares a small tape with the image in testdata, byte for byte: two files, a container, an index.
func TestTheBytesOfATapeStay(t *testing.T) {
	m, v := labelled(t)
	a := appendTo(t, v, volume.Last{})
	put(t, a, 4294967306, 1000, 1000)
	put(t, a, 2, 80, 80)
	index(t, a)
	fseq, block := a.Next()
	members := []volume.Record{{ArchiveID: 3, Size: 5, Path: "/a"}, {ArchiveID: 4, Size: 3, Path: "/b", UID: 1000, GID: 100, Mode: 0o640, Copy: 1, Class: "raw"}}
	if err := a.Begin(t.Context(), volume.ContainerID(fseq)); err != nil {
		t.Fatal(err)
	}
	table := volume.Table(vid, fseq, block, members)
	table = bytes.TrimRight(table, "\n") // a short table keeps the image small; its data is not read here
	if err := a.Write(t.Context(), append(table, "helloabc"...)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range members {
		a.Note(r)
	}
	index(t, a)
	const golden = "testdata/tape.simh"
	got := image(m)
	if os.Getenv("UPDATE_GOLDEN") != "" { // after a change of the format that was meant
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("byte %d of %d differs: %q, want %q", i, len(want), got[i:min(i+40, len(got))], want[i:min(i+40, len(want))])
			}
		}
		t.Fatalf("%d bytes, want %d", len(got), len(want))
	}
}
