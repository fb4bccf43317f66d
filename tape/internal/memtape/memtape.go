// Package memtape is a tape in memory for tests of what is above the drive: blocks and filemarks in a slice, an early warning, a power cut that
// loses what was not flushed, and errors at chosen objects. It has no time and no robot; tape/device/emulated has both.
package memtape

import (
	"bytes"
	"context"

	"hemera/tape/device"
)

// Tape is a cartridge in a drive. The zero value is blank. One goroutine uses it at a time.
type Tape struct {
	objects [][]byte // nil is a filemark
	at      int
	durable int // objects that a power cut leaves
	warned  bool
	// WarnAt is the object from which on the early warning holds, 0 for never.
	WarnAt int
	// EndAt is the object that does not fit any more, 0 for never.
	EndAt int
	// Bad are objects that cannot be read.
	Bad map[uint64]bool
	// BadWrite are objects that cannot be written.
	BadWrite map[uint64]bool
	// Locates counts positionings that moved the tape.
	Locates int
	// Rewinds counts locates to the beginning.
	Rewinds int
	// Flushes counts flushes.
	Flushes int
}

// Objects returns a copy of what is on the tape; nil entries are filemarks.
func (t *Tape) Objects() [][]byte { return append([][]byte(nil), t.objects...) }

// Durable reports whether all that was written is flushed.
func (t *Tape) Durable() bool { return t.durable == len(t.objects) }

// Damage changes one byte of a block.
func (t *Tape) Damage(object, offset int) {
	t.objects[object] = bytes.Clone(t.objects[object])
	t.objects[object][offset] ^= 0xff
}

// PowerCut leaves what was flushed, and some objects of what was not: the first ones.
func (t *Tape) PowerCut(some int) {
	t.objects = t.objects[:min(len(t.objects), t.durable+some)]
	t.at, t.durable, t.warned = 0, len(t.objects), false
}

// Locate goes before an object.
func (t *Tape) Locate(_ context.Context, object uint64) error {
	// Also counted when the tape does not move.
	t.Locates++
	if object == 0 {
		t.Rewinds++
	}
	if object > uint64(len(t.objects)) {
		// As a drive does: it stops at the end of data.
		t.at = len(t.objects)
		return device.ErrEndOfData
	}
	t.at = int(object)
	return nil
}

// Space goes over filemarks.
func (t *Tape) Space(_ context.Context, n int) error {
	for ; n > 0; t.at++ {
		if t.at == len(t.objects) {
			return device.ErrEndOfData
		}
		if t.objects[t.at] == nil {
			n--
		}
	}
	for ; n < 0; t.at-- {
		if t.at == 0 {
			return device.ErrMedium
		}
		if t.objects[t.at-1] == nil {
			n++
		}
	}
	return nil
}

// SpaceToEnd goes behind the last object.
func (t *Tape) SpaceToEnd(context.Context) error {
	t.at = len(t.objects)
	return nil
}

// Position returns the position of the tape.
func (t *Tape) Position(context.Context) (device.Position, error) {
	return device.Position{Object: uint64(t.at), EarlyWarning: t.warning()}, nil
}

// warning holds from the early warning to the end.
func (t *Tape) warning() bool { return t.WarnAt > 0 && t.at >= t.WarnAt }

// ReadBlock reads one block.
func (t *Tape) ReadBlock(_ context.Context, buf []byte) (int, error) {
	if t.at == len(t.objects) {
		return 0, device.ErrEndOfData
	}
	// A drive that cannot read a block stands before it.
	if t.Bad[uint64(t.at)] {
		return 0, device.ErrMedium
	}
	b := t.objects[t.at]
	t.at++
	switch {
	case b == nil:
		return 0, device.ErrFileMark
	case len(b) > len(buf):
		return 0, device.ErrBlockTooBig
	}
	return copy(buf, b), nil
}

// WriteBlock writes one block.
func (t *Tape) WriteBlock(_ context.Context, b []byte) error {
	switch {
	case len(b) == 0 || len(b) > device.BlockMax:
		return device.ErrHardware
	case t.BadWrite[uint64(t.at)]:
		return device.ErrMedium
	case t.EndAt > 0 && t.at >= t.EndAt:
		return device.ErrEndOfTape
		// The warning refuses one block; the next call writes.
	case t.warning() && !t.warned:
		t.warned = true
		return device.ErrEndOfTape
	}
	t.write(bytes.Clone(b))
	return nil
}

// write puts an object where the tape stands.
func (t *Tape) write(object []byte) {
	// Writing removes what came after, also what was durable.
	t.durable = min(t.durable, t.at)
	t.objects = append(t.objects[:t.at], object)
	t.at++
}

// WriteMarks writes filemarks.
func (t *Tape) WriteMarks(ctx context.Context, n int, immediate bool) error {
	for range n {
		if t.BadWrite[uint64(t.at)] {
			return device.ErrMedium
		}
		t.write(nil)
	}
	// The drive answers before the marks are on tape.
	if immediate {
		return nil
	}
	return t.Flush(ctx)
}

// Flush makes everything durable.
func (t *Tape) Flush(context.Context) error {
	t.Flushes++
	t.durable = len(t.objects)
	return nil
}
