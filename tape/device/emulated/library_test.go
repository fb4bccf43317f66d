package emulated

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hemera/tape/device"
	"hemera/words/errs"
)

func TestSpecs(t *testing.T) {
	for _, test := range []struct {
		spec Spec
		kind errs.Kind
	}{
		{Spec{Media: "DLT"}, errs.Invalid}, {Spec{Drives: 1000}, errs.Invalid}, {Spec{Slots: 3, Cartridges: 4}, errs.Invalid},
		{Spec{Prefix: "TOOLONG"}, errs.Invalid}, {Spec{Prefix: "lower"}, errs.Invalid}, {Spec{Prefix: "ABCDE", Cartridges: 12}, errs.Invalid},
		{Spec{Capacity: -1}, errs.Invalid}, {Spec{Drives: -1}, errs.Invalid},
	} {
		if err := Create(t.TempDir(), test.spec); errs.KindOf(err) != test.kind {
			t.Errorf("%+v: %v", test.spec, err)
		}
	}
	l := open(t, Spec{Media: "LTO-8", Slots: 4, Drives: 3, Gates: 2, Prefix: "AB"}, Options{})
	all, err := l.Changer().Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := map[device.ElementKind]int{}
	barcodes := ""
	for _, e := range all {
		count[e.Kind]++
		barcodes += " " + e.Barcode
	}
	if count[device.ElementArm] != 1 || count[device.ElementDrive] != 3 || count[device.ElementSlot] != 4 || count[device.ElementGate] != 2 || len(l.Drives()) != 3 {
		t.Error(count)
	}
	if got := strings.Join(strings.Fields(barcodes), " "); got != "AB0001L8 AB0002L8 AB0003L8 AB0004L8" {
		t.Error(got)
	}
	if l := open(t, Spec{Cartridges: -1}, Options{}); l.mediaOf("V00001L9").Name != "LTO-9" {
		t.Error("no cartridges, but a kind")
	}
}

