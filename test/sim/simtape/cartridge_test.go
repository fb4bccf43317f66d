package simtape

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"hemera/tape/device"
	"hemera/tape/device/emulated"
)

// TestBlocks: the reader of cartridges finds the blocks that a drive wrote. Of some the cartridge stores one byte for each page.
func TestBlocks(t *testing.T) {
	dir := t.TempDir()
	if err := emulated.Create(dir, emulated.Spec{Drives: 1, Slots: 1, Cartridges: 1}); err != nil {
		t.Fatal(err)
	}
	l, err := emulated.Open(dir, emulated.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	elements, err := l.Changer().Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// One element of each kind counts: the only slot, and the only drive.
	at := map[device.ElementKind]int{}
	for _, e := range elements {
		at[e.Kind] = e.Address
	}
	if err := l.Changer().Move(t.Context(), at[device.ElementSlot], at[device.ElementDrive]); err != nil {
		t.Fatal(err)
	}
	tp, err := l.Drives()[0].Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Of one page and less a drive stores all bytes, unless they repeat.
	want := [][]byte{[]byte("a block"), make([]byte, 2*page), bytes.Repeat([]byte("x"), page+1), append(make([]byte, page), "ab"...), make([]byte, 10)}
	for _, b := range want {
		if err := tp.WriteBlock(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := tp.WriteMarks(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "cartridges", "*.index"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	got, err := objects(dir, strings.TrimSuffix(filepath.Base(names[0]), "L9.index"))
	if err != nil || len(got) != len(want)+1 || got[len(want)] != nil {
		t.Fatalf("%d objects, %v", len(got), err)
	}
	for i, b := range want {
		if !bytes.Equal(got[i], b) {
			t.Errorf("block %d has %d bytes, want %d", i, len(got[i]), len(b))
		}
	}
}
