package node

import (
	"context"
	"errors"
	"io"

	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// sumStep is how many bytes of a file are read at once for a checksum: some blocks of a coded layout, so that their pieces
// are read at the same time.
const sumStep = 4 << 20

// sum reads a whole file and computes one checksum of it, for coded files: none of their pieces has the whole content. It takes any
// pieces that are enough, as a reader does, and verifies each page on the way. So the result is that of what was committed,
// or there is none.
//
// It blocks until all of the file was read. The end of the context stops it, which is how the manager ends it when the last
// client that waited has left. NoReplicas if too few pieces can be read from here; the manager then asks another node, which
// may see more of them. Nothing is written, so it may be done again.
//
// It takes sumStep of memory and one lane of its disk, the same as checksums of copies.
func (r *orders) sum(ctx context.Context, o hemera.Order) ([]hemera.Checksum, error) {
	c, err := r.verify(o.Token)
	if err != nil {
		return nil, errs.As(err, errs.Denied, "node.Sum", o.Piece.String())
	}
	if c.Access != hemera.AccessRead || c.File != o.Piece.File || c.Gen != o.Piece.Gen {
		return nil, errs.New(errs.Invalid, "node.Sum", o.Piece.String(), "the capability is not for reading this content")
	}
	// A kind that this version does not know is refused before anything is read.
	hash, err := checksum.NewMulti(o.Checksum)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "node.Sum", o.Piece.String())
	}
	// Pieces on this node are read without the network: the manager asks a node that has one.
	src, err := r.host.OpenReader(hemera.VerifiedPermit(c, o.Token))
	if err != nil {
		return nil, err
	}
	defer src.Close()
	// One buffer for the whole file, no larger than the file is.
	buf := make([]byte, min(sumStep, c.Size))
	stuck := 0
	for off := int64(0); off < c.Size; {
		if err := ctx.Err(); err != nil {
			return nil, errs.Wrap(err, "node.Sum", o.Piece.String())
		}
		n, err := src.ReadPages(buf, nil, off)
		// The memory is that of the read that is stuck. Each of them leaves a piece out, so this ends.
		if hemera.KeepsBuffers(err) && stuck < hemera.CodedPiecesMax {
			buf = make([]byte, len(buf))
			stuck++
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		_, _ = hash.Write(buf[:n]) // a hash does not fail
		off += int64(n)
	}
	return hash.Sums(), nil
}
