package namespace

import (
	"context"
	"slices"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
)

// MarkBroken implements Orphans. A record may outlive its piece; who reads it compares it with the entry.
func (n *Namespace) MarkBroken(ctx context.Context, b hemera.BadPiece, broken bool) error {
	return n.update(ctx, func(t *tx) error {
		if !broken {
			t.remove(schema.BrokenKey(b))
			return nil
		}
		now, err := t.byID(b.Piece.File)
		if err != nil || now == nil || now.Gen != b.Piece.Gen || !slices.Contains(now.Pieces, hemera.Piece{Index: b.Piece.Index, Disk: b.Disk}) {
			return err
		}
		t.mark(schema.BrokenKey(b))
		return nil
	})
}

// BrokenPieces implements Orphans.
func (n *Namespace) BrokenPieces(ctx context.Context, limit int) (list []hemera.BadPiece, err error) {
	err = n.store.Scan(ctx, schema.TableKey(schema.TableBroken), schema.PrefixEnd(schema.TableKey(schema.TableBroken)), func(k, _ []byte) bool {
		if len(k) == schema.PieceIDKeyBytes {
			list = append(list, hemera.BadPiece{Disk: schema.DiskOf(k), Piece: schema.PieceIDOf(k)})
		}
		return len(list) < limit
	})
	if err != nil {
		return nil, errs.Wrap(err, "namespace.BrokenPieces", "")
	}
	return list, n.outside(ctx)
}

// broken looks at the form of the records alone: what they say nobody else says.
func (c *checker) broken() error {
	return c.keyed(schema.TableKey(schema.TableBroken), schema.PieceIDKeyBytes, func(k, raw []byte) error {
		if len(raw) > 0 {
			c.problem("broken piece %x: %v", k, schema.ErrRecord)
		}
		return nil
	})
}
