package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"hemera/rules/checksum"
	"hemera/tape/device"
	"hemera/tape/label"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// ScanOptions choose how a tape is scanned.
type ScanOptions struct {
	// Data reads files that no index lists, for their checksum and their true size. Without it their size is that of full blocks and the last
	// one, as Hemera writes them, and their checksum is unknown.
	Data bool
	// After ends the scan before the files up to this fSeq; some of them may be found. 0: the whole tape.
	After uint64
}

// Scan gives found the record of each tape file, the last one first, and of each member of containers, until fSeq 1. Files that an
// index lists are not visited. A file at the end of the tape that has no trailer is left out: it was never reported.
func (v *Volume) Scan(ctx context.Context, o ScanOptions, found func(Record) error) error {
	s := &scan{v: v, o: o}
	s.found = func(r Record) error {
		s.fseq = r.FSeq
		return found(r)
	}
	end, err := v.lastTrailer(ctx)
	if err != nil || end == 0 {
		return err
	}
	// Object 1 is where the first file begins.
	for end > 1 && err == nil && (s.fseq == 0 || s.fseq > o.After+1) {
		end, err = s.before(ctx, end)
	}
	return err
}

// scan walks a tape towards its beginning, because the last index is at the end, and says where the files are that it does not list.
type scan struct {
	v     *Volume
	o     ScanOptions
	found func(Record) error
	fseq  uint64 // of the last record that was found
	lost  uint64 // object where an index stands that cannot be read; it is a file as others
}

// before reports the file that ends before an object, and returns where the next one to report ends; 1 at the beginning of the tape.
func (s *scan) before(ctx context.Context, end uint64) (uint64, error) {
	v := s.v
	// Numbers on tape are not trusted: a damaged label must not send the walk elsewhere.
	if end < FileObjects+1 {
		return 0, errs.New(errs.Corrupt, "volume.Scan", v.label.VID, fmt.Sprintf("no file can end at block %d", end))
	}
	if err := v.locate(ctx, end-headerObjects); err != nil {
		return 0, err
	}
	f, u, err := v.labels(ctx, true)
	if err != nil {
		return 0, err
	}
	// A file of more than a million blocks has a count that is cut; the header that is read next shows it.
	begin := end - f.Blocks - FileObjects
	if f.Blocks > end-FileObjects {
		return 0, errs.New(errs.Corrupt, "volume.Scan", v.label.VID, fmt.Sprintf("file %d has %d blocks and ends at block %d", u.FSeq, f.Blocks, end))
	}
	r := Record{Kind: kindOf(f.ArchiveID), FSeq: u.FSeq, Block: begin, ArchiveID: f.ArchiveID}
	if begin == 1 {
		r.Block = 0
	}
	switch {
	case r.Kind == KindIndex && s.lost != begin:
		next, err := s.index(ctx, r)
		if errs.KindOf(err) == errs.Corrupt || errs.KindOf(err) == errs.IO {
			s.lost = begin // the files that it lists are visited instead
			return end, nil
		}
		return next, err
	case r.Kind == KindContainer:
		if err := s.members(ctx, r); err != nil {
			return 0, err
		}
	}
	if err := s.measure(ctx, &r, f, u); err != nil {
		return 0, err
	}
	return begin, s.found(r)
}

// index reports an index file and what it lists.
func (s *scan) index(ctx context.Context, r Record) (next uint64, err error) {
	file, err := s.v.OpenFile(ctx, Place{FSeq: r.FSeq, Block: r.Block, ArchiveID: r.ArchiveID})
	if err != nil {
		return 0, err
	}
	// The index is read whole, so its size and sum are those of the file.
	in := &counted{r: &stream{ctx: ctx, f: file}, sum: checksum.NewAdler32()}
	h, records, err := parseLines(in, formatIndex)
	if err != nil {
		return 0, err
	}
	if h.VID != s.v.label.VID || h.FSeq != r.FSeq || h.First == 0 || h.First > r.FSeq || h.First < r.FSeq && len(records) == 0 {
		return 0, errs.New(errs.Corrupt, "volume.Scan", s.v.label.VID, fmt.Sprintf("index %d lists files of another place", r.FSeq))
	}
	r.Size, r.Sums = in.n, []hemera.Checksum{in.sum.Sum()}
	// Where the first file begins that is listed, the walk goes on.
	begin := max(r.Block, 1)
	for _, listed := range slices.Backward(append(records, r)) {
		if err := s.found(listed); err != nil {
			return 0, err
		}
		if listed.FSeq == h.First {
			begin = max(listed.Block, 1)
		}
	}
	return begin, nil
}

