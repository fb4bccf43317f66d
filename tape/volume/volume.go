package volume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hemera/tape/device"
	"hemera/tape/label"
	"hemera/words/errs"
)

// BlockSize is that of data blocks, in bytes. The last block of a file may be shorter.
const BlockSize = 256 << 10

// blockMax bounds the blocks that are read: other writers of the format use up to a mebibyte.
const blockMax = 4 << 20

// headerObjects is the number of tape objects before the data of a file: three labels and a filemark.
const headerObjects = 4

// FileObjects is the number of tape objects of a file besides its data blocks.
const FileObjects = 9

// Writer names, for labels, the place where a tape was written. Empty strings are written as NONE.
type Writer struct {
	Site, Host string
	System     string          // program and version, cut to 13 bytes
	Drive      device.Identity // whose vendor, product and serial number are written
	Owner      string          // of tapes that are labelled
	Now        func() time.Time
}

// Volume is a formatted tape whose VOL1 was verified. [Open] makes one. It remembers where the tape stands, so that files in the order of the
// tape are read without a locate between them.
type Volume struct {
	t     device.Tape
	w     Writer
	label label.Volume
	buf   []byte // for blocks that are read
	// at is the object that the tape stands before, where known says so.
	at    uint64
	known bool
	tail  tail // zero until an Appender has flushed
}

