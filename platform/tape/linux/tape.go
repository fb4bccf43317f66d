package linux

import (
	"context"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"hemera/errs"
	"hemera/platform/tape"
	"hemera/platform/tape/scsi"
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

	protectRead, protectWrite bool
	room                      []byte // for a block with its checksum
	algorithm                 byte   // of encryption, valid while keyed
	keyed                     bool
	count                     tape.Counters // of this process
	errorsRead, errorsWritten uint64        // what the drive had counted at Load
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

func (t *Tape) release() { t.drive.dev.release() }

// do is a command to a loaded tape. If it shows that the position is lost, the tape ends.
func (t *Tape) do(ctx context.Context, c scsi.Command) ([]byte, error) {
	answer, err := t.drive.dev.retry(ctx, c, true)
	if s, ok := senseOf(err); ok && lost(s) {
		t.end(err)
	}
	return answer, err
}

// prepare makes a new tape usable: blocks of any length, protection off, at its beginning.
func (t *Tape) prepare(ctx context.Context) error {
	d := t.drive.dev
	if err := d.open(); err != nil {
		return err
	}
	if err := t.variable(); err != nil {
		return err
	}
	if t.drive.identity.Protectable {
		if err := t.protect(ctx, false, false); err != nil && errs.KindOf(err) != errs.Unsupported {
			return err
		}
	}
	if err := t.operate(opRewind, 0); err != nil {
		return err
	}
	// Drives count since they were made or since a reset; what they say now is where a session begins.
	t.errorsRead, t.errorsWritten = t.corrected(ctx, scsi.LogReadErrors), t.corrected(ctx, scsi.LogWriteErrors)
	return nil
}

// variable checks that st writes blocks of any length, and sets it.
func (t *Tape) variable() error {
	size, err := t.blockSize()
	if err != nil || size == 0 {
		return err
	}
	if err := t.operate(opSetBlock, 0); err != nil {
		return err
	}
	if size, err = t.blockSize(); err == nil && size != 0 {
		err = errs.New(errs.Unsupported, "linux.Load", t.drive.dev.path, "the drive stays in fixed block mode").
			WithRemedy("Set it by hand: mt -f " + t.drive.dev.path + " setblk 0; and in stinit.def: blocksize=0.")
	}
	return err
}

func (t *Tape) blockSize() (int, error) {
	var s driverStatus
	err := t.drive.dev.sys.Ioctl(t.drive.dev.fd, requestStatus, unsafe.Pointer(&s))
	return s.blockSize(), t.failed(err, "MTIOCGET")
}

// operate is one MTIOCTOP.
func (t *Tape) operate(op int16, count int32) error {
	o := operation{Op: op, Count: count}
	err := t.drive.dev.sys.Ioctl(t.drive.dev.fd, requestOperation, unsafe.Pointer(&o))
	return t.failed(err, "MTIOCTOP")
}

// settle makes st forget what it knows of the position: it writes its buffer, drops the filemark that it would write at a
// close, and the end of data that it has seen. It does not move the tape.
func (t *Tape) settle() error { return t.operate(opSpaceBlocks, 0) }

// flush writes everything that is buffered.
func (t *Tape) flush() error {
	err := t.operate(opMarks, 0)
	if err == nil {
		t.dirty = false
	}
	return err
}

// failed maps numbers of st to errors of package tape.
func (t *Tape) failed(err error, what string) error {
	if err == nil {
		return nil
	}
	number, ok := errors.AsType[unix.Errno](err)
	if !ok {
		return err
	}
	kind, cause := errs.IO, tape.ErrMedium
	switch number {
	case unix.ENOSPC:
		kind, cause = errs.NoSpace, tape.ErrEndOfTape
	case unix.EACCES, unix.EROFS:
		kind, cause = errs.ReadOnly, tape.ErrWriteProtected
	case unix.ENOMEDIUM:
		kind, cause = errs.NotFound, tape.ErrNoMedium
	case unix.EBUSY, unix.EAGAIN:
		kind, cause = errs.Unavailable, tape.ErrNotReady
	case unix.ENXIO, unix.ENODEV, unix.EBADF, unix.ETIMEDOUT:
		kind, cause = errs.Unavailable, tape.ErrHardware
	case unix.EINVAL:
		kind, cause = errs.Invalid, err // more than the driver or the adapter takes at once
	case unix.ENOMEM, unix.EOVERFLOW, unix.EPERM:
		kind, cause = errs.KindOf(err), err
	}
	return &errs.Error{Kind: kind, Op: "linux.Tape", Subject: t.drive.dev.path, Text: what + " (" + number.Error() + ")", Cause: cause}
}