// members reports the members of a container that no index lists. A table that cannot be read leaves the container alone.
func (s *scan) members(ctx context.Context, r Record) error {
	c, err := s.v.OpenContainer(ctx, Place{FSeq: r.FSeq, Block: r.Block})
	if errs.KindOf(err) == errs.Corrupt {
		return nil
	}
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(c.members) {
		if err := s.found(m); err != nil {
			return err
		}
	}
	return nil
}

// measure learns the size of a file from its last block, or size and checksum from its data.
func (s *scan) measure(ctx context.Context, r *Record, f label.File, u label.User) error {
	v := s.v
	// A read from the first to the last byte, at the speed of the drive.
	if s.o.Data {
		file, err := v.OpenFile(ctx, Place{FSeq: r.FSeq, Block: r.Block, ArchiveID: r.ArchiveID})
		if err != nil {
			return err
		}
		in := &counted{r: &stream{ctx: ctx, f: file}, sum: checksum.NewAdler32()}
		if _, err := io.Copy(io.Discard, in); err != nil {
			return err
		}
		r.Size, r.Sums = in.n, []hemera.Checksum{in.sum.Sum()}
		return nil
	}
	if f.Blocks == 0 {
		return nil
	}
	if err := v.locate(ctx, max(r.Block, 1)+headerObjects+f.Blocks-1); err != nil {
		return err
	}
	b, err := v.block(ctx)
	if err != nil {
		return v.fail(err, "read the last block of a file")
	}
	r.Size = int64(f.Blocks-1)*int64(u.BlockSize) + int64(len(b))
	return nil
}

// lastTrailer finds where the last file ends that has its trailer, 0 on a tape without files. A session that was cut leaves two filemarks at
// most behind it.
func (v *Volume) lastTrailer(ctx context.Context) (end uint64, err error) {
	if err := v.locate(ctx, 1); err != nil {
		return 0, err
	}
	b, err := v.block(ctx)
	if errors.Is(err, device.ErrEndOfData) {
		return 0, nil
	}
	if err != nil {
		return 0, v.fail(err, "read HDR1")
	}
	// The prelabel stands for no files, whatever the end of data says.
	if f, err := label.ParseFile(b); err == nil && f.Prelabel {
		return 0, nil
	}
	v.known = false
	if err := v.t.SpaceToEnd(ctx); err != nil {
		return 0, v.fail(err, "go to the end of data")
	}
	for range 3 {
		if err := v.t.Space(ctx, -1); err != nil {
			return 0, nil //nolint:nilerr // no more filemarks: the first file has no trailer
		}
		position, err := v.t.Position(ctx)
		if err != nil {
			return 0, v.fail(err, "read the position")
		}
		if position.Object < FileObjects {
			return 0, nil
		}
		if err := v.locate(ctx, position.Object+1-headerObjects); err != nil {
			return 0, err
		}
		// The filemark behind a trailer has its three labels before it.
		if _, _, err := v.labels(ctx, true); err == nil {
			return position.Object + 1, nil
		} else if k := errs.KindOf(err); k != errs.Corrupt {
			return 0, err
		}
		// Back before this filemark, so that the next step finds the one before it.
		if err := v.locate(ctx, position.Object); err != nil {
			return 0, err
		}
		v.known = false
	}
	return 0, errs.New(errs.Corrupt, "volume.Scan", v.label.VID, "no trailer of a file stands before the end of data").
		WithRemedy("the tape was written by another program, or its end cannot be read; try another drive")
}

// counted counts and sums what is read through it.
type counted struct {
	r   io.Reader
	n   int64
	sum checksum.Hasher
}

// Read counts and sums what it gives.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	_, _ = c.sum.Write(p[:n])
	return n, err
}
