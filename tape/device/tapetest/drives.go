package tapetest

import (
	"errors"
	"strings"
	"testing"

	"hemera/tape/device"
	"hemera/words/errs"
)

// testLoad: status and identity through the life of a mount.
func testLoad(t *testing.T, l Library) {
	// Operators tell drives apart by their serial numbers.
	if id := l.Drive.Identity(); id.Vendor == "" || id.Product == "" || id.Serial == "" || id.Device == "" {
		t.Errorf("the identity has gaps: %+v", id)
	}
	tp := l.mount(t)
	// Asked at any time, also while the tape is in use.
	status := func() device.Status {
		s, err := l.Drive.Status(ctx(t))
		must(t, err)
		return s
	}
	if s := status(); !s.Loaded || !s.Ready || s.WriteProtected || !s.BeginOfTape {
		t.Errorf("a loaded cartridge: %+v", s)
	}
	// One block away from the beginning.
	write(t, tp, block(1, 80))
	if s := status(); !s.Ready || s.BeginOfTape {
		t.Errorf("behind a block: %+v", s)
	}
	again := l.load(t) // of a loaded cartridge rewinds
	at(t, again, 0)
	holds(t, again, block(1, 80))
	must(t, l.Drive.Unload(ctx(t)))
	// Whether the cartridge still counts as loaded differs: it is in
	// the drive.
	if s := status(); s.Ready {
		t.Errorf("after an unload: %+v", s)
	}
}

// testOldTape: the Tape of an earlier load cannot be used.
func testOldTape(t *testing.T, l Library) {
	tp := l.mount(t)
	write(t, tp, block(1, 80))
	must(t, l.Drive.Unload(ctx(t)))
	// A session that was ended elsewhere must not write on.
	if err := tp.WriteBlock(ctx(t), block(2, 80)); err == nil {
		t.Fatal("a block was written on an unloaded tape")
	}
	now := l.load(t)
	// Not even when the same cartridge is loaded again.
	if err := tp.WriteBlock(ctx(t), block(3, 80)); err == nil {
		t.Fatal("a block was written with the tape of an earlier load")
	}
	holds(t, now, block(1, 80))
}

// testEmptyDrive: there is nothing to load.
func testEmptyDrive(t *testing.T, l Library) {
	if l.Changer == nil {
		t.Skip("the cartridge is in the drive already")
	}
	if s, err := l.Drive.Status(ctx(t)); err != nil || s.Loaded || s.Ready {
		t.Fatalf("an empty drive: %+v, %v", s, err)
	}
	_, err := l.Drive.Load(ctx(t))
	wants(t, "loading an empty drive", err, device.ErrNoMedium)
}

// testWriteProtected: the cartridge can be read only.
func testWriteProtected(t *testing.T, l Library) {
	if l.Protect == nil {
		t.Skip("no program sets the switch of the cartridge")
	}
	// The switch is read when the cartridge is loaded.
	l.Protect(t)
	tp := l.mount(t)
	wants(t, "writing a block", tp.WriteBlock(ctx(t), block(1, 80)), device.ErrWriteProtected)
	wants(t, "writing a filemark", tp.WriteMarks(ctx(t), 1, false), device.ErrWriteProtected)
	if s, err := l.Drive.Status(ctx(t)); err != nil || !s.WriteProtected {
		t.Fatalf("%+v, %v", s, err)
	}
	holds(t, tp)
}

// testEarlyWarning: the block that meets the warning is not
// written, the next call writes it, and there is room for
// filemarks and labels behind.
func testEarlyWarning(t *testing.T, l Library) {
	if !l.Small {
		t.Skip("the cartridge is too large to be filled")
	}
	tp := l.mount(t)
	// Small blocks: the warning comes well before the end of a small
	// tape.
	const size = 64 << 10
	var all []object
	for {
		err := tp.WriteBlock(ctx(t), block(len(all), size))
		if errors.Is(err, device.ErrEndOfTape) {
			break
		}
		must(t, err)
		if all = append(all, block(len(all), size)); len(all) > 2000 {
			t.Fatal("a small cartridge has no end")
		}
	}
	at(t, tp, uint64(len(all)))
	if p, err := tp.Position(ctx(t)); err != nil || !p.EarlyWarning {
		t.Fatalf("%+v, %v", p, err)
	}
	// What a writer needs to end its file: a filemark, trailer
	// labels, a filemark.
	must(t, tp.WriteMarks(ctx(t), 1, true))
	last := block(9, 80)
	err := tp.WriteBlock(ctx(t), last)
	if errors.Is(err, device.ErrEndOfTape) { // some drives say it after each success
		err = tp.WriteBlock(ctx(t), last)
	}
	must(t, err)
	must(t, tp.WriteMarks(ctx(t), 1, false))
	holds(t, tp, append(all, nil, last, nil)...)
}

