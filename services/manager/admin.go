package manager

import (
	"context"
	"fmt"
	"slices"

	"hemera"
	"hemera/errs"
)

// View implements hemera.ClusterAdmin.
func (m *Manager) View(ctx context.Context) (*hemera.View, error) {
	view := *m.cluster.View()
	view.Disks = slices.Clone(view.Disks)
	for i := range view.Disks {
		d := &view.Disks[i]
		var err error
		if d.Held, d.HeldBytes, err = m.tree.DiskHeld(ctx, d.ID); err != nil {
			return nil, errs.Wrap(err, "fs ls", "disk "+d.ID.String())
		}
	}
	return &view, nil
}

// AddDisk implements hemera.ClusterAdmin.
func (m *Manager) AddDisk(ctx context.Context, node hemera.NodeID, d hemera.AttachDisk) error {
	return m.cluster.AddDisk(ctx, node, d)
}

// SetDisk implements hemera.ClusterAdmin.
func (m *Manager) SetDisk(ctx context.Context, id hemera.DiskID, key, value string) error {
	defer m.engine.Wake()
	return m.cluster.SetDisk(ctx, id, key, value)
}

// RemoveDisk implements hemera.ClusterAdmin. What a disk removed by force held is made anew from the
// files' other pieces.
func (m *Manager) RemoveDisk(ctx context.Context, id hemera.DiskID, r hemera.Removal) error {
	if r.Force && !r.Lose {
		if err := m.mayGo(ctx, id); err != nil {
			return err
		}
	}
	m.removal.Lock()
	defer m.removal.Unlock()
	pieces, bytes, err := m.tree.DiskUsage(ctx, id)
	if err != nil {
		return errs.Wrap(err, "fs rm", id.String())
	}
	if pieces > 0 && !r.Force {
		return errs.New(errs.NotEmpty, "fs rm", "disk "+id.String(), fmt.Sprintf("it holds %d pieces, %d bytes", pieces, bytes)).
			WithRemedy("empty it with `hemera fs set " + id.String() + " drain`, or give it up with --force")
	}
	defer m.engine.Wake()
	return m.cluster.RemoveDisk(ctx, id)
}

// SetNode implements hemera.ClusterAdmin.
func (m *Manager) SetNode(ctx context.Context, id hemera.NodeID, key, value string) error {
	return m.cluster.SetNode(ctx, id, key, value)
}

// RemoveNode implements hemera.ClusterAdmin.
func (m *Manager) RemoveNode(ctx context.Context, id hemera.NodeID) error {
	if err := m.cluster.RemoveNode(ctx, id); err != nil {
		return err
	}
	m.orders.Fail(id)
	return nil
}

// SetSpace implements hemera.ClusterAdmin.
func (m *Manager) SetSpace(ctx context.Context, name, key, value string) error {
	return m.cluster.SetSpace(ctx, name, key, value)
}
