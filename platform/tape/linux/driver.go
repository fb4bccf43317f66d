package linux

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"hemera/errs"
	"hemera/platform/tape"
)

// variable checks that st writes blocks of any length, and sets it. The mode belongs to the open
// device; a drive that was set up for blocks of 512 bytes would cut every block.
func (d *device) variable() error {
	size, err := d.blockSize()
	if err != nil || size == 0 {
		return err
	}
	if err := d.operate(opSetBlock, 0); err != nil {
		return err
	}
	// Some drives take the setting and keep their own.
	if size, err = d.blockSize(); err == nil && size != 0 {
		err = errs.New(errs.Unsupported, "linux.Load", d.path, "the drive stays in fixed block mode").
			WithRemedy("Set it by hand: mt -f " + d.path + " setblk 0; and in stinit.def: blocksize=0.")
	}
	return err
}

// blockSize is the length of blocks that st uses, 0 for any.
func (d *device) blockSize() (int, error) {
	var s driverStatus
	err := d.sys.Ioctl(d.fd, requestStatus, unsafe.Pointer(&s))
	return s.blockSize(), d.failed(err, "MTIOCGET")
}

// operate is one MTIOCTOP. It blocks until the drive is done, but with opMarksImmediate.
func (d *device) operate(op int16, count int32) error {
	o := operation{Op: op, Count: count}
	err := d.sys.Ioctl(d.fd, requestOperation, unsafe.Pointer(&o))
	return d.failed(err, "MTIOCTOP")
}

// failed maps numbers of st to errors of package tape. EIO is all that the driver says of most failures of a drive; where it
// matters which, the caller repeats the command by SG_IO.
func (d *device) failed(err error, what string) error {
	if err == nil {
		return nil
	}
	number, ok := errors.AsType[unix.Errno](err)
	if !ok {
		return err
	}
	kind, cause := errs.IO, tape.ErrMedium
	switch number {
	// Early warning, or the end.
	case unix.ENOSPC:
		kind, cause = errs.NoSpace, tape.ErrEndOfTape
	// st has seen the tab of the cartridge when it was opened.
	case unix.EACCES, unix.EROFS:
		kind, cause = errs.ReadOnly, tape.ErrWriteProtected
	case unix.ENOMEDIUM:
		kind, cause = errs.NotFound, tape.ErrNoMedium
	// Another command has the driver.
	case unix.EBUSY, unix.EAGAIN:
		kind, cause = errs.Unavailable, tape.ErrNotReady
	// The cable, the adapter or the power of the drive.
	case unix.ENXIO, unix.ENODEV, unix.EBADF, unix.ETIMEDOUT:
		kind, cause = errs.Unavailable, tape.ErrHardware
	// A block is larger than the drive, the driver or the adapter takes at once.
	case unix.EINVAL:
		kind, cause = errs.Invalid, err
	// This machine's own trouble, which says nothing of the tape.
	case unix.ENOMEM, unix.EOVERFLOW, unix.EPERM:
		kind, cause = errs.KindOf(err), err
	}
	return &errs.Error{Kind: kind, Op: "linux.Tape", Subject: d.path, Text: what + " (" + number.Error() + ")", Cause: cause}
}
