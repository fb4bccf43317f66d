package transfer

import (
	"context"

	"hemera/transfer/filesum"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/transfer/read"
)

// content holds the bytes of a pending write. A [Writer] has one at a time, and goes from one to the next:
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
	writePages(p []byte, sums []uint32, off int64, hash *filesum.Stream) error
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

// newPieces plans the pieces of a write; it calls no disk.
func newPieces(h *head) *pieces {
	p := &pieces{head: h, list: make([]*headPiece, len(h.cap.Targets))}
	p.ledger = ledger.New(len(p.list), int(h.cap.PiecesMin), int(h.cap.Layout.Data))
	for i, t := range h.cap.Targets {
		p.list[i] = &headPiece{target: t}
	}
	if h.cap.Layout.Coded() {
		p.spread = newCodedPieces(p, h.cap.Layout, h.code)
	} else {
		p.spread = copiedPieces{p}
	}
	return p
}

// pendingSource is the content as a source for the whole-file checksums.
type pendingSource struct{ content }

// ReadPages implements piece.Source.
func (s pendingSource) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	return s.readPages(p, sums, off)
}

// NextData implements piece.Source.
func (s pendingSource) NextData(off int64) (int64, error) { return s.nextData(off) }

// baseView is the content of an update that has changed nothing yet: its base, as it was committed. Nothing is opened
// before the first read.
type baseView struct{ base *read.Reader }

// writePages fails. No caller reaches it: the first change makes pieces.
func (b baseView) writePages([]byte, []uint32, int64, *filesum.Stream) error {
	return piece.ReadOnly("transfer.Write", b.base.Name())
}

// truncate fails. No caller reaches it: the first change makes pieces.
func (b baseView) truncate(int64) error { return piece.ReadOnly("transfer.Truncate", b.base.Name()) }

// readPages implements content.
func (b baseView) readPages(p []byte, sums []uint32, off int64) (int, error) {
	return b.base.ReadPages(p, sums, off)
}

// nextData implements content.
func (b baseView) nextData(off int64) (int64, error) { return b.base.NextData(off) }

// sync has nothing to do: the base is durable.
func (b baseView) sync(context.Context) error { return nil }

// drop leaves the reader open: the end of the write closes it.
func (b baseView) drop() {}
