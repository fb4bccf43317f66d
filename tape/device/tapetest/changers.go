package tapetest

import (
	"testing"

	"hemera/tape/device"
)

// element returns one of the inventory.
func element(t *testing.T, c device.Changer, address int) device.Element {
	t.Helper()
	all, err := c.Inventory(ctx(t))
	must(t, err)
	for _, e := range all {
		if e.Address == address {
			return e
		}
	}
	t.Fatalf("the inventory has no element %d", address)
	return device.Element{}
}

// testInventory: a cartridge is in one place, with its barcode.
func testInventory(t *testing.T, l Library) {
	if l.Changer == nil {
		t.Skip("there is no changer")
	}
	all, err := l.Changer.Inventory(ctx(t))
	must(t, err)
	// Addresses are unique, and empty elements have no barcode.
	seen := map[int]bool{}
	for _, e := range all {
		if seen[e.Address] || e.Barcode != "" && !e.Full || e.Kind < device.ElementArm || e.Kind > device.ElementDrive {
			t.Errorf("%+v", e)
		}
		seen[e.Address] = true
	}
	// The fixture is as it was promised.
	slot, drive := element(t, l.Changer, l.Slot), element(t, l.Changer, l.DriveAddress)
	if !slot.Full || slot.Barcode == "" || slot.Kind != device.ElementSlot || drive.Full || drive.Kind != device.ElementDrive {
		t.Errorf("%+v, %+v", slot, drive)
	}
	l.insert(t)
	// The source is the slot, or unknown to this changer.
	emptied, filled := element(t, l.Changer, l.Slot), element(t, l.Changer, l.DriveAddress)
	if emptied.Full || filled.Barcode != slot.Barcode || !filled.Full || filled.Source != l.Slot && filled.Source != 0 {
		t.Errorf("after the move: %+v, %+v", emptied, filled)
	}
}

// testMoves: what the arm can carry, and what it refuses.
func testMoves(t *testing.T, l Library) {
	if l.Changer == nil {
		t.Skip("there is no changer")
	}
	c := l.Changer
	wants(t, "from an empty drive", c.Move(ctx(t), l.DriveAddress, l.Slot), device.ErrEmpty)
	all, err := c.Inventory(ctx(t))
	must(t, err)
	// The library may have neither.
	free, other := 0, 0 // slots without and with a cartridge
	for _, e := range all {
		if e.Kind == device.ElementSlot && e.Address != l.Slot {
			if e.Full {
				other = e.Address
			} else {
				free = e.Address
			}
		}
	}
	if other != 0 {
		wants(t, "into a full slot", c.Move(ctx(t), l.Slot, other), device.ErrFull)
	}
	// There and back, without a drive.
	if free != 0 {
		must(t, c.Move(ctx(t), l.Slot, free))
		must(t, c.Move(ctx(t), free, l.Slot))
	}
	tp := l.mount(t)
	write(t, tp, block(1, 80))
	wants(t, "out of a drive that holds the cartridge", c.Move(ctx(t), l.DriveAddress, l.Slot), device.ErrNotReady)
	// The refusal has not disturbed the tape.
	at(t, tp, 1)
	must(t, l.Drive.Unload(ctx(t)))
	must(t, c.Move(ctx(t), l.DriveAddress, l.Slot))
	tp = l.mount(t)
	holds(t, tp, block(1, 80))
}
