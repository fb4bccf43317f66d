package transfer

import (
	"context"
	"errors"
	"io"

	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/transfer/ledger"
	"hemera/words/hemera"
)

// readBack reads pending pieces: what was written and is not sealed. Its calls are those of the turn's holder. A piece that
// cannot be read is lost from then on. After a stalled read the buffer belongs to the call that is stuck, and the error says
// so: the next piece is left to the next read.
type readBack struct{ of *pieces }

// pages reads p at off, which lies within the size, and sets sums if not nil.
func (r readBack) pages(b []byte, sums []uint32, off int64) (int, error) {
	if r.of.parity == nil {
		return r.copy(b, sums, off)
	}
	for _, span := range layout.Split(r.of.head.cap.Layout, off, len(b)) {
		if err := r.piece(int(span.Column), b[span.At:span.At+span.Len], span.Off); err != nil {
			return 0, err
		}
	}
	if sums != nil {
		checksum.PageSums(b, off, sums)
	}
	return len(b), nil
}

// copy reads from the first piece that can be read, of a layout of copies.
func (r readBack) copy(b []byte, sums []uint32, off int64) (int, error) {
	for {
		src, i, closeSource, err := r.source()
		if err != nil {
			return 0, err
		}
		n, err := src.ReadPages(b, sums, off)
		closeSource()
		if err == nil || errors.Is(err, io.EOF) {
			return n, err
		}
		r.of.lose(i, err)
		if err := r.of.writable("transfer.Read"); err != nil {
			return 0, err
		}
		// Another copy may have it, but not for a buffer that the stalled call may still write to.
		if hemera.KeepsBuffers(err) {
			return 0, err
		}
	}
}

// nextData is as in [hemera.Sparse], of a layout of copies.
func (r readBack) nextData(off int64) (int64, error) {
	src, _, closeSource, err := r.source()
	if err != nil {
		return off, err
	}
	defer closeSource()
	return src.NextData(off)
}

// source returns a live copy to read from, and its number: the local ones first.
func (r readBack) source() (source, int, func(), error) {
	// Reading a peer back costs a sync and an open there, as what was sent may still be on its way.
	for _, local := range []bool{true, false} {
		for i, pc := range r.of.list {
			if !r.of.ledger.Is(i, ledger.Live) || (pc.local != nil) != local {
				continue
			}
			src, closeSource, err := r.open(pc)
			if err != nil {
				r.of.lose(i, err)
				continue
			}
			return src, i, closeSource, nil
		}
	}
	return nil, 0, nil, r.of.fail("transfer.Read", r.of.ledger.Losses())
}

// open opens a live piece to read what was written to it: at another node, after everything that was sent there.
func (r readBack) open(pc *piece) (source, func(), error) {
	if pc.local != nil {
		return pc.local, func() {}, nil
	}
	h := r.of.head
	ctx, cancel := context.WithTimeout(h.ctx, callTimeout)
	defer cancel()
	if err := pc.out.Sync(ctx); err != nil {
		return nil, nil, err
	}
	peer, err := h.host.openPeer(ctx, h.permit, RemotePiece{Target: pc.target})
	if err != nil {
		return nil, nil, err
	}
	return peer, func() { _ = peer.Close() }, nil
}

// piece fills b with what the piece with the index, of a coded layout, has at off; what was never written is zeros. A data
// piece that is lost is computed from the others.
func (r readBack) piece(index int, b []byte, off int64) error {
	for {
		i := r.at(index)
		if r.gone(index) {
			return r.of.parity.rebuild(index, b, off)
		}
		if r.of.ledger.Is(i, ledger.Planned) {
			clear(b)
			return nil
		}
		err := r.live(i, b, off)
		if err == nil {
			return nil
		}
		r.of.lose(i, err)
		if err := r.of.writable("transfer.Read"); err != nil {
			return err
		}
		// Parity is not computed again: it counts as lost.
		if hemera.KeepsBuffers(err) || index >= int(r.of.head.cap.Layout.Data) {
			return err
		}
	}
}

// live fills b with what a live piece has at off.
func (r readBack) live(i int, b []byte, off int64) error {
	src, closeSource, err := r.open(r.of.list[i])
	if err != nil {
		return err
	}
	defer closeSource()
	n, err := src.ReadPages(b, nil, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		clear(b[n:])
		return nil
	}
	return err
}

// at returns the place of the piece with the index in the list; -1 if it never had a target.
func (r readBack) at(index int) int {
	for i, pc := range r.of.list {
		if int(pc.target.Index) == index {
			return i
		}
	}
	return -1
}

// gone reports whether what was written to the piece is lost.
func (r readBack) gone(index int) bool {
	i := r.at(index)
	return i < 0 || r.of.ledger.Is(i, ledger.Failed)
}
