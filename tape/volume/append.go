package volume

import (
	"context"
	"errors"
	"fmt"

	"hemera/tape/device"
	"hemera/tape/label"
	"hemera/words/errs"
)

// Last is the last tape file that the catalogue has of a tape; zero for an empty one.
type Last struct{ FSeq, ArchiveID uint64 }

// Known is the catalogue's record of the end of a tape.
type Known struct {
	Last Last
	// Reclaimed is the last file of what a reclaim ended, until the tape is written again. It counts only where Last is zero.
	Reclaimed Last
}

// Appender writes tape files behind those of the catalogue. [Volume.Append] makes one.
//
// A file is Begin, Write as often as there is data, End. Index files are written between files, and Flush makes all of them durable.
// After an error of the tape all calls fail with it, since nobody knows what of the drive's buffer arrived: the session ends, what
// was not flushed is written again elsewhere, and a new Append finds the right place.
type Appender struct {
	v      *Volume
	fseq   uint64 // of the file under way, or of the last one
	id     uint64 // archive id of the last one that was ended
	object uint64 // that the tape stands before
	file   *writing
	buf    []byte // the first n bytes wait for a full block
	n      int
	full   bool  // the early warning was reached
	broken error // what ended it
	index  index // what the next index file lists
}

// writing is the file under way.
type writing struct {
	archiveID, block, blocks uint64 // blocks of data so far
	size                     int64  // bytes that were accepted
}

// Written is a tape file that has its trailer. It is durable after the next Flush.
type Written struct {
	FSeq      uint64
	Block     uint64 // as catalogues have it: 0 for the first file
	ArchiveID uint64
	Size      int64 // of its data
	Bytes     int64 // with labels
}

// Append goes behind the last file that the catalogue has and compares its trailer. It fails with Conflict if the tape has fewer files, or
// another file at that place, and with [ErrUnscanned] if files stand behind it that may have been reported. Anything else that stands there was
// never reported, and the first Begin removes it. When this Volume appended the last file itself, the tape is not rewound for it.
func (v *Volume) Append(ctx context.Context, known Known) (*Appender, error) {
	last := known.Last
	if !v.atEnd(ctx, last) {
		if err := v.rewind(ctx); err != nil {
			return nil, err
		}
		if last.FSeq > 0 {
			if err := v.toTrailer(ctx, last); err != nil {
				return nil, err
			}
			if err := v.verifyTrailer(ctx, last); err != nil {
				return nil, err
			}
		}
	}
	if err := v.guard(ctx, known); err != nil {
		return nil, err
	}
	// The prelabel of an empty tape is at object 1, where the first header goes.
	a := &Appender{v: v, fseq: last.FSeq, id: last.ArchiveID, object: v.at, buf: make([]byte, BlockSize)}
	a.index.first = last.FSeq + 1
	v.known = false // the Appender moves the tape from here on
	return a, nil
}

// tail is the place of the last file that was flushed.
type tail struct {
	last   Last
	object uint64 // behind its trailer
}

// atEnd goes behind the last file if this Volume wrote it, and verifies that it is there. If anything is not as expected, it returns false.
func (v *Volume) atEnd(ctx context.Context, last Last) bool {
	if last.FSeq == 0 || v.tail.last != last {
		return false
	}
	return v.locate(ctx, v.tail.object-headerObjects) == nil && v.verifyTrailer(ctx, last) == nil && v.at == v.tail.object
}

// differ returns the error of a tape that is not what the catalogue has.
func (v *Volume) differ(text string, cause error) error {
	e := &errs.Error{Kind: errs.Conflict, Op: "volume.Append", Subject: v.label.VID, Text: text, Cause: cause}
	return e.WithRemedy("the tape and the catalogue differ: disable the tape, and compare them with a scan")
}

