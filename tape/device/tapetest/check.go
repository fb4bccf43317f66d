package tapetest

import (
	"bytes"
	"errors"
	"testing"

	"hemera/tape/device"
)

// at checks where the tape stands.
func at(t *testing.T, tp device.Tape, object uint64) {
	t.Helper()
	// Position must not move the tape, so that every test may ask
	// for it.
	p, err := tp.Position(ctx(t))
	must(t, err)
	if p.Object != object {
		t.Fatalf("the tape stands at object %d, want %d", p.Object, object)
	}
}

// reads checks that these objects follow.
func reads(t *testing.T, tp device.Tape, objects ...object) {
	t.Helper()
	for i, want := range objects {
		// A byte more than wanted, so that a longer block shows.
		buf := make([]byte, len(want)+1)
		n, err := tp.ReadBlock(ctx(t), buf)
		switch {
		case want == nil:
			if !errors.Is(err, device.ErrFileMark) {
				t.Fatalf("object %d of those read: %d bytes, %v; want a filemark", i, n, err)
			}
		case err != nil:
			t.Fatalf("object %d of those read: %v; want %d bytes", i, err, len(want))
		case !bytes.Equal(buf[:n], want):
			t.Fatalf("object %d of those read has %d bytes, want %d others", i, n, len(want))
		}
	}
}

// ends checks that the tape stands at the end of data, and stays
// there.
func ends(t *testing.T, tp device.Tape) {
	t.Helper()
	// Twice: a tape at its end stays there, and the position counts
	// nothing.
	for range 2 {
		if n, err := tp.ReadBlock(ctx(t), make([]byte, 80)); !errors.Is(err, device.ErrEndOfData) {
			t.Fatalf("read %d bytes, %v; want the end of data", n, err)
		}
	}
}

// holds checks the whole tape.
func holds(t *testing.T, tp device.Tape, objects ...object) {
	t.Helper()
	// From the beginning, also right after writing: what is buffered
	// counts.
	must(t, tp.Locate(ctx(t), 0))
	reads(t, tp, objects...)
	ends(t, tp)
	at(t, tp, uint64(len(objects)))
}

// wants checks the error of a call.
func wants(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: %v, want %v", what, err, want)
	}
}
