package transfer

import (
	"encoding/binary"
	"slices"

	"hemera/rules/checksum"
	"hemera/transfer/resum"
	"hemera/words/hemera"
)

// streamSums computes the whole-file checksums of a write while it streams. It has hashed the
// first next bytes; what was written elsewhere is read back at the end. CRC32C costs no pass over
// the data: it is put together from the page checksums.
type streamSums struct {
	kinds []hemera.ChecksumKind // without crc32c
	hash  *checksum.Multi       // nil when kinds is empty
	crc   checksum.Appender
	next  int64
	// digests is set when a kind must see zeros too; holes is how many of those it was spared or shown.
	digests bool
	holes   int64
	// update, if not nil, has what changed of base: then most bytes need not be read for linear checksums.
	update *resum.Update
	base   source
}

// newStreamSums returns the sums of an empty content: of the kinds, and CRC32C always. It fails for kinds that are not
// known.
func newStreamSums(kinds []hemera.ChecksumKind) (*streamSums, error) {
	s := &streamSums{}
	for _, k := range kinds {
		if k != hemera.CRC32C && k != hemera.ChecksumNone {
			s.kinds = append(s.kinds, k)
			s.digests = s.digests || !checksum.SkipsZeros(k)
		}
	}
	if len(s.kinds) == 0 {
		return s, nil
	}
	hash, err := checksum.NewMulti(s.kinds...)
	s.hash = hash
	return s, err
}

// follow has the checksums of an update follow from those of its base, if they can.
func (s *streamSums) follow(c *hemera.Capability, base source) {
	s.base = base
	s.update = resum.New(c.Base.Size, c.Sums, append(slices.Clone(s.kinds), hemera.CRC32C))
}

// restart forgets everything: what was hashed has changed, and is read back at the end.
func (s *streamSums) restart() {
	s.crc, s.next, s.holes = checksum.Appender{}, 0, 0
	if s.hash != nil {
		s.hash.Reset()
	}
}

// wrote takes note of a write whose page fragments have the given sums.
func (s *streamSums) wrote(p []byte, sums []uint32, off int64) {
	s.update.Wrote(off, int64(len(p)))
	if off < s.next {
		s.restart() // what was hashed has changed
	}
	// What comes out of order is read back at the end: several streams of one client write so.
	if off != s.next {
		return
	}
	if s.hash != nil {
		_, _ = s.hash.Write(p)
	}
	// The CRC32C of the file is combined from those of its fragments, in the order of the file.
	for _, sum := range sums {
		n := min(hemera.PageSize-s.next%hemera.PageSize, off+int64(len(p))-s.next)
		s.crc.Append(sum, n)
		s.next += n
	}
}

// skip takes note of n zeros that follow and were not read; false, and nothing is noted, when digests
// would have to see more than allowed.
func (s *streamSums) skip(n, allowed int64) bool {
	if s.digests && s.holes+n > max(holesHashed, allowed) {
		return false
	}
	if s.hash != nil {
		s.hash.WriteZeros(n)
	}
	s.crc.Append(checksum.ZerosCRC32C(n), n)
	s.next, s.holes = s.next+n, s.holes+n
	return true
}

// truncated takes note of a new size. Bytes above the old size need no note: they are read back.
func (s *streamSums) truncated(size int64) {
	s.update.Cut(size)
	// A longer file has a hole at its end, which is read back as zeros.
	if size < s.next {
		s.restart()
	}
}

// finish reads what was not hashed yet, up to size, and returns the checksums: the kinds asked for
// in their order, then crc32c. Holes are not read; digests see as many bytes of them as are allowed.
func (s *streamSums) finish(size int64, src source, allowed int64) ([]hemera.Checksum, error) {
	if sums, ok := s.fromBase(size, src); ok {
		return sums, nil
	}
	// Read back in windows of the copy's size, at their borders: whole pages are what disks verify.
	if s.next < size {
		zeros := true // what was read last
		buf := newWindow(size - s.next)
		for s.next < size {
			if zeros {
				if next := nextData(src, s.next, size); next > s.next && !s.skip(next-s.next, allowed) {
					return nil, tooSparse(s.kinds)
				}
				if s.next == size {
					break
				}
			}
			// The first read ends at a window's end, so that all others are aligned.
			n := min(copyWindow-s.next%copyWindow, size-s.next)
			if err := buf.read(src, s.next, int(n)); err != nil {
				return nil, err
			}
			zeros = s.next%hemera.PageSize == 0 && checksum.MayBeZeros(buf.sums, int(n))
			s.wrote(buf.data, buf.sums, s.next)
		}
	}
	var sums []hemera.Checksum
	if s.hash != nil {
		sums = s.hash.Sums()
	}
	return append(sums, crcChecksum(s.crc.Sum())), nil
}

// crcChecksum returns a CRC32C in the shape of a stored checksum, which is big-endian.
func crcChecksum(crc uint32) hemera.Checksum {
	c := hemera.Checksum{Kind: hemera.CRC32C}
	binary.BigEndian.PutUint32(c.Value[:], crc)
	return c
}
