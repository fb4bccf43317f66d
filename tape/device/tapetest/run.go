package tapetest

import (
	"context"
	"testing"

	"hemera/tape/device"
)

// Library is the equipment of a test: one drive and one blank cartridge.
type Library struct {
	Drive device.Drive
	// Changer is nil when the cartridge is in the drive already.
	Changer device.Changer
	// DriveAddress and Slot are elements of the changer. The
	// cartridge is in the slot, and the drive is empty.
	DriveAddress, Slot int
	// Protect sets the write protection of the cartridge, before it
	// is loaded. It is nil where that cannot be done by a program.
	Protect func(t *testing.T)
	// Small says that the cartridge has room for at most 64 MiB, so
	// that a test can write to its end.
	Small bool
}

// Run runs all tests. open is called for each of them and returns
// a library of its own; what it needs at the end it registers
// with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Library) {
	// From a blank tape to what only libraries have: the first
	// failure says most.
	for _, test := range []struct {
		name string
		run  func(t *testing.T, l Library)
	}{
		{"Blank", testBlank},
		{"Objects", testObjects},
		{"Sizes", testSizes},
		{"TooBig", testTooBig},
		{"Space", testSpace},
		{"SpaceTooFar", testSpaceTooFar},
		{"Locate", testLocate},
		{"Truncation", testTruncation},
		{"Append", testAppend},
		{"Flush", testFlush},
		{"Buffered", testBuffered},
		{"Random", testRandom},
		{"Load", testLoad},
		{"OldTape", testOldTape},
		{"Cancelled", testCancelled},
		{"EmptyDrive", testEmptyDrive},
		{"WriteProtected", testWriteProtected},
		{"EarlyWarning", testEarlyWarning},
		{"BlockProtection", testBlockProtection},
		{"Encryption", testEncryption},
		{"Order", testOrder},
		{"Monitor", testMonitor},
		{"Inventory", testInventory},
		{"Moves", testMoves},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// insert moves the cartridge into the drive.
func (l Library) insert(t *testing.T) {
	t.Helper()
	// Without a changer the cartridge is where it should be.
	if l.Changer != nil {
		must(t, l.Changer.Move(t.Context(), l.Slot, l.DriveAddress))
	}
}

// mount has the cartridge loaded.
func (l Library) mount(t *testing.T) device.Tape {
	t.Helper()
	l.insert(t)
	return l.load(t)
}

// load loads the cartridge that is in the drive.
func (l Library) load(t *testing.T) device.Tape {
	t.Helper()
	tp, err := l.Drive.Load(t.Context())
	must(t, err)
	return tp
}

// must ends the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// object is one object of a tape that a test expects; nil bytes
// are a filemark.
type object []byte

// block returns n bytes that differ from those of other seeds.
func block(seed, n int) object {
	b := make(object, n)
	// A generator as small as it gets (xorshift): bytes that do not
	// compress, and that no other object has.
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return b
}

// write writes objects where the tape stands. Marks stay in the
// buffer.
func write(t *testing.T, tp device.Tape, objects ...object) {
	t.Helper()
	for _, o := range objects {
		// Immediate: a filemark within a file never makes a drive stop.
		if o == nil {
			must(t, tp.WriteMarks(t.Context(), 1, true))
		} else {
			must(t, tp.WriteBlock(t.Context(), o))
		}
	}
}

// ctx returns the context of a test.
func ctx(t *testing.T) context.Context { return t.Context() }