// TestOneProcess: a second one that opens the library learns why not, and creating does not overwrite.
func TestOneProcess(t *testing.T) {
	l := open(t, Spec{}, Options{})
	_, err := Open(l.dir, Options{})
	if errs.KindOf(err) != errs.Locked || errs.RemedyOf(err) == "" {
		t.Error(err)
	}
	if err := Create(l.dir, Spec{}); errs.KindOf(err) != errs.Exists {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Changer().Move(t.Context(), addressSlot, addressDrive); !errors.Is(err, device.ErrNotReady) {
		t.Error("a library that is closed moves a cartridge", err)
	}
	again, err := Open(l.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if _, err := Open(filepath.Join(l.dir, "nowhere"), Options{}); errs.KindOf(err) != errs.NotFound {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, layoutName), []byte("{}"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(l.dir, Options{}); errs.KindOf(err) != errs.Corrupt {
		t.Error(err)
	}
}

// TestReopened: a cartridge that was in a drive when the process ended is there, can be loaded, and what was buffered is on tape.
func TestReopened(t *testing.T) {
	l := open(t, Spec{}, Options{})
	tp := mount(t, l)
	if err := tp.WriteBlock(t.Context(), []byte("kept")); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Open(l.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Changer().Move(t.Context(), addressDrive, addressSlot); !errors.Is(err, device.ErrNotReady) {
		t.Fatal(err)
	}
	tp, err = l.Drives()[0].Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 80)
	if n, err := tp.ReadBlock(t.Context(), buf); err != nil || string(buf[:n]) != "kept" {
		t.Fatal(n, err)
	}
	if _, err := l.Drives()[0].Load(t.Context()); err != nil { // again: what was read before counts
		t.Fatal(err)
	}
	if err := l.Drives()[0].Unload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Changer().Move(t.Context(), addressDrive, addressSlot); err != nil {
		t.Fatal(err)
	}
	a, err := readAttributes(filepath.Join(l.dir, cartridgesName, "V00001L9"))
	if err != nil || a != (Attributes{Loads: 2, BytesWritten: 4, BytesRead: 4}) {
		t.Fatal(a, err)
	}
}

// TestGate: cartridges come in and go out by hand, and keep what is on them.
func TestGate(t *testing.T) {
	l := open(t, Spec{Slots: 2, Cartridges: 1}, Options{})
	if err := l.Insert("V00001L9"); errs.KindOf(err) != errs.Exists {
		t.Error(err)
	}
	for _, bad := range []string{"V00002", "../../L9", ""} {
		if err := l.Insert(bad); errs.KindOf(err) != errs.Invalid {
			t.Error(bad, err)
		}
	}
	if err := l.Insert("X00001L8"); err != nil {
		t.Fatal(err)
	}
	if err := l.Insert("X00002L8"); errs.KindOf(err) != errs.NoSpace {
		t.Error(err)
	}
	if err := l.Changer().Move(t.Context(), addressGate, addressDrive); err != nil {
		t.Fatal(err)
	}
	tp, err := l.Drives()[0].Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := tp.WriteBlock(t.Context(), []byte("from afar")); err != nil {
		t.Fatal(err)
	}
	if s, err := l.Drives()[0].Status(t.Context()); err != nil || s.Density != 0x5e {
		t.Error(s, err)
	}
	if n, err := tp.(device.Orderer).OrderMax(t.Context()); n != 0 || err != nil {
		t.Error("cartridges of generation 8 are ordered", n, err)
	}
	if err := l.Drives()[0].Unload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Changer().Move(t.Context(), addressDrive, addressGate); err != nil {
		t.Fatal(err)
	}
	if barcode, err := l.Remove(addressGate); barcode != "X00001L8" || err != nil {
		t.Fatal(barcode, err)
	}
	if _, err := l.Remove(addressGate); !errors.Is(err, device.ErrEmpty) {
		t.Error(err)
	}
	if _, err := l.Remove(addressSlot); errs.KindOf(err) != errs.NotFound {
		t.Error(err)
	}
	if err := l.Insert("X00001L8"); err != nil {
		t.Fatal(err)
	}
	if err := l.Changer().Move(t.Context(), addressGate, addressDrive); err != nil {
		t.Fatal(err)
	}
	if tp, err = l.Drives()[0].Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 80)
	if n, err := tp.ReadBlock(t.Context(), buf); err != nil || string(buf[:n]) != "from afar" {
		t.Fatal(n, err)
	}
}

// TestDiscard: long blocks read as zeros and take no room, short ones are kept.
func TestDiscard(t *testing.T) {
	l := open(t, Spec{}, Options{Discard: true})
	tp := mount(t, l)
	long, short := bytes.Repeat([]byte{7}, discardBelow), bytes.Repeat([]byte{8}, discardBelow-1)
	for _, b := range [][]byte{long, short, long} {
		if err := tp.WriteBlock(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := tp.Locate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]byte{make([]byte, discardBelow), short, make([]byte, discardBelow)} {
		buf := bytes.Repeat([]byte{9}, 8<<10)
		if n, err := tp.ReadBlock(t.Context(), buf); err != nil || !bytes.Equal(buf[:n], want) {
			t.Fatal(n, err)
		}
	}
	if info, err := os.Stat(filepath.Join(l.dir, cartridgesName, "V00001L9.data")); err != nil || info.Size() != discardBelow-1 {
		t.Fatal(info.Size(), err)
	}
}

// TestEncryptedOnDisk: the files have nothing of an encrypted block, and equal blocks do not look alike.
func TestEncryptedOnDisk(t *testing.T) {
	l := open(t, Spec{}, Options{})
	tp := mount(t, l)
	if err := tp.(device.Encrypter).SetKey(t.Context(), device.Key{Secret: bytes.Repeat([]byte{1}, 32), Name: "kay"}); err != nil {
		t.Fatal(err)
	}
	secret := bytes.Repeat([]byte("secret"), 20)
	for range 2 {
		if err := tp.WriteBlock(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(l.dir, cartridgesName, "V00001L9.data"))
	const size = 4 + 120 + sealOverhead // the name in front
	if err != nil || len(b) != 2*size {
		t.Fatal(len(b), err)
	}
	if bytes.Contains(b, []byte("secret")) || !bytes.HasPrefix(b, []byte("\x03kay")) || bytes.Equal(b[16:size], b[16+size:]) {
		t.Error("the block shows")
	}
}

// TestManyObjects: records beyond one page and beyond the buffer, and filemarks among them, are found.
func TestManyObjects(t *testing.T) {
	l := open(t, Spec{}, Options{NoSync: true})
	tp := mount(t, l)
	const files = 25_000 // of a block and two filemarks
	for i := range files {
		if err := tp.WriteBlock(t.Context(), []byte{byte(i), byte(i >> 8)}); err != nil {
			t.Fatal(err)
		}
		if err := tp.WriteMarks(t.Context(), 2, true); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := tp.Position(t.Context()); err != nil || p.Buffered != 3*files-pendingMax || p.Object != 3*files {
		t.Fatal(p, err) // what the buffer does not hold went to tape by itself
	}
	for _, file := range []int{20_000, 1, 24_999, 0, 12_345} {
		if err := tp.Locate(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if err := tp.Space(t.Context(), 2*file); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 2)
		if n, err := tp.ReadBlock(t.Context(), buf); err != nil || n != 2 || int(buf[0])+int(buf[1])<<8 != file {
			t.Fatal(file, buf, err)
		}
	}
}

// TestDrivesInParallel: four drives, one arm, and an inventory all the time.
func TestDrivesInParallel(t *testing.T) {
	l := open(t, Spec{Drives: 4}, Options{NoSync: true})
	var wg sync.WaitGroup
	for i, d := range l.Drives() {
		wg.Go(func() {
			for round := range 5 {
				slot := addressSlot + i + 4*(round%2)
				if err := l.Changer().Move(t.Context(), slot, addressDrive+i); err != nil {
					t.Error(err)
					return
				}
				tp, err := d.Load(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				for n := range 50 {
					if err := tp.WriteBlock(t.Context(), numbered(n)); err != nil {
						t.Error(err)
					}
					if _, err := d.Status(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if err := d.Unload(t.Context()); err != nil {
					t.Error(err)
				}
				if err := l.Changer().Move(t.Context(), addressDrive+i, slot); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			all, err := l.Changer().Inventory(t.Context())
			full := 0
			for _, e := range all {
				if e.Full {
					full++
				}
			}
			if err != nil || full != 10 {
				t.Error(full, err)
			}
		}
	})
	wg.Wait()
}

// TestRepeatedPages: a block whose pages repeat one byte each takes a byte a page, also if it ends within a page; one that does not, or has a bit
// that flipped on its way, is stored as it is. All of them read back.
func TestRepeatedPages(t *testing.T) {
	l := open(t, Spec{}, Options{})
	tp := mount(t, l)
	spread := func(n, size int) (b []byte) {
		for i := range n {
			b = append(b, bytes.Repeat([]byte{byte(i * 7)}, repeatPage)...)
		}
		return b[:size]
	}
	other := spread(3, 3*repeatPage)
	other[2*repeatPage+5]++
	cases := []struct {
		block  []byte
		stored int64
	}{
		{spread(64, 64*repeatPage), 64},
		{spread(2, repeatPage+1), 2},
		{other, 3 * repeatPage},
		{bytes.Repeat([]byte{3}, 80), 80}, // short ones stay, so that labels can be read in the file
	}
	for _, c := range cases {
		if err := tp.WriteBlock(t.Context(), c.block); err != nil {
			t.Fatal(err)
		}
	}
	if err := tp.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for _, c := range cases {
		want += c.stored
	}
	if info, err := os.Stat(filepath.Join(l.dir, cartridgesName, "V00001L9.data")); err != nil || info.Size() != want {
		t.Errorf("%d bytes are stored, want %d, %v", info.Size(), want, err)
	}
	if err := tp.Locate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		buf := bytes.Repeat([]byte{9}, 64*repeatPage)
		if n, err := tp.ReadBlock(t.Context(), buf); err != nil || !bytes.Equal(buf[:n], c.block) {
			t.Errorf("block %d: %d bytes, %v", i, n, err)
		}
	}
}
