package manager

import (
	"context"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/policy"
)

// Stat implements hemera.Names.
func (m *Manager) Stat(ctx context.Context, who hemera.Identity, path string) (e hemera.Entry, err error) {
	defer m.ops.begin("Stat").end(&err)
	return m.tree.Stat(ctx, who, path)
}

// List implements hemera.Names.
func (m *Manager) List(ctx context.Context, who hemera.Identity, path string, visit func(hemera.Entry) error) (err error) {
	defer m.ops.begin("List").end(&err)
	return m.tree.List(ctx, who, path, visit)
}

// Page implements hemera.Directories.
func (m *Manager) Page(ctx context.Context, who hemera.Identity, p hemera.PageRequest) (entries []hemera.Entry, next string, err error) {
	defer m.ops.begin("Page").end(&err)
	return m.tree.Page(ctx, who, p)
}

// Mkdir implements hemera.Names.
func (m *Manager) Mkdir(ctx context.Context, who hemera.Identity, path string, mode uint32, parents bool) (e hemera.Entry, err error) {
	defer m.ops.begin("Mkdir").end(&err)
	if err := m.cluster.AwaitCurrent(ctx); err != nil {
		return e, err
	}
	return m.tree.Mkdir(ctx, who, path, mode, parents)
}

// Rename implements hemera.Names.
func (m *Manager) Rename(ctx context.Context, who hemera.Identity, from, to string) (err error) {
	defer m.ops.begin("Rename").end(&err)
	if err := m.cluster.AwaitCurrent(ctx); err != nil {
		return err
	}
	defer m.engine.Wake() // what was replaced is to be removed
	return m.tree.Rename(ctx, who, from, to)
}

// Publish implements hemera.Names.
func (m *Manager) Publish(ctx context.Context, who hemera.Identity, p hemera.Publication) (err error) {
	defer m.ops.begin("Publish").end(&err)
	if err := m.cluster.AwaitCurrent(ctx); err != nil {
		return err
	}
	defer m.engine.Wake()
	return m.tree.Publish(ctx, who, p)
}

// Remove implements hemera.Names.
func (m *Manager) Remove(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind) (err error) {
	defer m.ops.begin("Remove").end(&err)
	if err := m.cluster.AwaitCurrent(ctx); err != nil {
		return err
	}
	defer m.engine.Wake()
	return m.tree.Remove(ctx, who, path, kind)
}

// SetMode implements hemera.Attributes.
func (m *Manager) SetMode(ctx context.Context, who hemera.Identity, path string, mode uint32) (err error) {
	defer m.ops.begin("SetMode").end(&err)
	if err := m.cluster.AwaitCurrent(ctx); err != nil {
		return err
	}
	return m.tree.SetMode(ctx, who, path, mode)
}

// SetOwner implements hemera.Attributes.
func (m *Manager) SetOwner(ctx context.Context, who hemera.Identity, path string, uid, gid int64) (err error) {
	defer m.ops.begin("SetOwner").end(&err)
	if err := m.cluster.AwaitCurrent(ctx); err != nil {
		return err
	}
	return m.tree.SetOwner(ctx, who, path, uid, gid)
}

// SetTimes implements hemera.Attributes.
func (m *Manager) SetTimes(ctx context.Context, who hemera.Identity, path string, mtime time.Time) (err error) {
	defer m.ops.begin("SetTimes").end(&err)
	if err := m.cluster.AwaitCurrent(ctx); err != nil {
		return err
	}
	return m.tree.SetTimes(ctx, who, path, mtime)
}

// SetXattr implements hemera.Attributes.
func (m *Manager) SetXattr(ctx context.Context, who hemera.Identity, path, name string, value []byte, createOnly bool) (err error) {
	defer m.ops.begin("SetXattr").end(&err)
	if err := m.cluster.AwaitCurrent(ctx); err != nil {
		return err
	}
	if err := m.checkAttribute(path, name, string(value)); err != nil {
		return err
	}
	return m.tree.SetXattr(ctx, who, path, name, value, createOnly)
}

// checkAttribute refuses a setting of new files that would make every later write fail: the one who
// sets it can mend it, the ones who write cannot.
func (m *Manager) checkAttribute(path, name, value string) error {
	if err := policy.CheckAttribute(name, value); err != nil {
		return errs.Wrap(err, "set attribute", path)
	}
	if !policy.IsSpaceAttribute(name) || value == "" {
		return nil
	}
	if _, ok := m.cluster.View().Space(value); !ok {
		return errs.New(errs.NotFound, "set attribute", path, name+"="+value+": there is no such space").
			WithRemedy("see `hemera space ls`, or make it with `hemera space set " + value + " define=24`")
	}
	return nil
}

// RemoveXattr implements hemera.Attributes.
func (m *Manager) RemoveXattr(ctx context.Context, who hemera.Identity, path, name string) (err error) {
	defer m.ops.begin("RemoveXattr").end(&err)
	if err := m.cluster.AwaitCurrent(ctx); err != nil {
		return err
	}
	return m.tree.RemoveXattr(ctx, who, path, name)
}
