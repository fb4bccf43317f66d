package tapelabels

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// golden is a small tape: two files, an index, a container, an index.
const golden = "../../tape/volume/testdata/tape.simh"

func goldenTape(t *testing.T) []Object {
	t.Helper()
	image, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Image(image)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestRead(t *testing.T) {
	tape := Read(goldenTape(t))
	if tape.Rest != nil || tape.VID != "V01007" {
		t.Errorf("%q, %v", tape.VID, tape.Rest)
	}
	var said []string
	for _, f := range tape.Files {
		said = append(said, fmt.Sprint(f.FSeq, f.BlockID, f.ArchiveID, f.Size))
	}
	want := []string{"1 0 4294967306 1000", "2 11 2 80", "3 21 9223372036854775811 380", "4 31 4611686018427387908 400", "5 41 9223372036854775813 778"}
	if !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

// TestReadEndsAtAnUnfinishedFile: of a tape that is cut off anywhere, the files before the cut are read, and the rest is named.
func TestReadEndsAtAnUnfinishedFile(t *testing.T) {
	objects := goldenTape(t)
	ends := []int{11, 21, 31, 41, 51}
	for cut := range objects {
		tape, files := Read(objects[:cut]), 0
		for _, end := range ends {
			if end <= cut {
				files++
			}
		}
		whole := cut == 1 || slices.Contains(ends, cut)
		if len(tape.Files) != files || (tape.Rest == nil) != whole {
			t.Errorf("%d objects: %d files, %v", cut, len(tape.Files), tape.Rest)
		}
	}
}

// TestReadRefusesWrongLabels: a label that contradicts another ends the reading.
func TestReadRefusesWrongLabels(t *testing.T) {
	for at, from := range map[int]int{0: 4, 1: 21, 3: 4, 7: 25, 8: 0, 9: 20} {
		objects := goldenTape(t)
		block := slices.Clone(objects[at].Block)
		block[from] ^= 1
		objects[at].Block = block
		if tape := Read(objects); tape.Rest == nil || len(tape.Files) > 0 {
			t.Errorf("byte %d of object %d: %d files, %v", from, at, len(tape.Files), tape.Rest)
		}
	}
}

func TestMembers(t *testing.T) {
	table := `{"data":400}` + "\n"
	for i, text := range []string{"hello", "abc"} {
		var f File
		f.hold([]byte(text))
		line, _ := json.Marshal(map[string]any{"member": i + 1, "archiveId": fmt.Sprint(7 + i), "offset": 5 * i, "size": len(text), "checksums": []string{"adler32:" + f.Adler32}})
		table += string(line) + "\n"
	}
	table += `{"end":true}` + "\n"
	container := File{FSeq: 4, ArchiveID: containerFirst + 4, Content: []byte(table + strings.Repeat("\n", 400-len(table)) + "helloabc")}
	list := container.members()
	if len(list) != 2 || string(list[0].Content) != "hello" || string(list[1].Content) != "abc" || list[1].ArchiveID != 8 || list[1].Member != 2 {
		t.Errorf("%+v", list)
	}
	container.Content[400] ^= 1
	if list := container.members(); len(list) != 1 || list[0].Member != 2 {
		t.Errorf("with a wrong byte: %+v", list)
	}
	container.ArchiveID = 4
	if list := container.members(); len(list) != 0 {
		t.Errorf("of no container: %+v", list)
	}
}

func TestImageThatIsDamaged(t *testing.T) {
	image, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{image[:3], image[:50], image[:87], append([]byte{81}, image[1:]...)} {
		if _, err := Image(bad); err == nil {
			t.Errorf("%d bytes are read", len(bad))
		}
	}
}

// TestCartridge reads records of the emulated library: a filemark, a block, one that repeats bytes, one that is encrypted, one without its data.
func TestCartridge(t *testing.T) {
	record := func(kind, flags byte, length, stored uint32, place uint64) []byte {
		b := make([]byte, recordSize)
		b[0], b[1] = kind, flags
		for i := range 4 {
			b[4+i], b[8+i] = byte(length>>(8*i)), byte(stored>>(8*i))
		}
		for i := range 8 {
			b[32+i] = byte(place >> (8 * i))
		}
		return b
	}
	index := slices.Concat(record(2, 0, 0, 0, 0), record(1, 0, 3, 3, 1), record(1, repeated, 5000, 2, 4), record(1, 1, 3, 3, 0), record(1, 0, 3, 3, 4), []byte("rest"))
	stem := filepath.Join(t.TempDir(), "V00001L9")
	for name, text := range map[string][]byte{".index": index, ".data": []byte("xabcyz")} {
		if err := os.WriteFile(stem+name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := Cartridge(stem)
	if err != nil || len(objects) != 5 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	want := []Object{{Mark: true}, {Block: []byte("abc")}, {Block: []byte(strings.Repeat("y", 4096) + strings.Repeat("z", 904))}, {}, {}}
	for i, o := range objects {
		if o.Mark != want[i].Mark || string(o.Block) != string(want[i].Block) {
			t.Errorf("object %d is %v %q", i, o.Mark, o.Block)
		}
	}
}
