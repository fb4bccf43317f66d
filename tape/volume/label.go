package volume

import (
	"context"
	"errors"
	"fmt"

	"hemera/tape/device"
	"hemera/tape/label"
	"hemera/words/errs"
)

// Contents says what is on a tape, as far as its first blocks tell.
// A tape with a label alone is empty.
type Contents struct {
	Blank bool   // nothing was ever written
	VID   string // of its label, "" when it has none
	Files bool   // it holds tape files, or something that is not known
}

// Inspect reads the first blocks of a tape.
func Inspect(ctx context.Context, t device.Tape) (c Contents, err error) {
	if err := protect(ctx, t, false); err != nil {
		return c, err
	}
	// A Volume of a tape that may have no label: its VID is empty in errors.
	v := &Volume{t: t, buf: make([]byte, blockMax)}
	if err := v.locate(ctx, 0); err != nil {
		return c, err
	}
	b, err := v.block(ctx)
	switch {
	case errors.Is(err, device.ErrEndOfData):
		return Contents{Blank: true}, nil
	case errors.Is(err, device.ErrFileMark), errors.Is(err, device.ErrBlockTooBig), errors.Is(err, device.ErrEncrypted):
		return Contents{Files: true}, nil
	case err != nil:
		return c, failure(err, "volume.Inspect", "", "read VOL1")
	}
	label, err := label.ParseVolume(b)
	if err != nil {
		return Contents{Files: true}, nil //nolint:nilerr // what is not a label is something of another program
	}
	c.VID = label.VID
	// Behind the label stands the header of the first file, or the one that says that there is none.
	b, err = v.block(ctx)
	switch {
	case errors.Is(err, device.ErrEndOfData):
		return c, nil
	case err != nil && !errors.Is(err, device.ErrFileMark) && !errors.Is(err, device.ErrBlockTooBig) && !errors.Is(err, device.ErrEncrypted):
		return c, failure(err, "volume.Inspect", c.VID, "read HDR1")
	}
	// Anything but the prelabel is taken for files, so that nothing unknown is lost.
	c.Files = err != nil || !isPrelabel(b)
	return c, nil
}

// isPrelabel reports whether a block is the header that says that there is no file.
func isPrelabel(b []byte) bool {
	f, err := label.ParseFile(b)
	return err == nil && f.Prelabel
}

// Label has the fields of a tape's label.
type Label struct {
	VID string
	// Protected asks for checksums of blocks between host and drive, where the drive that labels offers them.
	Protected bool
	// Force labels a tape whatever is on it.
	Force bool
}

// Format labels a tape: VOL1, a header that says that it is empty, and a filemark. Everything else on it is gone, and the label is durable
// when it returns nil. It fails with NotEmpty if the tape has files or something that is not known, and with Conflict if it has the label of
// another VID, unless l.Force is set.
func Format(ctx context.Context, t device.Tape, l Label, w Writer) error {
	if err := label.CheckVID(l.VID); err != nil {
		return err
	}
	found, err := Inspect(ctx, t)
	switch {
	case err != nil && !l.Force:
		return err
	case found.Files && !l.Force:
		return errs.New(errs.NotEmpty, "volume.Format", l.VID, fmt.Sprintf("the tape holds files; its label says %q", found.VID)).
			WithRemedy("look at it with a scan; only if nothing on it is needed, label with force")
	case found.VID != "" && found.VID != l.VID && !l.Force:
		return errs.New(errs.Conflict, "volume.Format", l.VID, "the tape has the label of "+found.VID).
			WithRemedy("compare the barcode with the label; label with force to rename the tape")
	}
	// The drive decides: a label that promises checksums makes every later session ask for them.
	// Nothing of the old label is kept, so a tape of another program becomes an ordinary one.
	volume := label.Volume{VID: l.VID, Owner: w.Owner}
	p, ok := device.Feature[device.Protector](t)
	if l.Protected && ok && p.Protectable() {
		volume.Protection = label.CRC32C
	}
	if err := t.Locate(ctx, 0); err != nil {
		return failure(err, "volume.Format", l.VID, "rewind")
	}
	if volume.Protection == label.CRC32C {
		if err := protect(ctx, t, true); err != nil {
			return err
		}
	}
	// The first block that is written removes everything behind it.
	head := label.File{Prelabel: true, VID: l.VID, FSeq: 1, Created: label.DayOf(w.Now()), System: w.System}
	for _, b := range []label.Label{volume.Encode(), head.Encode()} {
		if err := t.WriteBlock(ctx, b[:]); err != nil {
			return failure(err, "volume.Format", l.VID, "write a label")
		}
	}
	// Not immediate: the label is durable when the drive answers.
	return failure(t.WriteMarks(ctx, 1, false), "volume.Format", l.VID, "write a filemark")
}
