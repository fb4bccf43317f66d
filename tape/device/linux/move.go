package linux

import (
	"context"
	"errors"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

// Locate implements device.Positioner.
func (t *Tape) Locate(ctx context.Context, object uint64) error {
	return t.move(ctx, scsi.Locate(object), false)
}

// Space implements device.Positioner. The beginning of the tape is errs.Invalid: there are fewer filemarks than n.
func (t *Tape) Space(ctx context.Context, n int) error {
	// SPACE counts in 24 bits with a sign.
	if n == 0 {
		return nil
	}
	if n > scsi.SpaceMax || n < -scsi.SpaceMax {
		return errs.New(errs.TooLarge, "linux.Space", t.drive.dev.path, "more filemarks than a tape holds")
	}
	err := t.move(ctx, scsi.SpaceMarks(n), false)
	if n < 0 && errors.Is(err, device.ErrEndOfTape) {
		return errs.New(errs.Invalid, "linux.Space", t.drive.dev.path, "the beginning of the tape was reached")
	}
	return err
}

// SpaceToEnd implements device.Positioner.
func (t *Tape) SpaceToEnd(ctx context.Context) error { return t.move(ctx, scsi.SpaceEnd(), true) }

// move settles st, moves, and learns where the tape stands, also after an error. With toEnd the command
// goes to the end of data.
func (t *Tape) move(ctx context.Context, c scsi.Command, toEnd bool) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	// Only after this st does not remember another place.
	if err := t.settle(); err != nil {
		return err
	}
	_, moved := t.do(ctx, c)
	t.warned = false
	if t.ended != nil {
		return t.ended
	}
	// Also a move that failed has moved: to the end of data, or to the last filemark.
	p, err := t.position(ctx)
	if err != nil {
		return errors.Join(moved, err)
	}
	// The place is known again, so writing is safe.
	t.next, t.failedWrite = p.Object, nil
	t.atEnd = errors.Is(moved, device.ErrEndOfData) || moved == nil && toEnd
	return moved
}

// Position implements device.Positioner. It asks the drive for both forms: the long one counts in 64 bits, the short one has
// what is buffered.
func (t *Tape) Position(ctx context.Context) (device.Position, error) {
	if err := t.acquire(ctx); err != nil {
		return device.Position{}, err
	}
	defer t.release()
	long, err := t.position(ctx)
	if err != nil {
		return device.Position{}, err
	}
	// Of the short form only the buffer counts: its object has 32 bits.
	answer, err := t.do(ctx, scsi.ReadPositionShort())
	if err != nil {
		return device.Position{}, err
	}
	brief, err := scsi.DecodePositionShort(answer)
	// Behind the early warning drives set the end of partition; the other bit is of the programmable warning.
	early := t.warned || long.EndOfTape || long.EarlyWarning || brief.EndOfTape
	return device.Position{Object: long.Object, Buffered: brief.Buffered, EarlyWarning: early}, err
}

// position reads the long form. It fails when the drive does not know where it stands.
func (t *Tape) position(ctx context.Context) (scsi.Position, error) {
	answer, err := t.do(ctx, scsi.ReadPositionLong())
	if err != nil {
		return scsi.Position{}, err
	}
	p, err := scsi.DecodePositionLong(answer)
	if err == nil && !p.Known {
		err = &errs.Error{Kind: errs.IO, Op: "linux.Position", Subject: t.drive.dev.path, Text: "the drive has lost its place", Cause: device.ErrHardware}
	}
	return p, err
}
