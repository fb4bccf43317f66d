package manager

import (
	"context"

	"hemera"
	"hemera/core/namespace"
	"hemera/errs"
)

// A piece must not be recorded on a disk that was removed: nobody would look for it there, nor make it
// anew. So whoever records pieces looks at the view and writes while holding removal for reading, and
// a disk leaves the view while it is held for writing.

// remaining is the pieces on disks that are in the cluster. removal is held.
func (m *Manager) remaining(pieces []hemera.Piece) (list []hemera.Piece) {
	view := m.cluster.View()
	for _, p := range pieces {
		if _, ok := view.Disk(p.Disk); ok {
			list = append(list, p)
		}
	}
	return list
}

// commitRemaining commits what is on disks of the cluster, if that is enough; repair makes the rest.
func (m *Manager) commitRemaining(ctx context.Context, c namespace.Commit, least int) (hemera.Entry, error) {
	m.removal.RLock()
	defer m.removal.RUnlock()
	asked := len(c.Pieces)
	c.Pieces = m.remaining(c.Pieces)
	if len(c.Pieces) == asked || len(c.Pieces) >= least {
		return m.tree.Commit(ctx, c)
	}
	if now, _, err := m.tree.Resolve(ctx, c.ID); err == nil && now.Gen == c.Gen {
		return now, nil // it was committed, and this is the request again
	}
	return hemera.Entry{}, errs.New(errs.Conflict, "commit", c.Name, "a disk was removed from the cluster during the write").
		WithRemedy("write the file again")
}

// keptFiles is the namespace as the background work may change it.
type keptFiles struct {
	namespace.Parts
	manager *Manager
}

// MovePieces implements maint.Files.
func (k keptFiles) MovePieces(ctx context.Context, id hemera.FileID, gen hemera.Generation, drop, add []hemera.Piece) error {
	k.manager.removal.RLock()
	defer k.manager.removal.RUnlock()
	if len(k.manager.remaining(add)) < len(add) {
		return errs.New(errs.Conflict, "maint.MovePieces", "fxid:"+id.Hex(), "the disk was removed from the cluster meanwhile")
	}
	return k.Parts.MovePieces(ctx, id, gen, drop, add)
}
