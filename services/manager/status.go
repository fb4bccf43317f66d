package manager

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/condition"
)

// Status implements hemera.StatusAdmin.
func (m *Manager) Status(ctx context.Context) (status hemera.ClusterStatus, err error) {
	defer m.ops.begin("Status").end(&err)
	s, err := m.snapshot(ctx)
	if err != nil {
		return status, err
	}
	return condition.Summarize(s), nil
}

// snapshot gathers what the conditions are found from. The view is one picture, the rest follows as
// soon as it can.
func (m *Manager) snapshot(ctx context.Context) (s hemera.Snapshot, err error) {
	s = hemera.Snapshot{Now: m.now(), Version: m.version, View: m.cluster.View()}
	if s.Namespace, err = m.NamespaceStats(ctx); err != nil {
		return s, err
	}
	if s.Jobs, err = m.engine.Jobs(ctx); err != nil {
		return s, err
	}
	if s.Quotas, err = m.quotas.get(func() ([]hemera.QuotaRow, error) {
		return m.tree.Quotas(ctx, hemera.SystemIdentity(), "")
	}); err != nil {
		return s, err
	}
	if s.Files, err = m.census.look(ctx, s.View, s.Namespace.Sequence); err != nil {
		return s, err
	}
	s.Bad = m.engine.Bad()
	if m.limits != nil {
		s.Limits = m.limits()
	}
	sessions, err := m.Sessions(ctx)
	s.Sessions = len(sessions)
	return s, err
}

// aged keeps an answer for censusShare times as long as it took, so that whoever asks often does not
// keep the namespace busy.
type aged[T any] struct {
	now func() time.Time

	mu    sync.Mutex
	value T
	until time.Time
}

// get is the kept answer, or a new one by ask. Two that find it too old both ask.
func (a *aged[T]) get(ask func() (T, error)) (T, error) {
	a.mu.Lock()
	value, until := a.value, a.until
	a.mu.Unlock()
	began := a.now()
	if began.Before(until) {
		return value, nil
	}
	value, err := ask()
	if err != nil {
		return value, err
	}
	ended := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.value, a.until = value, ended.Add(min(censusShare*ended.Sub(began), censusMax))
	return value, nil
}

// brokenSet is the pieces that are known to be bad and cannot be mended.
func (m *Manager) brokenSet() brokenSet {
	list, _ := m.engine.Broken()
	return newBrokenSet(list)
}

// Unreadable implements hemera.StatusAdmin.
func (m *Manager) Unreadable(ctx context.Context, visit func(path string, e hemera.Entry, lost bool) error) (err error) {
	defer m.ops.begin("Unreadable").end(&err)
	view := m.cluster.View()
	disks, _ := unreadable(view)
	list, _ := m.engine.Broken()
	broken := newBrokenSet(list)
	tell := func(e hemera.Entry, disk hemera.DiskID) error {
		s, first := stand(view, e, broken)
		if s == readable || first != disk {
			return nil
		}
		_, path, err := m.tree.Resolve(ctx, e.ID)
		switch {
		case errors.Is(err, errs.NotFound):
			return nil // removed meanwhile
		case err != nil:
			return err
		}
		return visit(path, e, s == lostFile)
	}
	for _, id := range disks {
		for after := hemera.FileID(0); ; {
			page, err := m.tree.DiskFiles(ctx, id, after, censusPage)
			if err != nil {
				return errs.Wrap(err, "unreadable", "disk "+id.String())
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				after = e.ID
				if err := tell(e, id); err != nil {
					return err
				}
			}
		}
	}
	for _, b := range list {
		if slices.Contains(disks, b.Disk) {
			continue
		}
		e, _, err := m.tree.Resolve(ctx, b.Piece.File)
		if err == nil && broken.has(e, hemera.Piece{Index: b.Piece.Index, Disk: b.Disk}) {
			err = tell(e, b.Disk)
		}
		if err != nil && !errors.Is(err, errs.NotFound) {
			return err
		}
	}
	return nil
}
