package linux

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hemera/platform/pause"
	"hemera/platform/turn"
	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

// Timeouts of commands, by weight. A library's robot and an unload with its long rewind take minutes; 15 minutes is what
// drives ask for LOCATE.
const (
	quickTimeout = time.Minute
	slowTimeout  = 15 * time.Minute
)

const (
	attentionsMax = 10          // retried unit attentions of one command; each is told once
	notReadyMax   = 60          // retried answers "becoming ready" of one command
	pollEvery     = time.Second // between them
)

// descriptor is one open file that takes SCSI commands. Its turn allows one command at a time.
type descriptor struct {
	sys   syscalls  // the kernel, or a fake one
	path  string    // for messages, and to open it again
	flags int       // of open
	turn  turn.Turn // of one command
	// pause waits; tests do not.
	pause func(ctx context.Context, d time.Duration) error
	fd    int // -1 while closed; guarded by the turn
}

// newDescriptor returns a device that is closed; its first command opens it.
func newDescriptor(sys syscalls, path string, flags int) *descriptor {
	return &descriptor{sys: sys, path: path, flags: flags, turn: turn.New(), pause: pause.For, fd: -1}
}

// acquire waits for the device. It fails if the context has ended, even if the device is free.
func (d *descriptor) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.turn.Acquire(ctx)
}

// release lets the next caller have the device.
func (d *descriptor) release() { d.turn.Release() }

// open opens the device unless it is open.
func (d *descriptor) open() error {
	if d.fd >= 0 {
		return nil
	}
	// A drive that another process has, or that went away, fails here and not at the first command.
	fd, err := d.sys.Open(d.path, d.flags)
	if err != nil {
		return openError(err, d.path)
	}
	d.fd = fd
	return nil
}

// close closes the descriptor. A tape must be settled before.
func (d *descriptor) close() error {
	if d.fd < 0 {
		return nil
	}
	err := d.sys.Close(d.fd)
	d.fd = -1
	return errs.Wrap(err, "linux.Close", d.path)
}

// openError says what to do about the usual reasons.
func openError(err error, path string) error {
	kind, remedy := errs.KindOf(err), ""
	switch err {
	case unix.EACCES, unix.EPERM: // udev gives tape devices to the group tape
		remedy = "Add the server's user to the group of the device, usually tape: usermod -aG tape USER."
	case unix.EBUSY: // st admits one process
		kind, remedy = errs.Unavailable, "Another process has the drive open; fuser -v "+path+" shows it."
	case unix.ENXIO, unix.ENODEV: // the kernel has removed it
		kind, remedy = errs.Unavailable, "The drive is not connected any more; check its cable and lsscsi -g."
	case unix.ENOENT: // never found, or its module is not there
		remedy = "Check that the modules st and sg are loaded, and lsscsi -g for the name."
	}
	return &errs.Error{Kind: kind, Op: "linux.Open", Subject: path, Cause: err, Remedy: remedy}
}

// failure is a command that the device did not do.
type failure struct {
	command string     // as the standard calls it
	sense   scsi.Sense // what the device said
	cause   error      // of package tape; nil for a block that was shorter than asked for
}

func (f *failure) Error() string {
	if f.cause == nil {
		return f.command + ": " + f.sense.String()
	}
	return f.command + ": " + f.cause.Error()
}

// Unwrap makes errors.Is find the error of package tape.
func (f *failure) Unwrap() error { return f.cause }

// senseOf returns the sense that a command failed with.
func senseOf(err error) (scsi.Sense, bool) {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return scsi.Sense{}, false
	}
	return f.sense, true
}

// refused reports whether the device does not know the command or its fields: a feature that it does not have.
func refused(err error) bool {
	s, ok := senseOf(err)
	return ok && s.Key == scsi.IllegalRequest && (s.ASC == 0x20 || s.ASC == 0x24 || s.ASC == 0x26)
}

// retry does a command, and again while its sense allows it, with bounds. With a tape loaded, attentions that
// mean a lost position end it.
func (d *descriptor) retry(ctx context.Context, c scsi.Command, loaded bool) ([]byte, error) {
	for attentions, waits := 0, 0; ; {
		answer, err := d.once(c)
		s, ok := senseOf(err)
		if !ok || !s.Retry() || loaded && lost(s) {
			return answer, err
		}
		// The device told its news and did nothing of the command.
		if s.Key == scsi.UnitAttention {
			if attentions++; attentions > attentionsMax {
				return nil, err
			}
			continue
		}
		// It becomes ready; the context bounds the wait too.
		if waits++; waits > notReadyMax || d.pause(ctx, pollEvery) != nil {
			return nil, err
		}
	}
}

