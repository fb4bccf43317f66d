package linux

import (
	"context"
	"fmt"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

// Protectable implements device.Protector: the PROTECT bit of INQUIRY.
func (t *Tape) Protectable() bool { return t.drive.identity.Protectable }

// Protect implements device.Protector.
func (t *Tape) Protect(ctx context.Context, read, write bool) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	return t.protect(ctx, read, write)
}

// protect reads the page, so that all its other fields stay, and writes it when something changes.
func (t *Tape) protect(ctx context.Context, read, write bool) error {
	answer, err := t.do(ctx, scsi.ModeSenseProtection())
	if refused(err) {
		return errs.As(err, errs.Unsupported, "linux.Protect", t.drive.dev.path)
	}
	if err != nil {
		return err
	}
	mode, err := scsi.DecodeMode(answer)
	if err != nil {
		return err
	}
	is, err := mode.Protection()
	if err != nil {
		return err
	}
	// Off is method 0, as a drive has it after power on.
	want := scsi.Protection{Read: read, Write: write}
	if read || write {
		want.Method, want.Length = scsi.MethodCRC32C, scsi.CRC32CLength
	}
	// MODE SELECT may stop a stream, so it is left out when nothing changes.
	if is != want {
		if _, err := t.do(ctx, mode.SelectProtection(want)); err != nil {
			return err
		}
	}
	t.protection.read, t.protection.write = read, write
	return nil
}

// OrderMax implements device.Orderer.
func (t *Tape) OrderMax(ctx context.Context) (int, error) {
	if err := t.acquire(ctx); err != nil {
		return 0, err
	}
	defer t.release()
	// Drives before LTO-9, and half-height ones, refuse the command.
	answer, err := t.do(ctx, scsi.OrderLimits())
	if refused(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	segments, _, err := scsi.DecodeOrderLimits(answer)
	return segments, err
}

// Order implements device.Orderer.
func (t *Tape) Order(ctx context.Context, segments []device.Segment) ([]int, error) {
	if len(segments) == 0 {
		return nil, nil
	}
	// Callers cut longer lists by OrderMax; this bounds what is allocated.
	if len(segments) > scsi.SegmentsMax {
		return nil, errs.New(errs.TooLarge, "linux.Order", t.drive.dev.path, fmt.Sprintf("%d segments, the most is %d", len(segments), scsi.SegmentsMax))
	}
	if err := t.acquire(ctx); err != nil {
		return nil, err
	}
	defer t.release()
	// The drive computes in the first command and answers in the second.
	if _, err := t.do(ctx, scsi.GenerateOrder(segments)); err != nil {
		return nil, err
	}
	answer, err := t.do(ctx, scsi.ReceiveOrder(len(segments)))
	if err != nil {
		return nil, err
	}
	return scsi.DecodeOrder(answer, len(segments))
}
