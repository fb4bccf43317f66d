package node

import (
	"context"
	"errors"
	"io"

	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// sumStep is the number of bytes that are read at once for a checksum: some blocks of a coded layout, so that their
// pieces are read at the same time.
const sumStep = 4 << 20

// sum reads a whole file and computes one checksum of it. It is for coded files, whose pieces do not have the whole
// content. It reads any sufficient pieces, like a reader, and verifies each page. So the result is that of the committed
// content, or an error.
//
// It blocks until the whole file was read. The end of ctx stops it: the manager cancels it when the last client that
// waited has left. It fails with NoReplicas if this node can read too few pieces; the manager then asks another node. It
// writes nothing, so it can be repeated.
//
// It uses sumStep of memory and the lane of checksums of its disk.
func (r *orders) sum(ctx context.Context, o hemera.Order) ([]hemera.Checksum, error) {
	c, err := r.verify(o.Token)
	if err != nil {
		return nil, errs.As(err, errs.Denied, "node.Sum", o.Piece.String())
	}
	if c.Access != hemera.AccessRead || c.File != o.Piece.File || c.Gen != o.Piece.Gen {
		return nil, errs.New(errs.Invalid, "node.Sum", o.Piece.String(), "the capability is not for reading this content")
	}
	// An unknown kind fails before anything is read.
	hash, err := checksum.NewMulti(o.Checksum)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "node.Sum", o.Piece.String())
	}
	// Pieces on this node are read without the network: the manager chooses a node that has one.
	src, err := r.host.OpenReader(hemera.VerifiedPermit(c, o.Token))
	if err != nil {
		return nil, err
	}
	defer src.Close()
	// One buffer for the whole file, at most as large as the file.
	buf := make([]byte, min(sumStep, c.Size))
	stuck := 0
	for off := int64(0); off < c.Size; {
		if err := ctx.Err(); err != nil {
			return nil, errs.Wrap(err, "node.Sum", o.Piece.String())
		}
		n, err := src.ReadPages(buf, nil, off)
		// The memory belongs to the stuck read. Each repetition leaves out a piece, so this ends.
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
