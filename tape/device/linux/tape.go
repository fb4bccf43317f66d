package linux

import (
	"context"

	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

// Tape is the cartridge that is loaded. It implements tape.Tape and the features. All fields are guarded by the token of the
// drive's device.
type Tape struct {
	drive *Drive
	ended error // why the tape cannot be used any more, nil while it can

	next   uint64 // the object that the tape stands before, as the drive should count it
	dirty  bool   // written since the last flush
	atEnd  bool   // behind the last object
	warned bool   // the early warning was reported
	// failedWrite is the error of writes until the tape was moved: after a failed write its position is not where the caller believes, and a block
	// there would cut off others.
	failedWrite error

	protection checksums
	monitor    // implements tape.Monitor
	encrypter  // implements tape.Encrypter
}

// end makes all later calls fail. The first reason stays.
func (t *Tape) end(why error) {
	if t.ended == nil {
		t.ended = why
	}
}

// acquire waits for the device and checks that the tape is still the one that was loaded.
func (t *Tape) acquire(ctx context.Context) error {
	if err := t.drive.dev.acquire(ctx); err != nil {
		return err
	}
	if t.ended != nil {
		t.drive.dev.release()
		return t.ended
	}
	return nil
}

// release lets the next caller have the drive.
func (t *Tape) release() { t.drive.dev.release() }

// do sends a command to a loaded tape. If it shows that the position is lost, the tape ends.
func (t *Tape) do(ctx context.Context, c scsi.Command) ([]byte, error) {
	answer, err := t.drive.dev.retry(ctx, c, true)
	if s, ok := senseOf(err); ok && lost(s) {
		t.end(err)
	}
	return answer, err
}

// prepare makes a new tape usable: blocks of any length, protection off, no key, at its beginning.
func (t *Tape) prepare(ctx context.Context) error {
	d := t.drive.dev
	if err := d.open(); err != nil {
		return err
	}
	if err := d.variable(); err != nil {
		return err
	}
	// A session of another program may have left protection on; blocks would be four bytes too long.
	if t.drive.identity.Protectable {
		if err := t.protect(ctx, false, false); err != nil && errs.KindOf(err) != errs.Unsupported {
			return err
		}
	}
	if err := t.forgetKey(ctx); err != nil {
		return err
	}
	if err := t.drive.dev.operate(opRewind, 0); err != nil {
		return err
	}
	t.begin(ctx)
	return nil
}

// settle makes st forget what it knows of the position: it writes its buffer, drops the filemark that it would write at a
// close, and the end of data that it has seen. It does not move the tape. A drive that cannot do that is not to be written
// to: the tape ends.
func (t *Tape) settle() error {
	err := t.drive.dev.operate(opSpaceBlocks, 0)
	if err != nil {
		t.end(err)
	}
	return err
}

// flush writes everything that is buffered.
func (t *Tape) flush() error {
	err := t.drive.dev.operate(opMarks, 0)
	if err != nil {
		t.failedWrite = err
		return err
	}
	t.dirty = false
	return nil
}

// writable fails if the tape has to be moved before it can be written to.
func (t *Tape) writable() error {
	if t.failedWrite == nil {
		return nil
	}
	return &errs.Error{Kind: errs.IO, Op: "linux.Write", Subject: t.drive.dev.path, Text: "an earlier write failed; locate before writing again", Cause: t.failedWrite}
}
