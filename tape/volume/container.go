package volume

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"hemera/words/errs"
)

// tableMax bounds the table of a container that is read, in bytes.
const tableMax = 16 << 20

// Table makes what a container begins with: its members' records, and padding to a whole block, so that the data of its members begins with
// a block of its own. The records need Size, ArchiveID and whatever is known of the file; Kind, FSeq, Block, Member and Offset are set
// here, and block is that of the container as catalogues have it.
func Table(vid string, fseq, block uint64, members []Record) []byte {
	offset := int64(0)
	var lines []byte
	// Offsets count from the beginning of the data, so they do not depend on the length of the table.
	for i := range members {
		m := &members[i]
		m.Kind, m.FSeq, m.Block = KindMember, fseq, block
		m.Member, m.Offset = uint32(i+1), offset
		offset += m.Size
		lines = append(lines, line(m)...)
	}
	h := head{Format: formatContainer, Version: formatVersion, VID: vid, FSeq: fseq}
	// The head tells the length of the whole, which has room for a head of a bounded length.
	const headAndEnd = 512
	h.Data = (int64(len(lines)) + headAndEnd + BlockSize - 1) / BlockSize * BlockSize
	text := append(line(h), lines...)
	text = append(text, endLine(text, len(members))...)
	// Newlines, so that the table ends as a text file does.
	return append(text, bytes.Repeat([]byte{'\n'}, int(h.Data)-len(text))...)
}

// Next returns the fSeq and the block id, as catalogues have it, of the file that the next Begin writes.
func (a *Appender) Next() (fseq, block uint64) {
	// A table has both, so they must be known before its file is begun.
	fseq, block = a.fseq+1, a.object
	if fseq == 1 {
		block = 0
	}
	return fseq, block
}

// Container is a container that is read.
type Container struct {
	f       *File
	data    int64
	length  int64 // of the table and all members
	members []Record
	// last is the block that was read last, the end of one member and the begin of the next: the tape does not go back for it.
	last   []byte
	number int64 // of last in the file, -1 for none
}

// OpenContainer reads the table of the container at a place.
func (v *Volume) OpenContainer(ctx context.Context, p Place) (*Container, error) {
	f, err := v.OpenFile(ctx, Place{FSeq: p.FSeq, Block: p.Block, ArchiveID: ContainerID(p.FSeq)})
	if err != nil {
		return nil, err
	}
	h, members, err := parseLines(io.LimitReader(&stream{ctx: ctx, f: f}, tableMax), formatContainer)
	if err != nil {
		return nil, errs.Wrap(err, "volume.OpenContainer", v.label.VID)
	}
	// The checksum of the table says that it is as it was written, and nothing of who wrote it.
	if why := misplaced(h, members, f.place, v.label.VID); why != "" {
		return nil, errs.New(errs.Corrupt, "volume.OpenContainer", v.label.VID, fmt.Sprintf("the table of container %d at block %d: %s", f.place.FSeq, f.place.object(), why))
	}
	c := &Container{f: f, data: h.Data, length: h.Data, members: members, number: -1}
	for _, m := range members {
		c.length += m.Size
	}
	return c, nil
}

// containerMax bounds the data of a container, in bytes. It is more than a cartridge holds, so a place in it can be computed without an overflow.
const containerMax = 1 << 50

// misplaced says which place of a table cannot be, "" if all can. Data begins with a whole block behind the table. Members follow each other
// without a gap, in the order of their numbers.
func misplaced(h head, members []Record, p Place, vid string) string {
	switch {
	case h.VID != vid || h.FSeq != p.FSeq:
		return fmt.Sprintf("it is that of file %d of tape %q", h.FSeq, h.VID)
	case h.Data < h.length || h.Data%BlockSize != 0 || h.Data > tableMax+BlockSize:
		return fmt.Sprintf("its data begins at byte %d, and it has %d bytes", h.Data, h.length)
	}
	next := int64(0)
	for i, m := range members {
		switch {
		case m.Kind != KindMember || m.Member != uint32(i+1) || m.FSeq != p.FSeq:
			return fmt.Sprintf("line %d is one of %s %d of file %d", i+2, m.Kind, m.Member, m.FSeq)
		case m.Offset != next || m.Size < 0 || m.Size > containerMax-next:
			return fmt.Sprintf("member %d has %d bytes from byte %d on; the one before it ends at byte %d", m.Member, m.Size, m.Offset, next)
		}
		next += m.Size
	}
	return ""
}

