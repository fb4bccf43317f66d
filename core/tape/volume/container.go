package volume

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"hemera/errs"
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

// Next is the fSeq and the block id, as catalogues have it, of the file that the next Begin writes.
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
	// Members are found by whole blocks from here on.
	if h.Data <= 0 || h.Data%BlockSize != 0 {
		return nil, errs.New(errs.Corrupt, "volume.OpenContainer", v.label.VID, fmt.Sprintf("its data begins at byte %d", h.Data))
	}
	return &Container{f: f, data: h.Data, members: members, number: -1}, nil
}

// Members are the records of the table.
func (c *Container) Members() []Record { return c.members }

// Place is where the container is.
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

// find is a member, from 1, the block with which it begins, and what comes before it in that block. It fails with NotFound if there is no such
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
		// The first block begins with the end of the member before, the last one ends with the next.
		b = b[min(skip, len(b)):]
		b = b[:min(int64(len(b)), left)]
		left, skip = left-int64(len(b)), 0
		if err := take(b); err != nil {
			return err
		}
	}
	return nil
}

// block is a block of the file by its number. Members that are read in their order come without a locate.
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