// lost reports whether the device was reset or its cartridge changed.
func lost(s scsi.Sense) bool {
	return s.Key == scsi.UnitAttention && (s.ASC == 0x28 || s.ASC == 0x29)
}

// The values of sg_io_hdr that matter.
const (
	directionNone = -1
	directionTo   = -2
	directionFrom = -3
	senseBytes    = 252

	statusGood  = 0x00
	statusCheck = 0x02
	statusBusy  = 0x08
)

// once does a command by SG_IO. The answer is as long as what came.
func (d *descriptor) once(c scsi.Command) ([]byte, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	var sense [senseBytes]byte
	h := header{Interface: 'S', Direction: directionNone, CommandSize: uint8(len(c.CDB)), SenseMax: senseBytes,
		Command: unsafe.Pointer(&c.CDB[0]), Sense: unsafe.Pointer(&sense[0]), Timeout: uint32(quickTimeout.Milliseconds())}
	if c.Weight == scsi.Slow {
		h.Timeout = uint32(slowTimeout.Milliseconds())
	}
	// The addresses in h stay valid: the heap of Go does not move, and h itself escapes to it.
	data := c.Out
	if c.Direction == scsi.FromDevice {
		data = make([]byte, c.In)
	}
	if len(data) > 0 {
		h.Size, h.Data, h.Direction = uint32(len(data)), unsafe.Pointer(&data[0]), directionFrom
		if c.Direction == scsi.ToDevice {
			h.Direction = directionTo
		}
	}
	err := d.ioctl(requestSCSI, unsafe.Pointer(&h))
	runtime.KeepAlive(data) // the kernel had their addresses in h
	runtime.KeepAlive(c.CDB)
	if err != nil {
		return nil, rawError(err, d.path, c.Name)
	}
	// The adapter tells how much did not come. Drivers were seen with nonsense there, so it is bounded.
	if c.Direction == scsi.FromDevice {
		data = data[:max(0, min(len(data), len(data)-int(h.Rest)))]
	}
	return data, d.judge(c, &h, sense[:h.SenseSize])
}

// judge makes an error of what the adapter and the device said.
func (d *descriptor) judge(c scsi.Command, h *header, sense []byte) error {
	switch {
	case h.Status == statusCheck && len(sense) > 0:
		s, err := scsi.DecodeSense(sense)
		if err != nil {
			return err
		}
		// Sense with nothing to complain of, as an error that the drive has corrected, is success.
		if cause := s.Err(); cause != nil || s.WrongSize {
			return &failure{c.Name, s, cause}
		}
		return nil
	// Only while another command of another host runs; this one did not begin.
	case h.Status == statusBusy:
		busy := scsi.Sense{Key: scsi.NotReady, ASC: 0x04, ASCQ: 0x07} // what a busy device means, in the words of sense
		return &failure{c.Name, busy, busy.Err()}
	// No answer: a timeout, a reset, a cable. What the device did of the command is not known.
	case h.Status != statusGood || h.HostStatus != 0:
		return &errs.Error{Kind: errs.IO, Op: "linux.Command", Subject: d.path, Cause: device.ErrHardware,
			Text:   fmt.Sprintf("%s: device status %02Xh, adapter status %d", c.Name, h.Status, h.HostStatus),
			Remedy: "See the kernel's messages for the adapter and the cable: dmesg | grep -i scsi."}
	}
	return nil
}

// rawError returns the error of a failed SG_IO.
func rawError(err error, path, command string) error {
	e := &errs.Error{Kind: errs.KindOf(err), Op: "linux.Command", Subject: path, Text: command, Cause: err}
	switch err {
	case unix.EPERM:
		e.Remedy = "SCSI commands need CAP_SYS_RAWIO: AmbientCapabilities=CAP_SYS_RAWIO in the unit of systemd."
	case unix.ENODEV, unix.ENXIO:
		e.Kind, e.Cause = errs.Unavailable, errors.Join(device.ErrHardware, err)
	}
	return e
}

// identify asks who the device is.
func (d *descriptor) identify(ctx context.Context) (scsi.Device, error) {
	// INQUIRY is answered in every state, also without a cartridge.
	answer, err := d.retry(ctx, scsi.Inquiry(), false)
	if err != nil {
		return scsi.Device{}, err
	}
	found, err := scsi.DecodeInquiry(answer)
	if err != nil {
		return scsi.Device{}, err
	}
	found.Device = d.path
	// A device without the page has no serial number.
	answer, err = d.retry(ctx, scsi.InquirySerial(), false)
	switch {
	case refused(err):
		return found, nil
	case err != nil:
		return scsi.Device{}, err
	}
	found.Serial, err = scsi.DecodeSerial(answer)
	return found, err
}
