package server

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hemera/tape/device"
	"hemera/words/hemera"
)

// TestKinds: a cartridge whose barcode has no media type is of the kind that the drive says, once it was loaded.
func TestKinds(t *testing.T) {
	x := newRig(t, newControl(t, 6, 3))
	file := filepath.Join(x.dir, "library.json")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(b, []byte(`"V00001L9"`), []byte(`"V00001"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	c := x.control
	media := func(c *control) (string, bool) {
		m, there := c.seen.VIDs["V00001"]
		return m, there
	}
	c.mu.Lock()
	for _, f := range c.files {
		f.failed = "later"
	}
	c.mu.Unlock()
	x.start()
	x.await("the library is reported", func(c *control) bool { _, there := media(c); return there })
	c.mu.Lock()
	if m, _ := media(c); m != "" {
		t.Errorf("%s before it was loaded", m)
	}
	for _, f := range c.files {
		f.failed = ""
	}
	c.changed()
	c.mu.Unlock()
	x.archived()
	x.await("its kind is known", func(c *control) bool { m, _ := media(c); return m == "LTO-9" })
}

// What a drive says counts more than the barcode; a density that nobody knows says nothing.
func TestKindsCorrectBarcodes(t *testing.T) {
	var k kinds
	k.note("A", device.Status{Density: 0x5e})
	k.note("B", device.Status{Density: 0x01})
	k.note("C", device.Status{})
	k.note("D", device.Status{Density: 0x5d})
	vids := map[hemera.VID]string{"A": "LTO-9", "B": "LTO-9", "C": ""}
	k.correct(vids)
	if len(vids) != 3 || vids["A"] != "LTO-8" || vids["B"] != "LTO-9" || vids["C"] != "" {
		t.Errorf("%v", vids)
	}
}
