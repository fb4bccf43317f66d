package transfer

import (
	"encoding/binary"

	"hemera"
	"hemera/checksum"
)

// streamSums computes the whole-file checksums of a write while it streams. It has hashed the
// first next bytes; what was written elsewhere is read back at the end. CRC32C costs no pass over
// the data: it is put together from the page checksums.
type streamSums struct {
	kinds []hemera.ChecksumKind // without crc32c
	hash  *checksum.Multi       // nil when kinds is empty
	crc   checksum.Appender
	next  int64
}

func newStreamSums(kinds []hemera.ChecksumKind) (*streamSums, error) {
	s := &streamSums{}
	for _, k := range kinds {
		if k != hemera.CRC32C && k != hemera.ChecksumNone {
			s.kinds = append(s.kinds, k)
		}
	}
	if len(s.kinds) == 0 {
		return s, nil
	}
	hash, err := checksum.NewMulti(s.kinds...)
	s.hash = hash
	return s, err
}

func (s *streamSums) restart() {
	s.crc, s.next = checksum.Appender{}, 0
	if s.hash != nil {
		s.hash.Reset()
	}
}

// wrote takes note of a write whose page fragments have the given sums.
func (s *streamSums) wrote(p []byte, sums []uint32, off int64) {
	if off < s.next {
		s.restart() // what was hashed has changed
	}
	if off != s.next {
		return
	}
	if s.hash != nil {
		_, _ = s.hash.Write(p)
	}
	for _, sum := range sums {
		n := min(hemera.PageSize-s.next%hemera.PageSize, off+int64(len(p))-s.next)
		s.crc.Append(sum, n)
		s.next += n
	}
}

// truncated takes note of a new size. Bytes above the old size need no note: they are read back.
func (s *streamSums) truncated(size int64) {
	if size < s.next {
		s.restart()
	}
}

// finish reads what was not hashed yet, up to size, and returns the checksums: the kinds asked for
// in their order, then crc32c.
func (s *streamSums) finish(size int64, src source) ([]hemera.Checksum, error) {
	if s.next < size {
		buf := make([]byte, copyWindow)
		frags := make([]uint32, copyWindow/hemera.PageSize+1)
		for s.next < size {
			// The first read ends at a window's end, so that all others are aligned.
			n := min(copyWindow-s.next%copyWindow, size-s.next)
			if err := readFull(src, buf[:n], frags, s.next); err != nil {
				return nil, err
			}
			s.wrote(buf[:n], frags[:checksum.Fragments(s.next, int(n))], s.next)
		}
	}
	var sums []hemera.Checksum
	if s.hash != nil {
		sums = s.hash.Sums()
	}
	return append(sums, crcChecksum(s.crc.Sum())), nil
}

func crcChecksum(crc uint32) hemera.Checksum {
	c := hemera.Checksum{Kind: hemera.CRC32C}
	binary.BigEndian.PutUint32(c.Value[:], crc)
	return c
}
