package emulated

import (
	"context"
	"strconv"
	"time"

	"hemera/tape/device"
	"hemera/words/errs"
)

// moveTime is the time of one move of the arm: an estimate for a small library, where 5 to 15 s are usual.
const moveTime = 10 * time.Second

// arm is the robot.
type arm struct {
	machine
	library *Library // all moves go through its elements
}

// Identity describes the robot.
func (a *arm) Identity() device.Identity {
	return device.Identity{Vendor: "HEMERA", Product: "EMULATED-LIBRARY", Revision: "1", Serial: "EMUCHANGER", Device: "emuchanger"}
}

// Inventory lists all elements. It does not wait for the arm.
func (a *arm) Inventory(context.Context) (elements []device.Element, err error) {
	a.library.mu.Lock()
	// A look at memory only: an inventory is fast while the arm is busy.
	holders := a.library.layout.Elements // replaced as a whole, never changed
	a.library.mu.Unlock()
	for _, h := range holders {
		e := device.Element{Address: h.Address, Kind: device.ElementKind(h.Kind), Full: h.Barcode != "", Barcode: h.Barcode, Source: h.Source}
		if d := a.library.driveAt(h.Address); d != nil {
			e.Serial = d.identity.Serial
		}
		if e.Full {
			e.Capacity = a.library.mediaOf(e.Barcode).Capacity
		}
		elements = append(elements, e)
	}
	return elements, nil
}

// Move carries a cartridge. Moves wait for each other.
func (a *arm) Move(ctx context.Context, from, to int) error {
	if err := a.acquire(ctx); err != nil {
		return errs.Wrap(err, "emulated.Move", strconv.Itoa(from))
	}
	defer a.release()
	source, target, err := a.ends(from, to)
	if err != nil {
		return err
	}
	// A drive is held while the arm works at it, so that it does not load half a
	// cartridge.
	begin := a.time()
	for _, address := range []int{from, to} {
		d := a.library.driveAt(address)
		if d == nil || from == to && address == to {
			continue
		}
		if address == from && d.holds() {
			return fail("emulated.Move", source.Barcode, device.ErrNotReady)
		}
		if err := d.acquire(ctx); err != nil {
			return errs.Wrap(err, "emulated.Move", source.Barcode)
		}
		defer d.release()
		if address == from && d.holds() { // loaded meanwhile
			return fail("emulated.Move", source.Barcode, device.ErrNotReady)
		}
		begin = max(begin, d.now)
	}
	return a.carry(ctx, begin, source, target)
}

// ends returns the elements of a move. ErrEmpty, ErrFull, or errs.NotFound
// for addresses that do not exist.
func (a *arm) ends(from, to int) (source, target holder, err error) {
	source, ok := a.library.find(func(h holder) bool { return h.Address == from })
	if !ok {
		return source, target, errs.New(errs.NotFound, "emulated.Move", strconv.Itoa(from), "no such element")
	}
	target, ok = a.library.find(func(h holder) bool { return h.Address == to })
	switch {
	case !ok:
		return source, target, errs.New(errs.NotFound, "emulated.Move", strconv.Itoa(to), "no such element")
	case source.Barcode == "":
		return source, target, fail("emulated.Move", strconv.Itoa(from), device.ErrEmpty)
	case target.Barcode != "" || device.ElementKind(target.Kind) == device.ElementArm:
		return source, target, fail("emulated.Move", strconv.Itoa(to), device.ErrFull)
	}
	return source, target, nil
}

// carry does the move from a moment on. The caller has the tokens of the arm
// and of the drives at both ends.
func (a *arm) carry(ctx context.Context, begin time.Duration, source, target holder) error {
	// A move that fails takes its time too, and the cartridge stays where it
	// was.
	o, err := a.library.faults.strike(ctx, a.ctx, happening{op: "move", tape: source.Barcode})
	if err != nil {
		return err
	}
	a.now = begin
	a.busy(moveTime + o.extra)
	if cause := o.failure(); cause != nil {
		return fail("emulated.Move", source.Barcode, cause)
	}
	// The source of a cartridge is the slot that it came from, also when it went
	// from drive to drive.
	target.Barcode, source.Barcode = source.Barcode, ""
	switch {
	case device.ElementKind(target.Kind) == device.ElementDrive && device.ElementKind(source.Kind) == device.ElementSlot:
		target.Source = source.Address
	case device.ElementKind(target.Kind) == device.ElementDrive:
		target.Source = source.Source
	}
	source.Source = 0
	if err := a.library.replace(source, target); err != nil {
		return err
	}
	// Drives learn of the change last: the library is saved by now.
	for _, h := range []holder{source, target} {
		if d := a.library.driveAt(h.Address); d != nil {
			d.now = max(d.now, a.now)
			d.changed(h.Barcode)
		}
	}
	return nil
}

// driveAt returns the drive at an address, or nil.
func (l *Library) driveAt(address int) *drive {
	if i := address - addressDrive; i >= 0 && i < len(l.drives) {
		return l.drives[i]
	}
	return nil
}