// toTrailer goes from the beginning to the trailer of a file by filemarks, since three stand behind each.
func (v *Volume) toTrailer(ctx context.Context, last Last) error {
	const marks = 3 // behind the header, the data, and the trailer
	v.known = false
	// Drives keep a directory of filemarks, so this takes as long as a locate.
	for n := last.FSeq*marks - 1; n > 0; { // in steps that fit every interface
		step := min(n, 1<<23-1)
		err := v.t.Space(ctx, int(step))
		if errors.Is(err, device.ErrEndOfData) {
			return v.differ(fmt.Sprintf("it has fewer than the %d files of the catalogue", last.FSeq), nil)
		}
		if err != nil {
			return v.fail(err, "space filemarks")
		}
		n -= step
	}
	position, err := v.t.Position(ctx)
	if err != nil {
		return v.fail(err, "read the position")
	}
	v.at, v.known = position.Object, true
	return nil
}

// verifyTrailer reads a trailer and compares it with what the catalogue has. The tape then stands behind it.
func (v *Volume) verifyTrailer(ctx context.Context, last Last) error {
	f, u, err := v.labels(ctx, true)
	if errs.KindOf(err) == errs.Corrupt {
		return v.differ(fmt.Sprintf("the trailer of file %d is not there", last.FSeq), err)
	}
	if err != nil {
		return err
	}
	// Catalogues from before archive ids were kept compare the number alone.
	if u.FSeq != last.FSeq || last.ArchiveID != 0 && f.ArchiveID != last.ArchiveID {
		return v.differ(fmt.Sprintf("file %d with archive id %d stands where the catalogue has file %d with archive id %d", u.FSeq, f.ArchiveID,
			last.FSeq, last.ArchiveID), nil)
	}
	return nil
}

// FSeq returns the fSeq of the file under way, or of the last one.
func (a *Appender) FSeq() uint64 { return a.fseq }

// Full reports whether the early warning of the end of the tape was reached: little room is left, and no file should be begun.
func (a *Appender) Full() bool { return a.full }

// Begin writes the header of the next file. At least one byte of data must follow, so callers have it at hand before.
func (a *Appender) Begin(ctx context.Context, archiveID uint64) error {
	if a.broken != nil {
		return a.broken
	}
	if a.file != nil {
		return errs.New(errs.Invalid, "volume.Begin", a.v.label.VID, "another file was not ended")
	}
	// The number is used up even if the file fails: numbers on tape have no gaps.
	a.fseq++
	a.file = &writing{archiveID: archiveID, block: a.object}
	return a.labels(ctx, false)
}

// Write appends to the data of the file, in blocks of BlockSize. It keeps no reference to p.
func (a *Appender) Write(ctx context.Context, p []byte) error {
	if a.broken != nil {
		return a.broken
	}
	if a.file == nil {
		return errs.New(errs.Invalid, "volume.Write", a.v.label.VID, "no file was begun")
	}
	// The size is that of what was accepted; data that waits for a full block belongs to it.
	a.file.size += int64(len(p))
	for len(p) > 0 {
		if a.n == 0 && len(p) >= BlockSize { // whole blocks need no copy
			if err := a.data(ctx, p[:BlockSize]); err != nil {
				return err
			}
			p = p[BlockSize:]
			continue
		}
		n := copy(a.buf[a.n:], p)
		a.n, p = a.n+n, p[n:]
		if a.n == BlockSize {
			if err := a.data(ctx, a.buf); err != nil {
				return err
			}
			a.n = 0
		}
	}
	return nil
}

// End writes the last block and the trailer. The file is durable after the next Flush.
func (a *Appender) End(ctx context.Context) (w Written, err error) {
	switch {
	case a.broken != nil:
		return w, a.broken
	case a.file == nil || a.file.size == 0:
		a.broken = errs.New(errs.Invalid, "volume.End", a.v.label.VID, "the file has no data")
		return w, a.broken
	}
	// The rest, which is shorter than a block.
	if a.n > 0 {
		if err := a.data(ctx, a.buf[:a.n]); err != nil {
			return w, err
		}
		a.n = 0
	}
	if err := a.marks(ctx); err != nil {
		return w, err
	}
	if err := a.labels(ctx, true); err != nil {
		return w, err
	}
	// From here on nothing of the file is in memory.
	f := a.file
	a.file, a.id = nil, f.archiveID
	w = Written{FSeq: a.fseq, Block: f.block, ArchiveID: f.archiveID, Size: f.size, Bytes: BytesOnTape(f.size)}
	if w.FSeq == 1 {
		w.Block = 0
	}
	return w, nil
}