// Members returns the records of the table.
func (c *Container) Members() []Record { return c.members }

// Place returns the place of the container.
func (c *Container) Place() Place { return c.f.place }

// GoTo goes to the block with which a member begins, unless that is in memory. ReadMember does it too: this is for callers that count the time.
func (c *Container) GoTo(ctx context.Context, member uint32) error {
	m, number, _, err := c.find(member)
	if err != nil || m.Size == 0 || c.number == number {
		return err
	}
	_, err = c.f.Seek(ctx, number*int64(c.f.blockSize))
	return err
}

// find returns a member, from 1, the block with which it begins, and the bytes before it in that block. It fails with NotFound if there is no such
// member.
func (c *Container) find(member uint32) (m Record, number int64, skip int, err error) {
	if member == 0 || int(member) > len(c.members) {
		return m, 0, 0, errs.New(errs.NotFound, "volume.ReadMember", c.f.v.label.VID, fmt.Sprintf("container %d has %d members, not %d", c.f.place.FSeq, len(c.members), member))
	}
	m = c.members[member-1]
	size := int64(c.f.blockSize)
	return m, (c.data + m.Offset) / size, int((c.data + m.Offset) % size), nil
}

// ReadMember reads a member, from 1, and gives its bytes to take in order; take must not keep them. It fails with NotFound if there is no such
// member.
func (c *Container) ReadMember(ctx context.Context, member uint32, take func([]byte) error) error {
	m, number, skip, err := c.find(member)
	if err != nil {
		return err
	}
	for left := m.Size; left > 0; number++ {
		b, err := c.block(ctx, number)
		if err != nil {
			if err == io.EOF {
				err = errs.New(errs.Corrupt, "volume.ReadMember", c.f.v.label.VID, fmt.Sprintf("container %d ends before member %d", c.f.place.FSeq, member))
			}
			return err
		}
		// A short block moves all that follows it, and a block of another length can be one behind the container.
		if size := int64(c.f.blockSize); int64(len(b)) != min(size, c.length-number*size) {
			return errs.New(errs.Corrupt, "volume.ReadMember", c.f.v.label.VID,
				fmt.Sprintf("block %d of container %d, with member %d, has %d bytes, not %d", number, c.f.place.FSeq, member, len(b), min(size, c.length-number*size)))
		}
		// The first block begins with the end of the member before, the last one ends with the next.
		b = b[skip:]
		b = b[:min(int64(len(b)), left)]
		left, skip = left-int64(len(b)), 0
		if err := take(b); err != nil {
			return err
		}
	}
	return nil
}

// block returns a block of the file by its number. Members that are read in their order come without a locate.
func (c *Container) block(ctx context.Context, number int64) ([]byte, error) {
	if c.number == number {
		return c.last, nil
	}
	c.number = -1
	if _, err := c.f.Seek(ctx, number*int64(c.f.blockSize)); err != nil {
		return nil, err
	}
	if cap(c.last) == 0 {
		c.last = make([]byte, c.f.blockSize)
	}
	n, err := c.f.Read(ctx, c.last[:cap(c.last)])
	if err != nil {
		return nil, err
	}
	c.last, c.number = c.last[:n], number
	return c.last, nil
}

// stream makes an io.Reader of a file.
type stream struct {
	ctx  context.Context //nolint:containedctx // lives as long as one call
	f    *File
	buf  []byte
	rest []byte
}

// Read gives what is left of the last block, or reads the next one.
func (s *stream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		if s.buf == nil {
			s.buf = make([]byte, s.f.blockSize)
		}
		n, err := s.f.Read(s.ctx, s.buf)
		if err != nil {
			return 0, err
		}
		s.rest = s.buf[:n]
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
