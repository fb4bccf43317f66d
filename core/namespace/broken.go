package namespace

import (
	"context"
	"slices"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
)

// MarkBroken implements Orphans. A record may outlive its piece; who reads it compares it with the entry.
func (n Pieces) MarkBroken(ctx context.Context, b hemera.BadPiece, broken bool) error {
	return n.update(ctx, func(t tx) error {
		if !broken {
			t.Remove(schema.BrokenKey(b))
			return nil
		}
		now, err := t.ByID(b.Piece.File)
		if err != nil || now == nil || now.Gen != b.Piece.Gen || !slices.Contains(now.Pieces, hemera.Piece{Index: b.Piece.Index, Disk: b.Disk}) {
			return err
		}
		t.Mark(schema.BrokenKey(b))
		return nil
	})
}

// BrokenPieces implements Orphans.
func (n Pieces) BrokenPieces(ctx context.Context, limit int) (list []hemera.BadPiece, err error) {
	err = n.records.Engine().Scan(ctx, schema.TableKey(schema.TableBroken), schema.PrefixEnd(schema.TableKey(schema.TableBroken)), func(k, _ []byte) bool {
		if len(k) == schema.PieceIDKeyBytes {
			list = append(list, hemera.BadPiece{Disk: schema.DiskOf(k), Piece: schema.PieceIDOf(k)})
		}
		return len(list) < limit
	})
	if err != nil {
		return nil, errs.Wrap(err, "namespace.BrokenPieces", "")
	}
	return list, n.records.Settle(ctx)
}
