package emulated

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"hemera/tape/device"
)

// open makes a library in a new directory.
func open(t *testing.T, spec Spec, o Options) *Library {
	t.Helper()
	dir := t.TempDir()
	if err := Create(dir, spec); err != nil {
		t.Fatal(err)
	}
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// mount moves the cartridge of the first slot into the first drive and loads
// it.
func mount(t *testing.T, l *Library) device.Tape {
	t.Helper()
	if err := l.Changer().Move(t.Context(), addressSlot, addressDrive); err != nil {
		t.Fatal(err)
	}
	tp, err := l.Drives()[0].Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func TestWriteUnloadAndReadAgain(t *testing.T) {
	l, ctx := open(t, Spec{}, Options{}), context.Background()
	tp := mount(t, l)
	for _, b := range []string{"VOL1", "HDR1"} {
		if err := tp.WriteBlock(ctx, []byte(b)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tp.WriteMarks(ctx, 1, true); err != nil {
		t.Fatal(err)
	}
	if err := l.Changer().Move(ctx, addressDrive, addressSlot); !errors.Is(err, device.ErrNotReady) {
		t.Fatal(err)
	}
	if err := l.Drives()[0].Unload(ctx); err != nil {
		t.Fatal(err)
	}
	if err := l.Changer().Move(ctx, addressDrive, addressSlot); err != nil {
		t.Fatal(err)
	}
	tp = mount(t, l)
	buf := make([]byte, 80)
	if n, err := tp.ReadBlock(ctx, buf); err != nil || !bytes.Equal(buf[:n], []byte("VOL1")) {
		t.Fatal(n, err)
	}
	if err := tp.Locate(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := tp.ReadBlock(ctx, buf); err != device.ErrFileMark {
		t.Fatal(err)
	}
	if _, err := tp.ReadBlock(ctx, buf); err != device.ErrEndOfData {
		t.Fatal(err)
	}
}
