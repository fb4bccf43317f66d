package namespace

import (
	"context"
	"slices"

	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A broken piece is one that is known to be bad, where nothing good is left to repair it from. Remembering it
// keeps repair from reading the same bad pages again after every restart, and gives admins a list of lost files.

// MarkBroken remembers that a piece is bad and nothing good is left to repair it from, or forgets that. It
// remembers only pieces that the file has now. A record may outlive its piece: readers compare it with the entry.
func (n *Pieces) MarkBroken(ctx context.Context, b hemera.BadPiece, broken bool) error {
	return n.engine.update(ctx, func(t tx) error {
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

// BrokenPieces lists up to limit remembered pieces, by disk.
func (n *Pieces) BrokenPieces(ctx context.Context, limit int) (list []hemera.BadPiece, err error) {
	err = n.engine.records.Engine().Scan(ctx, schema.TableKey(schema.TableBroken), schema.PrefixEnd(schema.TableKey(schema.TableBroken)), func(k, _ []byte) bool {
		if len(k) == schema.PieceIDKeyBytes {
			list = append(list, hemera.BadPiece{Disk: schema.DiskOf(k), Piece: schema.PieceIDOf(k)})
		}
		return len(list) < limit
	})
	if err != nil {
		return nil, errs.Wrap(err, "namespace.BrokenPieces", "")
	}
	return list, n.engine.records.Settle(ctx)
}
