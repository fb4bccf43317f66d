package schema

import (
	"hemera/rules/layout"
	"hemera/words/hemera"
)

// What the indexes and totals say of an entry follows from the entry alone, by these rules. The tree keeps the
// results up to date with every change; the checker works them out again.

// PieceBytes returns the number of bytes of data that the file's piece with the index holds.
func PieceBytes(e *hemera.Entry, index uint8) int64 { return layout.PieceSize(e.Layout, e.Size, index) }

// Physical returns the number of bytes of data that all pieces of the file hold.
func Physical(e *hemera.Entry) int64 { return layout.Used(e.Layout, e.Size, e.Pieces) }

// Incomplete reports whether the file has fewer pieces than its layout, so that repair has something to do.
// A file without bytes needs no pieces, and one that is on tape only has none.
func Incomplete(e *hemera.Entry) bool {
	return e.Kind == hemera.KindFile && !e.Evicted() && len(e.Pieces) < layout.Count(e.Layout, e.Size)
}

// Weight returns what a file adds to the totals of the directories above it.
func Weight(e *hemera.Entry) hemera.TreeTotals {
	return hemera.TreeTotals{Files: 1, Bytes: e.Size, Physical: Physical(e)}
}

// FileUsage returns what a file uses of a quota.
func FileUsage(e *hemera.Entry) hemera.QuotaAmount {
	return hemera.QuotaAmount{Files: 1, Bytes: e.Size, Physical: Physical(e)}
}

// TreeUsage returns what a whole tree uses of a quota.
func TreeUsage(tree hemera.TreeTotals) hemera.QuotaAmount {
	return hemera.QuotaAmount{Files: tree.Files, Bytes: tree.Bytes, Physical: tree.Physical}
}

// WriteNumber returns the number of the write that makes a piece: the file's id, or the generation of a later content.
// Both come from one sequence. A file's first generation is always 1, which is the number of no write.
func WriteNumber(p hemera.PieceID) hemera.FileID {
	if p.Gen == 1 {
		return p.File
	}
	return hemera.FileID(p.Gen)
}
