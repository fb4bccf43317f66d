package namespace

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// tapeTree is tapes.Tree: what the catalogue of tapes needs of the tree to make files.
type tapeTree struct {
	engine *engine
	tree   *Tree
	past   *Past
}

// MakeParents implements tapes.Tree.
func (n tapeTree) MakeParents(ctx context.Context, path string, mode uint32) error {
	return n.tree.makeParents(ctx, hemera.SystemIdentity(), path, mode)
}

// TakeNumber implements tapes.Tree.
func (n tapeTree) TakeNumber(ctx context.Context) (uint64, error) { return n.engine.numbers.Take(ctx) }

// RaiseNumbers implements tapes.Tree.
func (n tapeTree) RaiseNumbers(ctx context.Context, past uint64) error {
	return n.engine.numbers.Raise(ctx, past)
}

// Life implements tapes.Tree.
func (n tapeTree) Life() uint64 { return n.past.life }

// Lost implements tapes.Tree.
func (n tapeTree) Lost(p hemera.PieceID, sealed time.Time) bool { return n.past.Lost(p, sealed) }

// NextNumber implements tapes.Tree.
func (n tapeTree) NextNumber() uint64 { return n.engine.numbers.Next() }

// Restored implements tapes.Tree.
func (n tapeTree) Restored() bool { return n.past.Restored() }
