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
	want := scsi.Protection{Read: read, Write: write}
	if read || write {
		want.Method, want.Length = scsi.MethodCRC32C, scsi.CRC32CLength
	}
	if is != want {
		if _, err := t.do(ctx, mode.SelectProtection(want)); err != nil {
			return err
		}
	}
	t.protectRead, t.protectWrite = read, write
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
	if len(segments) > scsi.SegmentsMax {
		return nil, errs.New(errs.TooLarge, "linux.Order", t.drive.dev.path, fmt.Sprintf("%d segments, the most is %d", len(segments), scsi.SegmentsMax))
	}
	if err := t.acquire(ctx); err != nil {
		return nil, err
	}
	defer t.release()
	if _, err := t.do(ctx, scsi.GenerateOrder(segments)); err != nil {
		return nil, err
	}
	answer, err := t.do(ctx, scsi.ReceiveOrder(len(segments)))
	if err != nil {
		return nil, err
	}
	return scsi.DecodeOrder(answer, len(segments))
}

// Alerts implements tape.Monitor.
func (t *Tape) Alerts(ctx context.Context) ([]int, error) {
	if err := t.acquire(ctx); err != nil {
		return nil, err
	}
	defer t.release()
	log, err := t.log(ctx, scsi.LogAlerts)
	return log.Alerts(), err
}

// Counters implements tape.Monitor. Bytes and blocks are those that went through this process, errors those that the drive
// counted. No page of the standards counts stops in a stream or time by state, so BackHitches and the durations stay 0.
func (t *Tape) Counters(ctx context.Context) (tape.Counters, error) {
	if err := t.acquire(ctx); err != nil {
		return tape.Counters{}, err
	}
	defer t.release()
	c := t.count
	c.ErrorsRead = since(t.corrected(ctx, scsi.LogReadErrors), t.errorsRead)
	c.ErrorsWritten = since(t.corrected(ctx, scsi.LogWriteErrors), t.errorsWritten)
	return c, nil
}

// since is a count from its begin. A drive that was reset counts from 0 again.
func since(now, begin uint64) int64 {
	if now < begin {
		return int64(now)
	}
	return int64(now - begin)
}

// Volume is what the drive says of the cartridge: mounts, bytes of its life, errors.
func (t *Tape) Volume(ctx context.Context) (scsi.Volume, error) {
	if err := t.acquire(ctx); err != nil {
		return scsi.Volume{}, err
	}
	defer t.release()
	log, err := t.log(ctx, scsi.LogVolume)
	return log.Volume(), err
}

// log asks for a page.
func (t *Tape) log(ctx context.Context, page byte) (scsi.Log, error) {
	answer, err := t.do(ctx, scsi.LogSense(page))
	if err != nil {
		return scsi.Log{}, err
	}
	return scsi.DecodeLog(answer)
}

// corrected is the count of corrected errors, 0 when the drive does not have the page: a count is no reason to end a session.
func (t *Tape) corrected(ctx context.Context, page byte) uint64 {
	log, err := t.log(ctx, page)
	if err != nil {
		return 0
	}
	return log.Corrected()
}
