package filesum

import (
	"fmt"
	"slices"

	"hemera/rules/checksum"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Stream computes the whole-file checksums of a write while it streams. It has hashed the
// first next bytes; what was written elsewhere is read back at the end. CRC32C costs no pass over
// the data: it is put together from the page checksums.
type Stream struct {
	kinds []hemera.ChecksumKind // without crc32c
	hash  *checksum.Multi       // nil when kinds is empty
	crc   checksum.Appender
	next  int64
	// digests is set when a kind must see zeros too; holes is how many of those it was spared or shown.
	digests bool
	holes   int64
	// update, if not nil, has what changed of base: then most bytes need not be read for linear checksums.
	update *Update
	base   piece.Source
}

// New returns the sums of an empty content: of the kinds, and CRC32C always. It fails for kinds that are not
// known.
func New(kinds []hemera.ChecksumKind) (*Stream, error) {
	s := &Stream{}
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

// Follow has the checksums of an update follow from those of its base, if they can.
func (s *Stream) Follow(c *hemera.Capability, base piece.Source) {
	s.base = base
	s.update = newUpdate(c.Base.Size, c.Sums, append(slices.Clone(s.kinds), hemera.CRC32C))
}

// restart forgets everything: what was hashed has changed, and is read back at the end.
func (s *Stream) restart() {
	s.crc, s.next, s.holes = checksum.Appender{}, 0, 0
	if s.hash != nil {
		s.hash.Reset()
	}
}

// Wrote takes note of a write whose page fragments have the given sums.
func (s *Stream) Wrote(p []byte, sums []uint32, off int64) {
	s.update.Wrote(off, int64(len(p)))
	if off < s.next {
		s.restart() // what was hashed has changed
	}
	// Bytes that come out of order are read back at the end: several streams of one client write so.
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
func (s *Stream) skip(n, allowed int64) bool {
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

// Truncated takes note of a new size. Bytes above the old size need no note: they are read back.
func (s *Stream) Truncated(size int64) {
	s.update.Cut(size)
	// A longer file has a hole at its end, which is read back as zeros.
	if size < s.next {
		s.restart()
	}
}

// Finish reads what was not hashed yet, up to size, and returns the checksums: the kinds asked for
// in their order, then crc32c. Holes are not read; digests see as many bytes of them as are allowed.
func (s *Stream) Finish(size int64, src piece.Source, allowed int64) ([]hemera.Checksum, error) {
	if sums, ok := s.fromBase(size, src); ok {
		return sums, nil
	}
	// Read back in windows of the copy's size, at their borders: whole pages are what disks verify.
	if s.next < size {
		zeros := true // what was read last
		buf := piece.NewWindow(size - s.next)
		for s.next < size {
			if zeros {
				if next := piece.NextData(src, s.next, size); next > s.next && !s.skip(next-s.next, allowed) {
					return nil, tooSparse(s.kinds)
				}
				if s.next == size {
					break
				}
			}
			// The first read ends at a window's end, so that all others are aligned.
			n := min(piece.CopyWindow-s.next%piece.CopyWindow, size-s.next)
			if err := buf.Read(src, s.next, int(n)); err != nil {
				return nil, err
			}
			zeros = s.next%hemera.PageSize == 0 && checksum.MayBeZeros(buf.Sums, int(n))
			s.Wrote(buf.Data, buf.Sums, s.next)
		}
	}
	var sums []hemera.Checksum
	if s.hash != nil {
		sums = s.hash.Sums()
	}
	return append(sums, piece.CRC32C(s.crc.Sum())), nil
}

// fromBase returns the checksums of an update's content of size bytes without reading all of it; false if that is not
// possible, or reads more than the other way, which reads what follows the first next bytes.
func (s *Stream) fromBase(size int64, now piece.Source) ([]hemera.Checksum, bool) {
	cost, ok := s.update.Cost(size)
	if !ok || cost >= size-s.next {
		return nil, false
	}
	buf := piece.NewWindow(piece.CopyWindow)
	from := func(src piece.Source) Read {
		return func(off int64, n int) ([]byte, error) {
			err := buf.Read(src, off, n)
			return buf.Data, err
		}
	}
	// A base that cannot be read any more is no reason to fail.
	sums, err := s.update.Sums(size, from(s.base), from(now))
	return sums, err == nil
}

// holesHashed bounds the bytes of holes that a close hashes for digests such as md5, which must see every byte; as many
// as the client sent, if that is more. Other checksums take a hole by its length.
const holesHashed = 1 << 30

// tooSparse returns the error for a digest, one of the kinds, that is not made.
func tooSparse(kinds []hemera.ChecksumKind) error {
	// Checksums that are linear combine the zeros of a hole in no time; digests have to be fed with them.
	digest := kinds[slices.IndexFunc(kinds, func(k hemera.ChecksumKind) bool { return !checksum.SkipsZeros(k) })]
	return errs.New(errs.TooLarge, "transfer.Checksum", "",
		fmt.Sprintf("%s must see every byte, and more than %d GiB of the file are holes, and more than was written to it", digest, holesHashed>>30)).
		WithRemedy("store it where policy.checksum is adler32, crc32c, crc64nvme, crc32 or zcrc32, which holes cost nothing, or write its zeros")
}
