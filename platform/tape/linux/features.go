package linux

import (
	"context"
	"fmt"

	"hemera/errs"
	"hemera/platform/tape"
	"hemera/platform/tape/scsi"
)

// Protectable implements tape.Protector: the PROTECT bit of INQUIRY.
func (t *Tape) Protectable() bool { return t.drive.identity.Protectable }

// Protect implements tape.Protector.
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

// SetKey implements tape.Encrypter. It fails with errs.Unsupported when the drive cannot encrypt.
func (t *Tape) SetKey(ctx context.Context, key []byte) error {
	if len(key) != scsi.KeySize {
		return errs.New(errs.Invalid, "linux.SetKey", t.drive.dev.path, fmt.Sprintf("a key has %d bytes, not %d", scsi.KeySize, len(key)))
	}
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	// Drives number their algorithms as they like.
	answer, err := t.do(ctx, scsi.EncryptionCapabilities())
	if refused(err) {
		return errs.As(err, errs.Unsupported, "linux.SetKey", t.drive.dev.path)
	}
	if err != nil {
		return err
	}
	if t.algorithm, err = scsi.DecodeCapabilities(answer); err != nil {
		return err
	}
	if _, err = t.do(ctx, scsi.SetKey(t.algorithm, key)); err != nil {
		return err
	}
	// From here on Unload or ClearKey must remove it.
	t.keyed = true
	// A drive that took the key and does not use it would write plain blocks.
	if answer, err = t.do(ctx, scsi.EncryptionStatus()); err != nil {
		return err
	}
	encrypts, decrypts, err := scsi.DecodeStatus(answer)
	if err == nil && (!encrypts || !decrypts) {
		err = errs.New(errs.IO, "linux.SetKey", t.drive.dev.path, "the drive took the key and does not encrypt").
			WithRemedy("Set the library to application managed encryption.")
	}
	return err
}

// ClearKey implements tape.Encrypter. Without a key it does nothing.
func (t *Tape) ClearKey(ctx context.Context) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	if !t.keyed {
		return nil
	}
	_, err := t.do(ctx, scsi.ClearKey(t.algorithm))
	t.keyed = err != nil
	return err
}

// OrderMax implements tape.Orderer.
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

// Order implements tape.Orderer.
func (t *Tape) Order(ctx context.Context, segments []tape.Segment) ([]int, error) {
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
