package wire

import (
	"hash/crc32"

	"hemera/words/hemera"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC32C returns the checksum of pages and status frames, with Castagnoli's polynomial.
func CRC32C(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// FragmentLen returns the length of the first page fragment of n bytes at off; see [hemera.PageFragment].
func FragmentLen(off int64, n int) int { return hemera.PageFragment(off, n) }

// Fragments returns the number of page fragments of n bytes at off; see [hemera.PageFragments].
func Fragments(off, n int64) int { return hemera.PageFragments(off, n) }

// PagesLen returns the length on the wire of n bytes at a file offset: the data and 4 bytes for each fragment.
func PagesLen(off, n int64) int64 { return n + 4*int64(Fragments(off, n)) }

// PagesDataLen inverts PagesLen: it returns the number of data bytes in a payload of wireLen bytes. A payload
// that ends inside a checksum, or right after one, is malformed.
func PagesDataLen(off, wireLen int64) (int64, error) {
	if wireLen == 0 {
		return 0, nil
	}
	const unit = hemera.PageSize + 4
	first := int64(hemera.PageSize) - off%hemera.PageSize
	var data, rest int64
	if wireLen <= first+4 {
		data, rest = 0, wireLen
	} else {
		data = first + (wireLen-first-4)/unit*hemera.PageSize
		rest = (wireLen - first - 4) % unit
	}
	if rest > 0 && rest <= 4 {
		return 0, fail(ArgInvalid, "page data of %d bytes ends inside a checksum", wireLen)
	}
	if rest > 0 {
		data += rest - 4
	}
	return data, nil
}

// AppendPages encodes p, which is at a file offset, with the CRC32C of its page fragments before each.
func AppendPages(b, p []byte, sums []uint32, off int64) []byte {
	for i := 0; len(p) > 0; i++ {
		n := FragmentLen(off, len(p))
		b = be.AppendUint32(b, sums[i])
		b = append(b, p[:n]...)
		p, off = p[n:], off+int64(n)
	}
	return b
}

// PageVec appends to vec what [AppendPages] encodes, without a copy of p: each page fragment of p follows its checksum.
// room is memory for the checksums, four bytes each. From then on vec refers to room and p.
func PageVec(vec [][]byte, room, p []byte, sums []uint32, off int64) [][]byte {
	for i := 0; len(p) > 0; i++ {
		n := FragmentLen(off, len(p))
		be.PutUint32(room, sums[i])
		vec = append(vec, room[:4:4], p[:n:n])
		room, p, off = room[4:], p[n:], off+int64(n)
	}
	return vec
}

// SumPages computes the CRC32C of each page fragment of p into sums, which must have room.
func SumPages(sums []uint32, p []byte, off int64) []uint32 {
	i := 0
	for ; len(p) > 0; i++ {
		n := FragmentLen(off, len(p))
		sums[i] = CRC32C(p[:n])
		p, off = p[n:], off+int64(n)
	}
	return sums[:i]
}

// CutPages removes the checksums from page data in place: the data moves to the front of b and the checksums into sums,
// which must have room. It returns both, cut to length.
func CutPages(b []byte, sums []uint32, off int64) ([]byte, []uint32, error) {
	n := 0
	count := 0
	for rest := b; len(rest) > 0; count++ {
		if len(rest) <= 4 {
			return nil, nil, fail(ArgInvalid, "page data ends inside a checksum")
		}
		if count == len(sums) {
			return nil, nil, fail(ArgTooLong, "page data has more than %d pages", len(sums))
		}
		sums[count] = be.Uint32(rest)
		f := FragmentLen(off, len(rest)-4)
		copy(b[n:], rest[4:4+f])
		n, off, rest = n+f, off+int64(f), rest[4+f:]
	}
	return b[:n], sums[:count], nil
}

// StatusFrame is the answer of pgread and pgwrite up to its data. DataLength bytes follow.
type StatusFrame struct {
	Stream     StreamID
	Request    RequestID // ReqPgread or ReqPgwrite
	Partial    bool      // more frames follow
	DataLength int32
	Offset     int64 // in the file: of the data; for pgwrite that of the request
}

// StatusBodySize is the length of the body that the response header counts. The data is not included.
const StatusBodySize = 24

// Append encodes the response header and the body.
func (f StatusFrame) Append(b []byte) []byte {
	b = ResponseHeader{f.Stream, StatusStatus, StatusBodySize}.Append(b)
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = append(b, f.Stream[:]...)
	b = append(b, byte(f.Request-reqFirst), 0, 0, 0, 0, 0)
	if f.Partial {
		b[at+7] = 1
	}
	b = be.AppendUint32(b, uint32(f.DataLength))
	b = be.AppendUint64(b, uint64(f.Offset))
	be.PutUint32(b[at:], CRC32C(b[at+4:]))
	return b
}

// ParseStatusFrame decodes the body that follows the response header and checks its CRC.
func ParseStatusFrame(b []byte) (StatusFrame, error) {
	if len(b) < StatusBodySize {
		return StatusFrame{}, fail(InvalidRequest, "status frame has %d bytes, needs %d", len(b), StatusBodySize)
	}
	b = b[:StatusBodySize]
	if be.Uint32(b) != CRC32C(b[4:]) {
		return StatusFrame{}, fail(ChkSumErr, "status frame does not match its checksum")
	}
	f := StatusFrame{
		Stream: StreamID(b[4:6]), Request: RequestID(b[6]) + reqFirst, Partial: b[7] == 1,
		DataLength: int32(be.Uint32(b[12:])), Offset: int64(be.Uint64(b[16:])),
	}
	if f.DataLength < 0 || f.Offset < 0 || b[7] > 2 {
		return StatusFrame{}, fail(InvalidRequest, "status frame has type %d, length %d, offset %d", b[7], f.DataLength, f.Offset)
	}
	return f, nil
}

// PageErrors is the data of a pgwrite answer that reports bad pages: the client sends each again.
type PageErrors struct {
	// FirstLength and LastLength are the true lengths of the first and the last bad page.
	FirstLength, LastLength int16
	Offsets                 []int64
}

// Append encodes the list, its CRC first.
func (e PageErrors) Append(b []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = be.AppendUint16(b, uint16(e.FirstLength))
	b = be.AppendUint16(b, uint16(e.LastLength))
	for _, off := range e.Offsets {
		b = be.AppendUint64(b, uint64(off))
	}
	be.PutUint32(b[at:], CRC32C(b[at+4:]))
	return b
}

// ParsePageErrors decodes the list and checks its CRC. An empty body means no errors.
func ParsePageErrors(b []byte) (PageErrors, error) {
	if len(b) == 0 {
		return PageErrors{}, nil
	}
	if len(b) < 8 || (len(b)-8)%8 != 0 {
		return PageErrors{}, fail(InvalidRequest, "list of bad pages has %d bytes", len(b))
	}
	if be.Uint32(b) != CRC32C(b[4:]) {
		return PageErrors{}, fail(ChkSumErr, "list of bad pages does not match its checksum")
	}
	e := PageErrors{FirstLength: int16(be.Uint16(b[4:])), LastLength: int16(be.Uint16(b[6:]))}
	for b = b[8:]; len(b) > 0; b = b[8:] {
		e.Offsets = append(e.Offsets, int64(be.Uint64(b)))
	}
	return e, nil
}
