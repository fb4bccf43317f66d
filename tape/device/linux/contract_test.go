package linux

import (
	"context"
	"testing"
	"time"

	"hemera/tape/device/tapetest"
)

// TestContract runs the suite of all implementations over the kernel in memory, with the library's second drive.
func TestContract(t *testing.T) {
	for name, behind := range map[string]bool{"direct": false, "behind": true} {
		t.Run(name, func(t *testing.T) {
			tapetest.Run(t, func(t *testing.T) tapetest.Library { return blankLibrary(t, behind) })
		})
	}
}

// blankLibrary returns a fake library with its devices open. The cartridge takes 32 MiB.
func blankLibrary(t *testing.T, behind bool) tapetest.Library {
	l := newFakeLibrary()
	k := newFakeKernel(l)
	c, err := openChanger(t.Context(), k, l.changer)
	mustDo(t, err)
	d, err := openDrive(t.Context(), k, "/dev/nst1")
	mustDo(t, err)
	d.dev.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	t.Cleanup(func() {
		mustDo(t, d.Close())
		mustDo(t, c.Close())
	})
	blank := l.slots[0]
	blank.capacity = 32 << 20
	l.drives["/dev/nst1"].writesBehind = behind
	return tapetest.Library{Drive: d, Changer: c, DriveAddress: firstDrive + 1, Slot: firstSlot, Small: true,
		Protect: func(*testing.T) { blank.protected = true }}
}
