package namespace

import (
	"context"

	"hemera/words/hemera"
)

// tapeTree is tapes.Tree: what the catalogue of tapes needs of the tree to make files.
type tapeTree struct{ *Namespace }

// MakeParents implements tapes.Tree.
func (n tapeTree) MakeParents(ctx context.Context, path string, mode uint32) error {
	return n.makeParents(ctx, hemera.SystemIdentity(), path, mode)
}

// TakeNumber implements tapes.Tree.
func (n tapeTree) TakeNumber(ctx context.Context) (uint64, error) { return n.numbers.Take(ctx) }

// RaiseNumbers implements tapes.Tree.
func (n tapeTree) RaiseNumbers(ctx context.Context, past uint64) error {
	return n.numbers.Raise(ctx, past)
}

// Life implements tapes.Tree.
func (n tapeTree) Life() uint64 { return n.life }

// NextNumber implements tapes.Tree.
func (n tapeTree) NextNumber() uint64 { return n.numbers.Next() }
