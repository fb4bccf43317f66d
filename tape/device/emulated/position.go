package emulated

import (
	"context"

	"hemera/tape/device"
	"hemera/words/errs"
)

// Locate goes to an object.
func (t *loaded) Locate(ctx context.Context, object uint64) error {
	if err := t.moving(ctx, object); err != nil {
		return err
	}
	defer t.drive.release()
	// As a real drive: it winds to the end of data and reports that it did not
	// get further.
	if end := t.cartridge.count(); object > end {
		if err := t.travel(end); err != nil {
			return err
		}
		return device.ErrEndOfData
	}
	return t.travel(object)
}

// moving begins an operation that moves the tape, with what was written
// flushed. After success the caller releases the drive.
func (t *loaded) moving(ctx context.Context, object uint64) error {
	o, err := t.begin(ctx, "locate", object)
	if err != nil {
		return err
	}
	if o.fail == "medium" {
		err = fail("emulated.Locate", t.where(object), device.ErrMedium)
	} else {
		err = t.flush()
	}
	if err != nil {
		t.drive.release()
	}
	return err
}

// travel winds the tape to an object. The caller has the token and has
// flushed.
func (t *loaded) travel(object uint64) error {
	// A reader that goes on with the next file stands there already.
	if object == t.object {
		return nil
	}
	from, err := t.cartridge.at(t.object)
	if err != nil {
		return err
	}
	to, err := t.cartridge.at(object)
	if err != nil {
		return err
	}
	m := t.cartridge.media
	if from != to { // filemarks take no length in this model
		t.drive.busy(t.stream.Travel(t.drive.time(), m.Geometry.Locate(m.Place(from), m.Place(to))))
	}
	// The warning comes again when the tape goes there again.
	if int64(t.cartridge.end().at) < m.Capacity-warningBytes(m.Capacity) || object < t.object {
		t.warned = false
	}
	t.object = object
	t.show()
	return nil
}

// Space goes over filemarks.
func (t *loaded) Space(ctx context.Context, n int) error {
	if err := t.moving(ctx, t.object); err != nil {
		return err
	}
	defer t.drive.release()
	c := t.cartridge
	// Each record knows the filemarks before it, so that none are counted here.
	before, err := c.marksBefore(t.object)
	if err != nil {
		return err
	}
	// Marks are numbered from 0 at the beginning of the tape; the next one ahead
	// has the number before.
	wanted := int64(before) + int64(n)
	switch {
	case n > 0 && wanted > int64(c.end().marks):
		if err := t.travel(c.count()); err != nil {
			return err
		}
		return device.ErrEndOfData
	case n < 0 && wanted < 0:
		if err := t.travel(0); err != nil {
			return err
		}
		return errs.New(errs.Invalid, "emulated.Space", t.where(0), "the tape begins here")
	case n > 0:
		mark, err := c.mark(uint32(wanted - 1))
		if err != nil {
			return err
		}
		return t.travel(mark + 1)
	case n < 0:
		mark, err := c.mark(uint32(wanted))
		if err != nil {
			return err
		}
		return t.travel(mark)
	}
	return nil
}

// SpaceToEnd goes behind the last object.
func (t *loaded) SpaceToEnd(ctx context.Context) error {
	if err := t.moving(ctx, t.object); err != nil {
		return err
	}
	defer t.drive.release()
	return t.travel(t.cartridge.count())
}

// Position returns where the tape stands.
func (t *loaded) Position(ctx context.Context) (device.Position, error) {
	if err := t.drive.acquire(ctx); err != nil {
		return device.Position{}, errs.Wrap(err, "emulated.Position", t.drive.identity.Device)
	}
	defer t.drive.release()
	if t.ended {
		return device.Position{}, fail("emulated.Position", t.drive.identity.Device, device.ErrNotReady)
	}
	at, err := t.cartridge.at(t.object)
	capacity := t.cartridge.media.Capacity
	return device.Position{
		Object: t.object, Buffered: uint64(len(t.cartridge.pending)), EarlyWarning: t.warned || at > capacity-warningBytes(capacity),
	}, err
}