// BytesOnTape returns the number of bytes that a tape file of a size takes, labels included.
func BytesOnTape(size int64) int64 { return size + 6*label.Size }

// Flush makes everything durable that was ended before. It fails if a file is under way.
func (a *Appender) Flush(ctx context.Context) error {
	if a.broken != nil {
		return a.broken
	}
	if a.file != nil {
		return errs.New(errs.Invalid, "volume.Flush", a.v.label.VID, "a file was not ended")
	}
	if err := a.v.t.Flush(ctx); err != nil {
		return a.fail(err, "flush")
	}
	// The drive must have counted as this program did: block ids are what a recall goes to.
	position, err := a.v.t.Position(ctx)
	if err != nil {
		return a.fail(err, "read the position")
	}
	a.full = a.full || position.EarlyWarning
	if position.Object != a.object {
		a.broken = errs.New(errs.IO, "volume.Flush", a.v.label.VID, fmt.Sprintf("the drive stands at block %d, not at %d", position.Object, a.object)).
			WithRemedy("nothing since the last flush was reported; look for another program that uses the drive")
		return a.broken
	}
	a.v.tail = tail{last: Last{FSeq: a.fseq, ArchiveID: a.id}, object: a.object}
	return nil
}

// labels writes a header, or a trailer, with its filemark.
func (a *Appender) labels(ctx context.Context, trailer bool) error {
	// A trailer repeats its header, and tells the number of blocks.
	w, f := a.v.w, a.file
	file := label.File{Trailer: trailer, ArchiveID: f.archiveID, VID: a.v.label.VID, FSeq: a.fseq, Created: label.DayOf(w.Now()), System: w.System}
	if trailer {
		file.Blocks = f.blocks
	}
	format := label.Format{Trailer: trailer, BlockSize: BlockSize}
	user := label.User{Trailer: trailer, FSeq: a.fseq, BlockSize: BlockSize, Site: w.Site, Host: w.Host,
		Vendor: w.Drive.Vendor, Model: w.Drive.Product, Serial: w.Drive.Serial}
	for _, l := range []label.Label{file.Encode(), format.Encode(), user.Encode()} {
		if err := a.block(ctx, l[:]); err != nil {
			return err
		}
	}
	return a.marks(ctx)
}

// data writes one block of the file under way.
func (a *Appender) data(ctx context.Context, b []byte) error {
	a.file.blocks++
	return a.block(ctx, b)
}

// block writes one block. The early warning refuses one block and takes it when it is offered again, as long as there is room.
func (a *Appender) block(ctx context.Context, b []byte) error {
	err := ctx.Err()
	if err == nil {
		err = a.v.t.WriteBlock(ctx, b)
	}
	// Room behind the warning is for what closes the tape. How much there is depends on the drive.
	if errors.Is(err, device.ErrEndOfTape) && !a.full {
		a.full = true
		err = a.v.t.WriteBlock(ctx, b)
	}
	if err != nil {
		return a.fail(err, fmt.Sprintf("write block %d", a.object))
	}
	a.object++
	return nil
}

// marks writes a filemark that may stay in the drive's buffer.
func (a *Appender) marks(ctx context.Context) error {
	if err := a.v.t.WriteMarks(ctx, 1, true); err != nil {
		return a.fail(err, "write a filemark")
	}
	a.object++
	return nil
}

// fail keeps the error for all calls that follow.
func (a *Appender) fail(err error, what string) error {
	a.broken = failure(err, "volume.Append", a.v.label.VID, what)
	return a.broken
}
