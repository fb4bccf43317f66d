package linux

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"hemera/tape/device"
	"hemera/words/errs"
)

// variable makes st write blocks of any length. It is set also where it is so already: st would otherwise switch to the
// default of stinit at the first write. Of a drive that refuses it matters only in which mode it is.
func (d *descriptor) variable() error {
	set := d.operate(opSetBlock, 0)
	size, err := d.blockSize()
	if err == nil && size != 0 {
		err = &errs.Error{Kind: errs.Unsupported, Op: "linux.Load", Subject: d.path, Text: "the drive stays in fixed block mode", Cause: set,
			Remedy: "Set it by hand: mt -f " + d.path + " setblk 0; and in stinit.def: blocksize=0."}
	}
	return err
}

// ioctl makes one request. The driver writes small blocks behind the caller's back, and the next request of any kind
// fails with ENOSPC when such a block met the early warning. The request was not begun then, so it is repeated once.
func (d *descriptor) ioctl(request uint, arg unsafe.Pointer) error {
	err := d.sys.Ioctl(d.fd, request, arg)
	if err == unix.ENOSPC {
		err = d.sys.Ioctl(d.fd, request, arg)
	}
	return err
}

// blockSize returns the length of blocks that st uses, 0 for any.
func (d *descriptor) blockSize() (int, error) {
	var s driverStatus
	err := d.ioctl(requestStatus, unsafe.Pointer(&s))
	return s.blockSize(), d.failed(err, "MTIOCGET")
}

// operate makes one MTIOCTOP. It blocks until the drive is done, but with opMarksImmediate.
func (d *descriptor) operate(op int16, count int32) error {
	o := operation{Op: op, Count: count}
	err := d.ioctl(requestOperation, unsafe.Pointer(&o))
	return d.failed(err, "MTIOCTOP")
}

// failed maps numbers of st to errors of package tape. EIO is all that the driver says of most failures of a drive; where it
// matters which, the caller repeats the command by SG_IO.
func (d *descriptor) failed(err error, what string) error {
	if err == nil {
		return nil
	}
	number, ok := errors.AsType[unix.Errno](err)
	if !ok {
		return err
	}
	kind, cause := errs.IO, device.ErrMedium
	switch number {
	// Early warning, or the end.
	case unix.ENOSPC:
		kind, cause = errs.NoSpace, device.ErrEndOfTape
	// st has seen the tab of the cartridge when it was opened.
	case unix.EACCES, unix.EROFS:
		kind, cause = errs.ReadOnly, device.ErrWriteProtected
	case unix.ENOMEDIUM:
		kind, cause = errs.NotFound, device.ErrNoMedium
	// Another command has the driver.
	case unix.EBUSY, unix.EAGAIN:
		kind, cause = errs.Unavailable, device.ErrNotReady
	// The cable, the adapter or the power of the drive.
	case unix.ENXIO, unix.ENODEV, unix.EBADF, unix.ETIMEDOUT:
		kind, cause = errs.Unavailable, device.ErrHardware
	// A block is larger than the drive, the driver or the adapter takes at once.
	case unix.EINVAL:
		kind, cause = errs.Invalid, err
	// This machine's own trouble, which says nothing of the tape.
	case unix.ENOMEM, unix.EOVERFLOW, unix.EPERM:
		kind, cause = errs.KindOf(err), err
	}
	return &errs.Error{Kind: kind, Op: "linux.Tape", Subject: d.path, Text: what + " (" + number.Error() + ")", Cause: cause}
}
