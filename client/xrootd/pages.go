package xrootd

import (
	"encoding/binary"
	"io"

	"hemera/rules/checksum"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// dataSink stores the bytes of a kXR_read in the caller's memory.
type dataSink struct {
	p   []byte
	got int // bytes so far
}

// take implements sink.
func (s *dataSink) take(r *receiver, f frame) error {
	if f.n > len(s.p)-s.got { // it would overwrite other memory
		return malformed("read answer is longer than what was asked for")
	}
	n, err := io.ReadFull(r, s.p[s.got:s.got+f.n])
	s.got += n
	return err
}

// pageSink stores the bytes of a kXR_pgread in the caller's memory, and checks every page.
type pageSink struct {
	p    []byte
	sums []uint32 // nil if not wanted
	off  int64    // of p in the file
	got  int
	bad  []span // fragments that do not match their checksums
}

// span is a page fragment of a request: its offset in p, and its length in bytes.
type span struct{ at, n int }

// take implements sink. It records a page that does not match, which is then requested again alone.
func (s *pageSink) take(r *receiver, f frame) error {
	if f.n == 0 {
		return nil
	}
	// Frames are in the order of the file; with another offset the bytes would go to a wrong place.
	if !f.paged || f.offset != s.off+int64(s.got) {
		return malformed("page answer for offset %d, not %d", f.offset, s.off+int64(s.got))
	}
	for left := f.n; left > 0; {
		n, err := s.takeBatch(r, left)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// takeBatch reads the next pages of a frame, each after its checksum, as many as one system call may read. It returns the
// number of bytes of the frame that it read, of left.
func (s *pageSink) takeBatch(r *receiver, left int) (taken int, err error) {
	// Pages are read to their final places first and checked there: copying all pages would take longer than requesting a
	// bad one again.
	var sums [batchPages][4]byte
	var places [2 * batchPages][]byte
	at, count := s.got, 0
	for ; taken < left && count < batchPages; count++ {
		n := wire.FragmentLen(s.off+int64(at), left-taken-4)
		if n <= 0 || n > len(s.p)-at {
			return 0, malformed("page answer does not fit what was asked for")
		}
		places[2*count], places[2*count+1] = sums[count][:], s.p[at:at+n]
		at, taken = at+n, taken+4+n
	}
	if err := r.readInto(places[:2*count]); err != nil {
		return 0, err
	}
	for _, sum := range sums[:count] {
		n := wire.FragmentLen(s.off+int64(s.got), at-s.got)
		want := binary.BigEndian.Uint32(sum[:])
		if checksum.CRC32C(s.p[s.got:s.got+n]) != want {
			s.bad = append(s.bad, span{s.got, n})
		}
		if s.sums != nil {
			s.sums[s.index(s.got)] = want
		}
		s.got += n
	}
	return taken, nil
}

// index returns the number of the page fragment that begins at a place in p, which is its index in sums.
func (s *pageSink) index(at int) int {
	return int((s.off+int64(at))/hemera.PageSize - s.off/hemera.PageSize)
}
