package transfer

import (
	"context"

	"hemera"
	"hemera/errs"
	"hemera/rules/erasure"
)

// content is where the bytes of a pending write are. A [Writer] has one at a time, and goes from one to the next:
//
//	            grows, is synced                  first change
//	inline ────────────────────────▶ pieces ◀──────────────────── baseView
//	(memory)      (spill)           (disks)        (copyBase)      (of an update)
//	   ▲                                                              │
//	   └──────────────────────── truncated to nothing ────────────────┘
//
// Methods may block on disks and other nodes. They are called by the holder of the write's turn only.
type content interface {
	// writePages puts p at off. sums are the CRC32Cs of its page fragments. hash, if not nil, is given the pages too;
	// that costs no time where devices are waited for.
	writePages(p []byte, sums []uint32, off int64, hash *streamSums) error
	// truncate cuts the content, or extends it with zeros.
	truncate(size int64) error
	// readPages reads p, which lies within the size, and sets sums if not nil.
	readPages(p []byte, sums []uint32, off int64) (int, error)
	// nextData is as in [hemera.Sparse].
	nextData(off int64) (int64, error)
	// sync makes durable what is in pieces.
	sync(ctx context.Context) error
	// drop releases memory and readers. Pieces stay.
	drop()
}

// head is what the parts of one write share at the node that the client writes to. Fields that change belong to the
// holder of the write's turn.
type head struct {
	host   *Host
	cap    *hemera.Capability // of the first permit; not to be changed
	ctx    context.Context    // ends with Abort
	permit *hemera.Permit     // as granted last: a replacement renews it
	code   *erasure.Code      // of a coded layout with parity; else nil
	broken error              // why the write cannot succeed any more
}

// fail ends the write for good and returns err.
func (h *head) fail(err error) error {
	h.broken = err
	return err
}

// pendingSource is the content as a source for the whole-file checksums.
type pendingSource struct{ content }

// ReadPages implements source.
func (s pendingSource) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	return s.readPages(p, sums, off)
}

// NextData implements source.
func (s pendingSource) NextData(off int64) (int64, error) { return s.nextData(off) }

// baseView is the content of an update that has changed nothing yet: its base, as it was committed. Nothing is opened
// before the first read.
type baseView struct{ *Reader }

// newBaseView returns the content that an update begins from: the same file, with the generation, size and pieces of
// the base. Other nodes open those pieces by the capability of the update, which names them as the base.
func newBaseView(h *head) baseView {
	base := h.permit.Capability
	base.Gen, base.Size, base.Targets = base.Base.Gen, base.Base.Size, base.Base.Pieces
	r := h.host.newReader(&base, h.permit)
	r.base = true
	return baseView{r}
}

// writePages is not called: the first change makes pieces.
func (b baseView) writePages([]byte, []uint32, int64, *streamSums) error {
	return readOnly("transfer.Write", subject(b.cap))
}

// truncate is not called: the first change makes pieces.
func (b baseView) truncate(int64) error { return readOnly("transfer.Truncate", subject(b.cap)) }

// readPages implements content.
func (b baseView) readPages(p []byte, sums []uint32, off int64) (int, error) {
	return b.ReadPages(p, sums, off)
}

// nextData implements content.
func (b baseView) nextData(off int64) (int64, error) { return b.NextData(off) }

// sync has nothing to do: the base is durable.
func (b baseView) sync(context.Context) error { return nil }

// drop closes the pieces of the base.
func (b baseView) drop() { b.Close() }

// copyTo fills fresh pieces with the first keep bytes. The content passes through the head once, whatever the number
// of pieces, and its holes not at all. wrote is told how many bytes each step had.
func (b baseView) copyTo(p *pieces, keep int64, hash *streamSums, wrote func(n int)) error {
	buf := newWindow(keep)
	zeros, end := false, int64(0)
	for off := int64(0); off < keep; off += copyWindow {
		if zeros {
			next := nextData(b, off, keep)
			if next > off && hash.next == off {
				hash.skip(next-off, 0)
			}
			// Holes of the base are holes of the new pieces; only the checksums have to see them.
			if off = next; off == keep {
				break
			}
		}
		if err := buf.read(b, off, int(min(copyWindow, keep-off))); err != nil {
			return p.head.fail(errs.Wrap(err, "transfer.Update", subject(p.head.cap)))
		}
		// Pages go on with the checksums that the base vouches for, so a bit that flips here is noticed at the disk.
		lost := p.lost
		if err := p.send(buf.data, buf.sums, off, hash); err != nil {
			return err
		}
		wrote(len(buf.data))
		zeros, end = allZeros(buf.sums, len(buf.data)), off+int64(len(buf.data))
		if p.lost != lost { // a call that is stuck may still look at it
			buf = newWindow(keep)
		}
	}
	if end < keep {
		return p.truncate(keep)
	}
	return nil
}