// testBlockProtection: the bytes of a block are the same with and
// without.
func testBlockProtection(t *testing.T, l Library) {
	tp := l.mount(t)
	p, ok := tp.(device.Protector)
	if !ok || !p.Protectable() {
		t.Skip("the drive has no logical block protection")
	}
	var all []object
	for i, mode := range []struct{ read, write bool }{{true, true}, {false, true}, {true, false}, {false, false}} {
		// Modes change in the middle of a tape: what is on tape does
		// not depend on them.
		must(t, p.Protect(ctx(t), mode.read, mode.write))
		all = append(all, block(i, 80+i), block(i+10, 262144), nil)
		write(t, tp, all[3*i:]...)
		holds(t, tp, all...)
	}
}

// testEncryption: a block is for its key alone.
func testEncryption(t *testing.T, l Library) {
	tp := l.mount(t)
	e, ok := tp.(device.Encrypter)
	if !ok {
		t.Skip("the drive does not encrypt")
	}
	right, wrong := device.Key{Secret: block(1, device.KeySize), Name: "raw-2026"}, device.Key{Secret: block(2, device.KeySize), Name: "other"}
	// AES-256 has 32 bytes, and a drive that pads keys loses data.
	wants(t, "a key of 31 bytes", e.SetKey(ctx(t), device.Key{Secret: right.Secret[:31]}), errs.Invalid)
	write(t, tp, block(3, 80))
	must(t, e.SetKey(ctx(t), right))
	write(t, tp, block(4, 80), block(5, 262144), nil)
	all := []object{block(3, 80), block(4, 80), block(5, 262144), nil}
	holds(t, tp, all...) // what is in the clear reads as well
	closed := func(what string) {
		t.Helper()
		must(t, tp.Locate(ctx(t), 1))
		_, err := tp.ReadBlock(ctx(t), make([]byte, 262144))
		wants(t, what, err, device.ErrEncrypted)
		if !strings.Contains(err.Error(), right.Name) {
			t.Errorf("%s: the error does not name the key: %v", what, err)
		}
	}
	// Encrypted blocks are closed, those before them are not.
	must(t, e.ClearKey(ctx(t)))
	closed("without a key")
	must(t, tp.Locate(ctx(t), 0))
	reads(t, tp, block(3, 80))
	must(t, e.SetKey(ctx(t), wrong))
	closed("with another key")
	must(t, e.SetKey(ctx(t), right))
	holds(t, tp, all...)
	// Nor is it left for the next user of a cartridge that stays loaded: it would write blocks that nobody can read.
	tp = l.load(t)
	closed("after another load")
	must(t, tp.SpaceToEnd(ctx(t)))
	write(t, tp, block(6, 80))
	must(t, tp.Locate(ctx(t), 4))
	reads(t, tp, block(6, 80))
	must(t, tp.(device.Encrypter).SetKey(ctx(t), right))
	// The key is gone with the cartridge.
	must(t, l.Drive.Unload(ctx(t)))
	tp = l.load(t)
	closed("after an unload")
}

// testOrder: the drive names each segment once.
func testOrder(t *testing.T, l Library) {
	tp := l.mount(t)
	o, ok := tp.(device.Orderer)
	if !ok {
		t.Skip("the drive does not order accesses")
	}
	var segments []device.Segment
	for i := range 20 {
		write(t, tp, block(i, 5000), nil)
		// In a shuffled order, with gaps for the filemarks.
		segments = append(segments, device.Segment{Begin: uint64(2 * (i * 7 % 20)), End: uint64(2*(i*7%20) + 1)})
	}
	must(t, tp.Flush(ctx(t)))
	most, err := o.OrderMax(ctx(t))
	must(t, err)
	if most == 0 {
		t.Skip("the drive or its cartridge does not order accesses")
	}
	// Drives take from a handful to thousands.
	segments = segments[:min(most, len(segments))]
	order, err := o.Order(ctx(t), segments)
	must(t, err)
	seen := map[int]bool{}
	for _, i := range order {
		if i < 0 || i >= len(segments) || seen[i] {
			t.Fatalf("%v", order)
		}
		seen[i] = true
	}
	if len(order) != len(segments) {
		t.Fatalf("%d of %d segments are in the order", len(order), len(segments))
	}
}

// testMonitor: counts are never negative, and alerts are cleared
// by asking.
func testMonitor(t *testing.T, l Library) {
	tp := l.mount(t)
	m, ok := tp.(device.Monitor)
	if !ok {
		t.Skip("the drive does not say how it is")
	}
	write(t, tp, block(1, 4096), block(2, 4096), nil)
	must(t, tp.Flush(ctx(t)))
	must(t, tp.Locate(ctx(t), 0))
	reads(t, tp, block(1, 4096))
	c, err := m.Counters(ctx(t))
	must(t, err)
	// Drives count in their own units and ways: nothing more holds
	// for all.
	if c.BytesWritten < 0 || c.BytesRead < 0 || c.BackHitches < 0 || c.Moving < 0 || c.Stopped < 0 || c.Repositioned < 0 {
		t.Fatalf("%+v", c)
	}
	if _, err := m.Alerts(ctx(t)); err != nil {
		t.Fatal(err)
	}
	// Nothing has happened since the last call.
	if flags, err := m.Alerts(ctx(t)); err != nil || len(flags) > 0 {
		t.Fatalf("alerts stay raised: %v, %v", flags, err)
	}
}
