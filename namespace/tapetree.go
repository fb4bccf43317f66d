package namespace

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// tapeTree is catalogue.Tree: what the catalogue of tapes needs of the tree to make files.
type tapeTree struct {
	tree *Tree
	past *Past
}

// MakeParents implements catalogue.Tree.
func (n tapeTree) MakeParents(ctx context.Context, path string, mode uint32) error {
	return n.tree.makeParents(ctx, hemera.SystemIdentity(), path, mode)
}

// Lost implements catalogue.Tree.
func (n tapeTree) Lost(p hemera.PieceID, sealed time.Time) bool { return n.past.Lost(p, sealed) }

// Restored implements catalogue.Tree.
func (n tapeTree) Restored() bool { return n.past.Restored() }