// Open rewinds and verifies that the tape has this VID. If its label asks for protected blocks and the drive offers that, it is switched on
// for reading and writing. It fails with Corrupt if VOL1 is not one, with Conflict if the VID is another, and with what the drive said.
func Open(ctx context.Context, t device.Tape, vid string, w Writer) (*Volume, error) {
	if err := label.CheckVID(vid); err != nil {
		return nil, err
	}
	// One buffer serves all blocks that are parsed here; data goes to the buffers of callers.
	v := &Volume{t: t, w: w, buf: make([]byte, blockMax)}
	// A label is read without checksums first: only it says whether blocks have them.
	if err := protect(ctx, t, false); err != nil {
		return nil, err
	}
	if err := v.rewind(ctx); err != nil {
		return nil, err
	}
	// The robot may have brought another cartridge than its barcode says.
	if v.label.VID != vid {
		return nil, errs.New(errs.Conflict, "volume.Open", vid, "the label says "+v.label.VID).
			WithRemedy("compare the barcode of the cartridge with its label; disable the tape until it is clear which one it is")
	}
	if v.label.Protection == label.CRC32C {
		if err := protect(ctx, t, true); err != nil {
			return nil, err
		}
		// Read again, now with the checksum of the block.
		if err := v.rewind(ctx); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// VID returns the VID of the label.
func (v *Volume) VID() string { return v.label.VID }

// Is reports whether the Volume is that of a tape as it was loaded, and has this VID. A nil Volume is of none.
func (v *Volume) Is(t device.Tape, vid string) bool {
	return v != nil && v.t == t && v.label.VID == vid
}

// Protected reports whether the tape was labelled for protected blocks.
func (v *Volume) Protected() bool { return v.label.Protection == label.CRC32C }

// rewind goes to the beginning and reads VOL1. The tape then stands behind it.
func (v *Volume) rewind(ctx context.Context) error {
	if err := v.locate(ctx, 0); err != nil {
		return err
	}
	b, err := v.block(ctx)
	if err != nil {
		return v.fail(err, "read VOL1")
	}
	v.label, err = label.ParseVolume(b)
	if err != nil {
		return errs.As(err, errs.Corrupt, "volume.Open", v.w.Drive.Device)
	}
	// No drive that is made now checks them, and CTA refuses them too.
	if v.label.Protection == label.ReedSolomon {
		return errs.New(errs.Unsupported, "volume.Open", v.label.VID, "its blocks are protected by Reed-Solomon codes").
			WithRemedy("read the tape with the program that wrote it")
	}
	return nil
}

// nearby is the number of objects that the tape reads over instead of locating. 64 MiB of data pass in 0.2 s, and the drive goes on streaming. A
// locate takes 4 s at least, and the tape stops for it.
const nearby = 300

// locate goes before an object, unless the tape stands there.
func (v *Volume) locate(ctx context.Context, object uint64) error {
	if v.known && v.at == object {
		return nil
	}
	if v.known && v.at < object && object-v.at <= nearby && v.readOver(ctx, object) {
		return nil
	}
	// A locate that fails, or is cancelled, leaves the tape somewhere.
	v.known = false
	if err := v.t.Locate(ctx, object); err != nil {
		return v.fail(err, fmt.Sprintf("go to block %d", object))
	}
	v.at, v.known = object, true
	return nil
}

// readOver reads up to an object, and reports whether the tape stands there. What is on the way is nobody's business: if it cannot be read, a
// locate goes past it.
func (v *Volume) readOver(ctx context.Context, object uint64) bool {
	for v.at < object {
		_, err := v.block(ctx)
		if err != nil && !errors.Is(err, device.ErrFileMark) && !errors.Is(err, device.ErrBlockTooBig) {
			return false
		}
	}
	return true
}

// block reads one block into the buffer of the volume, which the next call overwrites.
func (v *Volume) block(ctx context.Context) ([]byte, error) {
	n, err := v.t.ReadBlock(ctx, v.buf)
	switch {
	// The tape stands behind what was read, even if it was not what was wanted.
	case err == nil, errors.Is(err, device.ErrFileMark), errors.Is(err, device.ErrBlockTooBig):
		v.at++
	case errors.Is(err, device.ErrEndOfData):
		// A drive that failed may stand anywhere.
	default:
		v.known = false
	}
	return v.buf[:n], err
}

// mark reads a filemark.
func (v *Volume) mark(ctx context.Context) error {
	_, err := v.block(ctx)
	if errors.Is(err, device.ErrFileMark) {
		return nil
	}
	// Two headers in a row, or data where labels end: the tape was not written by this format.
	if err == nil {
		err = errs.New(errs.Corrupt, "volume.Read", v.label.VID, fmt.Sprintf("a block instead of a filemark at block %d", v.at-1))
	}
	return v.fail(err, "read a filemark")
}

// fail gives an error of the tape a kind, and says what was tried.
func (v *Volume) fail(err error, what string) error {
	return failure(err, "volume.Use", v.label.VID, what)
}

// failure turns what a drive said into an error with a kind: NoSpace, ReadOnly, Unavailable, Corrupt when something else stands on tape than
// the labels promised, IO for everything else. The cause stays in the chain.
func failure(err error, op, vid, what string) error {
	if err == nil {
		return nil
	}
	kind := errs.KindOf(err)
	switch {
	case errors.Is(err, device.ErrEndOfTape):
		kind = errs.NoSpace
	case errors.Is(err, device.ErrWriteProtected):
		kind = errs.ReadOnly
	// The drive may work again in a while; the tape is not to blame.
	case errors.Is(err, device.ErrNoMedium), errors.Is(err, device.ErrNotReady):
		kind = errs.Unavailable
	case errors.Is(err, device.ErrEndOfData), errors.Is(err, device.ErrFileMark), errors.Is(err, device.ErrBlockTooBig):
		kind = errs.Corrupt
	// What is not known comes from the device.
	case kind == errs.Internal:
		kind = errs.IO
	}
	return &errs.Error{Kind: kind, Op: op, Subject: vid, Text: what, Cause: err}
}

// protect switches protected blocks on or off where the drive offers them.
func protect(ctx context.Context, t device.Tape, on bool) error {
	// Without the feature blocks travel as they always did, and the bytes on tape are the same.
	p, ok := device.Feature[device.Protector](t)
	if !ok || !p.Protectable() {
		return nil
	}
	return failure(p.Protect(ctx, on, on), "volume.Protect", "", "protected blocks")
}
