package volume

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hemera/tape/device"
	"hemera/tape/label"
	"hemera/words/errs"
)

// Place is the place of a tape file. A Block of 0 is the first file.
type Place struct{ FSeq, Block, ArchiveID uint64 }

// object returns the object at which its header begins.
func (p Place) object() uint64 { return max(p.Block, 1) }

// File is a tape file that is read. [Volume.OpenFile] makes one; the next use of the Volume ends it.
type File struct {
	v         *Volume
	place     Place
	blockSize int
}

// OpenFile goes to a file, unless the tape stands there, and verifies its header: VID, archive id and fSeq. It fails with Corrupt if another
// file is there, and with what the drive said. An ArchiveID or FSeq of zero is not compared.
func (v *Volume) OpenFile(ctx context.Context, p Place) (*File, error) {
	if err := v.locate(ctx, p.object()); err != nil {
		return nil, err
	}
	f, u, err := v.labels(ctx, false)
	if err != nil {
		return nil, err
	}
	// UHL1 has the number; that of HDR1 is cut to four digits.
	if p.FSeq != 0 && u.FSeq != p.FSeq || p.ArchiveID != 0 && f.ArchiveID != p.ArchiveID {
		return nil, errs.New(errs.Corrupt, "volume.OpenFile", v.label.VID, fmt.Sprintf("at block %d is file %d with archive id %d, not file %d with archive id %d",
			p.Block, u.FSeq, f.ArchiveID, p.FSeq, p.ArchiveID)).WithRemedy("verify the tape; the file is read from another copy if there is one")
	}
	// A buffer of the writer's block size is needed.
	if u.BlockSize == 0 || u.BlockSize > blockMax {
		return nil, errs.New(errs.Unsupported, "volume.OpenFile", v.label.VID, fmt.Sprintf("file %d has blocks of %d bytes", u.FSeq, u.BlockSize))
	}
	// What the caller did not know is now known.
	p.FSeq, p.ArchiveID = u.FSeq, f.ArchiveID
	return &File{v: v, place: p, blockSize: int(u.BlockSize)}, nil
}

// Place returns the place of the file, as its labels say.
func (f *File) Place() Place { return f.place }

// BlockSize returns the least size of a buffer for Read, in bytes.
func (f *File) BlockSize() int { return f.blockSize }

// Read reads the next block of data. At the end it verifies the trailer and returns io.EOF; the tape then stands before the next file.
func (f *File) Read(ctx context.Context, buf []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, f.v.fail(err, "read data")
	}
	n, err := f.v.t.ReadBlock(ctx, buf[:min(len(buf), blockMax)])
	switch {
	case err == nil:
		f.v.at++
		return n, nil
		// A block that cannot be read leaves the position open; the next file is located.
	case !errors.Is(err, device.ErrFileMark):
		f.v.known = false
		return 0, f.v.fail(err, fmt.Sprintf("read file %d", f.place.FSeq))
	}
	f.v.at++
	// The trailer costs four objects, and brings the tape to where the next file begins.
	end, u, err := f.v.labels(ctx, true)
	if err != nil {
		return 0, err
	}
	if u.FSeq != f.place.FSeq || end.ArchiveID != f.place.ArchiveID {
		return 0, errs.New(errs.Corrupt, "volume.Read", f.v.label.VID, fmt.Sprintf("the trailer of file %d is that of file %d", f.place.FSeq, u.FSeq))
	}
	return 0, io.EOF
}

// Seek goes to the block that has the byte at offset, and returns how many bytes of that block come before it. All blocks before it must be
// full, as those are that an Appender wrote.
func (f *File) Seek(ctx context.Context, offset int64) (skip int, err error) {
	size := int64(f.blockSize)
	return int(offset % size), f.v.locate(ctx, f.place.object()+headerObjects+uint64(offset/size))
}

// labels reads the three labels of a header or trailer and the filemark behind them, and verifies that they are of this tape.
func (v *Volume) labels(ctx context.Context, trailer bool) (f label.File, u label.User, err error) {
	// For errors: where the first label stands.
	at := v.at
	wrong := func(cause error, text string) error {
		return &errs.Error{Kind: errs.Corrupt, Op: "volume.Read", Subject: v.label.VID, Text: fmt.Sprintf("labels at block %d: %s", at, text), Cause: cause}
	}
	for i := range 3 {
		b, err := v.block(ctx)
		if err != nil {
			return f, u, v.fail(err, "read a label")
		}
		found := trailer
		switch i {
		case 0:
			f, err = label.ParseFile(b)
			found = f.Trailer
		case 1: // HDR2 says nothing that is needed
			_, err = label.ParseFormat(b)
		case 2:
			u, err = label.ParseUser(b)
			found = u.Trailer
		}
		if err != nil {
			return f, u, wrong(err, "not those of a file")
		}
		if found != trailer {
			return f, u, wrong(nil, "a header where a trailer was expected, or the other way round")
		}
	}
	// Data of an earlier label can stand behind the end of data; the drive does not show it, but a tape copied by hand may.
	if f.VID != v.label.VID {
		return f, u, wrong(nil, "they are of tape "+f.VID)
	}
	return f, u, v.mark(ctx)
}
