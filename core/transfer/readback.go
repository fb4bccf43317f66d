package transfer

import (
	"context"
	"errors"
	"io"

	"hemera/errs"
	"hemera/rules/checksum"
)

// readBack reads pending content: from memory or the base while there are no pieces, then from a local
// piece, and from another node's when no local one is left. A piece that cannot be read is lost.
func (w *Writer) readBack(p []byte, sums []uint32, off int64) (int, error) {
	if w.small != nil {
		n := copy(p, w.small.data[min(off, int64(len(w.small.data))):])
		if sums != nil {
			checksum.PageSums(p[:n], off, sums)
		}
		return n, nil
	}
	if w.pieces == nil {
		if w.base == nil {
			return 0, io.EOF
		}
		return w.base.ReadPages(p, sums, off)
	}
	for {
		src, i, closeSource, err := w.pending()
		if err != nil {
			return 0, err
		}
		n, err := src.ReadPages(p, sums, off)
		closeSource()
		if err == nil || errors.Is(err, io.EOF) {
			return n, err
		}
		w.lose(i, err)
		if !w.ledger.writable() {
			return 0, w.fail("transfer.Read", everyPieceFailed)
		}
	}
}

// pending finds a live piece that can be read, the local ones first, and its number.
func (w *Writer) pending() (source, int, func(), error) {
	for i, pc := range w.pieces {
		if w.ledger.states[i] == live && pc.local != nil {
			return pc.local, i, func() {}, nil
		}
	}
	for i, pc := range w.pieces {
		if w.ledger.states[i] != live {
			continue
		}
		ctx, cancel := context.WithTimeout(w.ctx, callTimeout)
		defer cancel()
		if err := pc.out.Sync(ctx); err != nil {
			w.lose(i, err)
			continue
		}
		r, err := w.host.openPeer(ctx, w.permit, RemotePiece{Target: pc.target})
		if err != nil {
			w.lose(i, err)
			continue
		}
		return r, i, func() { _ = r.Close() }, nil
	}
	return nil, 0, nil, w.fail("transfer.Read", everyPieceFailed)
}

// pendingSource is the writer as a source for its own checksums; the caller holds the lock.
type pendingSource struct{ w *Writer }

// ReadPages reads pending content back.
func (s pendingSource) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	return s.w.readBack(p, sums, off)
}

// copyBase fills fresh pieces with the first keep bytes of the base. The content streams through
// the head once, whatever the number of pieces, and its holes not at all.
func (w *Writer) copyBase(keep int64) error {
	base := w.base
	w.base = nil
	defer base.Close()
	buf := newWindow()
	zeros, end := false, int64(0)
	for off := int64(0); off < keep; off += copyWindow {
		if zeros {
			next := nextData(base, off, keep)
			if next > off && w.sums.next == off {
				w.sums.skip(next-off, 0)
			}
			if off = next; off == keep {
				break
			}
		}
		p := buf.data[:min(copyWindow, keep-off)]
		sums := buf.sums[:checksum.Fragments(off, len(p))]
		if err := readFull(base, p, sums, off); err != nil {
			w.broken = errs.Wrap(err, "transfer.CopyContentBefore", subject(w.cap))
			return w.broken
		}
		if err := w.send(p, sums, off, func() { w.sums.wrote(p, sums, off) }); err != nil {
			return err
		}
		w.wrote(p, off)
		zeros, end = allZeros(sums, len(p)), off+int64(len(p))
	}
	if end < keep {
		return w.fanOut(diskPatience, func(out PeerWriter) error { return out.Truncate(keep) }, nil)
	}
	return nil
}
