package wire

// Read is kXR_read. Its payload may be 8 bytes of arguments and a list of ranges to read ahead.
type Read struct {
	Handle Handle
	Offset int64
	Length int32
}

// ID returns ReqRead.
func (Read) ID() RequestID { return ReqRead }

// Body encodes the fixed part.
func (r Read) Body() (p [16]byte) {
	copy(p[:4], r.Handle[:])
	be.PutUint64(p[4:], uint64(r.Offset))
	be.PutUint32(p[12:], uint32(r.Length))
	return p
}

// DecodeRead reads the fixed part; offset and length may be negative.
func DecodeRead(p [16]byte) Read {
	return Read{Handle(p[:4]), int64(be.Uint64(p[4:])), int32(be.Uint32(p[12:]))}
}

// ReadArgs decodes the payload of kXR_read: the path of the answer. It checks and drops read-ahead hints.
func ReadArgs(payload []byte) (path uint8, err error) {
	switch n := len(payload); {
	case n == 0:
		return 0, nil
	case n < 8 || (n-8)%16 != 0:
		return 0, fail(ArgInvalid, "read arguments have %d bytes; want 8 and 16 for each hint", n)
	}
	return payload[0], nil
}

// AppendReadArgs encodes the payload of kXR_read that names a path.
func AppendReadArgs(b []byte, path uint8) []byte { return append(b, path, 0, 0, 0, 0, 0, 0, 0) }

// Pgread is kXR_pgread: a read whose answer carries the CRC32C of every page.
type Pgread struct {
	Handle Handle
	Offset int64
	Length int32
}

// ID returns ReqPgread.
func (Pgread) ID() RequestID { return ReqPgread }

// Body encodes the fixed part.
func (r Pgread) Body() [16]byte { return Read(r).Body() }

// DecodePgread reads the fixed part; offset and length may be negative.
func DecodePgread(p [16]byte) Pgread { return Pgread(DecodeRead(p)) }

// PgreadArgs decodes the payload of kXR_pgread: 0, 1 or 2 bytes.
func PgreadArgs(payload []byte) (path, flags uint8, err error) {
	switch len(payload) {
	case 0:
		return 0, 0, nil
	case 1:
		return payload[0], 0, nil
	case 2:
		return payload[0], payload[1], nil
	}
	return 0, 0, fail(ArgInvalid, "pgread arguments have %d bytes, want at most 2", len(payload))
}

// Readv is kXR_readv; its payload is segments.
type Readv struct {
	Path uint8
}

// ID returns ReqReadv.
func (Readv) ID() RequestID { return ReqReadv }

// Body encodes the fixed part.
func (r Readv) Body() (p [16]byte) {
	p[15] = r.Path
	return p
}

// SegmentSize is the length of one encoded segment.
const SegmentSize = 16

// Segment is one element of readv and writev; in an answer of readv, Length bytes of data follow it.
type Segment struct {
	Handle Handle
	Length int32
	Offset int64
}

// Append encodes the segment.
func (s Segment) Append(b []byte) []byte {
	b = append(b, s.Handle[:]...)
	b = be.AppendUint32(b, uint32(s.Length))
	return be.AppendUint64(b, uint64(s.Offset))
}

// ParseSegment reads the first 16 bytes of b. It panics if b is shorter.
func ParseSegment(b []byte) Segment {
	_ = b[SegmentSize-1]
	return Segment{Handle(b[:4]), int32(be.Uint32(b[4:])), int64(be.Uint64(b[8:]))}
}

// CheckSegments checks the payload of readv or writev before it is read element by element.
func CheckSegments(payload []byte) (n int, err error) {
	n = len(payload) / SegmentSize
	switch {
	case len(payload) == 0 || len(payload)%SegmentSize != 0:
		return 0, fail(ArgInvalid, "vector of %d bytes is not a list of 16-byte elements", len(payload))
	case n > VectorMax:
		return 0, fail(ArgTooLong, "vector has %d elements, the limit is %d", n, VectorMax)
	}
	for i := range n {
		if s := ParseSegment(payload[i*SegmentSize:]); s.Length < 0 || s.Offset < 0 {
			return 0, fail(ArgInvalid, "element %d of the vector has offset %d and length %d", i, s.Offset, s.Length)
		}
	}
	return n, nil
}
