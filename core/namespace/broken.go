package namespace

import (
	"context"
	"slices"

	"hemera"
	"hemera/errs"
)

// MarkBroken implements Orphans. A record may outlive its piece; who reads it compares it with the entry.
func (n *Namespace) MarkBroken(ctx context.Context, b hemera.BadPiece, broken bool) error {
	return n.update(ctx, func(t *tx) error {
		if !broken {
			t.remove(brokenKey(b))
			return nil
		}
		now, err := t.byID(b.Piece.File)
		if err != nil || now == nil || now.Gen != b.Piece.Gen || !slices.Contains(now.Pieces, hemera.Piece{Index: b.Piece.Index, Disk: b.Disk}) {
			return err
		}
		t.mark(brokenKey(b))
		return nil
	})
}

// BrokenPieces implements Orphans.
func (n *Namespace) BrokenPieces(ctx context.Context, limit int) (list []hemera.BadPiece, err error) {
	err = n.store.Scan(ctx, key(tabBroken), after(key(tabBroken)), func(k, _ []byte) bool {
		if len(k) == brokenKeyBytes {
			list = append(list, hemera.BadPiece{Disk: diskOf(k), Piece: pieceOf(k[6:])})
		}
		return len(list) < limit
	})
	if err != nil {
		return nil, errs.Wrap(err, "namespace.BrokenPieces", "")
	}
	return list, n.outside(ctx)
}

const brokenKeyBytes = 23

func brokenKey(b hemera.BadPiece) []byte { return appendPieceID(diskKey(tabBroken, b.Disk), b.Piece) }

// broken looks at the form of the records alone: what they say nobody else says.
func (c *checker) broken() error {
	return c.keyed(key(tabBroken), brokenKeyBytes, func(k, raw []byte) error {
		if len(raw) > 0 {
			c.problem("broken piece %x: %v", k, errRecord)
		}
		return nil
	})
}
