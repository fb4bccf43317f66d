package xrootd

import (
	"context"
	"io"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// Range is one part of a vector read: P is filled from Off on. Ranges may overlap and be in any order.
type Range struct {
	Off int64
	P   []byte
}

// ReadVector fills all ranges, which must lie within the file, with as few requests as the protocol's limits allow.
// Unlike other reads the bytes have no checksums on the wire; a server of Hemera has verified them.
func (f *File) ReadVector(ctx context.Context, ranges []Range) error {
	// One request after the other: a vector is small, and its parts are not in order of the file.
	for _, batch := range cutVector(ranges) {
		err := f.b.with(ctx, func(h *handle) error {
			payload := make([]byte, 0, len(batch)*wire.SegmentSize)
			for _, r := range batch {
				payload = wire.Segment{Handle: h.fh, Length: int32(len(r.P)), Offset: r.Off}.Append(payload)
			}
			s := &vectorSink{ranges: batch}
			if err := h.conn.roundTrip(ctx, s, wire.Readv{}, payload).failure("xrootd.Read", f.b.url.Redacted()); err != nil {
				return err
			}
			if s.next < len(batch) { // the server sent its last frame too early
				return errs.New(errs.IO, "xrootd.Read", f.b.url.Redacted(), "the answer lacks a part of the vector")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cutVector divides ranges into elements and requests within the protocol's limits: wire.ReadvElementMax bytes in an
// element, wire.VectorMax elements in a request. It drops empty ranges.
func cutVector(ranges []Range) [][]Range {
	var batches [][]Range
	var batch []Range
	for _, r := range ranges {
		for len(r.P) > 0 {
			n := min(len(r.P), wire.ReadvElementMax) // a longer range becomes several elements
			if len(batch) == wire.VectorMax {
				batches, batch = append(batches, batch), nil
			}
			batch = append(batch, Range{r.Off, r.P[:n]})
			r = Range{r.Off + int64(n), r.P[n:]}
		}
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches
}

// vectorSink distributes the answer of a readv: each element's header, then its data, in the order of the request.
type vectorSink struct {
	ranges []Range // in the order of the request
	next   int     // index of the range to fill next
}

// take implements sink. A frame has whole elements only.
func (s *vectorSink) take(r *receiver, f frame) error {
	var head [wire.SegmentSize]byte
	for left := f.n; left > 0; s.next++ {
		if left < len(head) || s.next == len(s.ranges) {
			return malformed("vector answer of wrong length")
		}
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		// Each element repeats its range, so that a wrong answer is noticed before it overwrites memory.
		want := s.ranges[s.next]
		left -= len(head) + len(want.P)
		if g := wire.ParseSegment(head[:]); int(g.Length) != len(want.P) || g.Offset != want.Off || left < 0 {
			return malformed("vector answer has %d bytes at %d, not %d at %d", g.Length, g.Offset, len(want.P), want.Off)
		}
		if _, err := io.ReadFull(r, want.P); err != nil {
			return err
		}
	}
	return nil
}
