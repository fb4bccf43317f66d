package volume

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hemera/tape/device"
	"hemera/words/errs"
)

// ErrUnscanned is in the chain of errors of [Volume.Append] when files stand behind the place that may have been reported. A scan finds out.
var ErrUnscanned = errors.New("files that the catalogue does not know")

// system begins the system code of labels that Hemera writes.
const system = "HEMERA"

// guard refuses to write over files that a catalogue may have. The tape alone is the witness, since a store that went back does not know that
// it did. A session reports a file only after it flushed an index behind it, unless the end of the tape was near. So files of Hemera without an
// index behind them were never reported, in whatever life of the store. The tape stands at the place of the append, and stands there again.
func (v *Volume) guard(ctx context.Context, known Known) error {
	place := v.at
	b, err := v.block(ctx)
	switch {
	case errors.Is(err, device.ErrEndOfData):
		return nil
	case err == nil && known.Last.FSeq == 0 && isPrelabel(b):
		return v.locate(ctx, place)
	}
	given, err := v.gaveUp(ctx, known)
	if err == nil && !given {
		err = v.goBack(ctx, place)
		if err == nil {
			err = v.walk(ctx, known.Last)
		}
	}
	if err != nil {
		return err
	}
	return v.goBack(ctx, place)
}

// goBack locates a place whatever is known of where the tape stands.
func (v *Volume) goBack(ctx context.Context, place uint64) error {
	v.known = false
	return v.locate(ctx, place)
}

// gaveUp reports whether the tape is as it was when it was reclaimed: a session that wrote it since removed its last file.
func (v *Volume) gaveUp(ctx context.Context, known Known) (bool, error) {
	if known.Last.FSeq > 0 || known.Reclaimed.FSeq == 0 {
		return false, nil
	}
	if err := v.goBack(ctx, 1); err != nil {
		return false, err
	}
	err := v.toTrailer(ctx, known.Reclaimed)
	if err == nil {
		err = v.verifyTrailer(ctx, known.Reclaimed)
	}
	if errs.KindOf(err) == errs.Conflict {
		return false, nil
	}
	return err == nil, err
}

// walk looks at the trailers of the files that begin where the tape stands.
func (v *Volume) walk(ctx context.Context, last Last) error {
	const toTrailer = 2 // filemarks: behind the header, and the data
	end := last.FSeq
	for {
		v.known = false
		err := v.t.Space(ctx, toTrailer)
		if err == nil {
			f, u, bad := v.labels(ctx, true)
			switch {
			case bad == nil && kindOf(f.ArchiveID) == KindIndex:
				return v.unscanned(fmt.Sprintf("files up to number %d stand behind file %d", u.FSeq, last.FSeq), nil)
			case bad == nil && !strings.HasPrefix(f.System, system):
				return v.unscanned(fmt.Sprintf("file %d behind file %d is of %s", u.FSeq, last.FSeq, f.System), nil)
			case bad == nil:
				end = u.FSeq
				continue
			}
			err = bad
		}
		// A file that was cut off ends the walk: nothing can stand behind it.
		if errors.Is(err, device.ErrEndOfData) {
			break
		}
		if errs.KindOf(err) == errs.Corrupt || errors.Is(err, device.ErrEncrypted) {
			return v.unscanned(fmt.Sprintf("something stands behind file %d that is no file of Hemera", end), err)
		}
		return v.fail(err, "look at what stands behind the last file")
	}
	position, err := v.t.Position(ctx)
	if err != nil {
		return v.fail(err, "read the position")
	}
	if end > last.FSeq && position.EarlyWarning {
		return v.unscanned(fmt.Sprintf("files up to number %d stand behind file %d at the end of the tape", end, last.FSeq), nil)
	}
	return nil
}

// unscanned returns the error of files that may have been reported.
func (v *Volume) unscanned(text string, cause error) error {
	e := &errs.Error{Kind: errs.Conflict, Op: "volume.Append", Subject: v.label.VID, Text: text + ", and the catalogue does not know them", Cause: errors.Join(ErrUnscanned, cause)}
	return e.WithRemedy("nothing was written; read them into the catalogue: `hemera tape scan " + v.label.VID + "`")
}
