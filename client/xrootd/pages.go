package xrootd

import (
	"encoding/binary"
	"io"

	"hemera/rules/checksum"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// dataSink puts the bytes of a kXR_read into the caller's memory.
type dataSink struct {
	p   []byte
	got int // bytes so far
}

// take implements sink.
func (s *dataSink) take(r *receiver, f frame) error {
	if f.n > len(s.p)-s.got { // it would overwrite what is not ours
		return malformed("read answer is longer than what was asked for")
	}
	n, err := io.ReadFull(r, s.p[s.got:s.got+f.n])
	s.got += n
	return err
}

// pageSink puts the bytes of a kXR_pgread into the caller's memory, checking every page.
type pageSink struct {
	p    []byte
	sums []uint32 // nil if not wanted
	off  int64    // of p in the file
	got  int
	bad  []span // fragments that do not match their checksums
}

// span is a page fragment of a request: where it begins in p, and its length in bytes.
type span struct{ at, n int }

// take implements sink. A page that does not match is noted, not refused: it is asked for again alone.
func (s *pageSink) take(r *receiver, f frame) error {
	if f.n == 0 {
		return nil
	}
	// Frames come in the order of the file; one that says another offset would put bytes in a wrong place.
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

// takeBatch takes the next pages of a frame, each behind its checksum, as far as one system call may read. It returns how many of the
// left bytes of the frame they are.
func (s *pageSink) takeBatch(r *receiver, left int) (taken int, err error) {
	// Pages are read to their places first and checked there: a copy would cost more than asking for a bad page again.
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

// index is the number of the page fragment that begins at a place in p: its place in sums, which are one for each fragment.
func (s *pageSink) index(at int) int {
	return int((s.off+int64(at))/hemera.PageSize - s.off/hemera.PageSize)
}
