package maint

import (
	"context"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// trail is the directories that a walk is in, below those that its root is in. The zero value is a walk that did not begin.
type trail []hemera.FileID

// begin makes the trail of a walk of root: itself, and all directories above it.
func (s *base) begin(ctx context.Context, root hemera.Entry) (t trail, err error) {
	if root.IsDir() {
		t = append(t, root.ID)
	}
	for at := root; err == nil && at.ID != hemera.RootID; {
		if at, _, err = s.Files.Resolve(ctx, at.Parent); err == nil {
			t = append(t, at.ID)
		}
	}
	return t, errs.Wrap(err, "maint.Convert", "fxid:"+root.ID.Hex())
}

// enter and leave follow the walk.
func (t *trail) enter(dir hemera.FileID) { *t = append(*t, dir) }

func (t *trail) leave() { *t = (*t)[:len(*t)-1] }
