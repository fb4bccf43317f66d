package manager

import (
	"context"
	"errors"
	"sync"
	"time"

	"hemera/cluster"
	"hemera/cluster/netwatch"
	"hemera/maint"
	"hemera/maint/exposed"
	"hemera/namespace"
	"hemera/rules/condition"
	"hemera/tape/tier"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// reporter implements adminapi.StatusAdmin: how the cluster and its files are, and why.
type reporter struct {
	tree     namespace.Parts
	cluster  *cluster.Cluster
	engine   *maint.Engine
	tier     *tier.Tier
	pending  *pending
	network  *netwatch.Watch
	exposed  *exposed.Finder
	judge    *judge
	observer *observer // what the manager measured of itself
	ops      *operations
	now      func() time.Time
	version  string                   // of this program, to compare the nodes' with
	limits   func() []hemera.LimitUse // nil: none
	quotas   aged[[]hemera.QuotaRow]  // of all quota nodes: expensive where there are many
	census   *census                  // files that lack pieces, counted in steps
}

// Status implements adminapi.StatusAdmin.
func (rep *reporter) Status(ctx context.Context) (status adminapi.ClusterStatus, err error) {
	defer rep.ops.begin("Status").end(&err)
	s, err := rep.snapshot(ctx)
	if err != nil {
		return status, err
	}
	return condition.Summarize(s), nil
}

// snapshot gathers what the conditions are found from. The view is one picture, the rest follows as
// soon as it can.
func (rep *reporter) snapshot(ctx context.Context) (s condition.Snapshot, err error) {
	// Taken first: all that follows is judged on this view.
	s = condition.Snapshot{Now: rep.now(), Version: rep.version}
	if s.View, err = rep.judge.counted(ctx); err != nil {
		return s, err
	}
	if s.Namespace, err = rep.observer.NamespaceStats(ctx); err != nil {
		return s, err
	}
	if s.Jobs, err = rep.engine.Jobs(ctx); err != nil {
		return s, err
	}
	// An answer of some seconds ago is good enough for a list of conditions.
	if s.Quotas, err = rep.quotas.get(func() ([]hemera.QuotaRow, error) {
		return rep.tree.Quotas(ctx, hemera.SystemIdentity(), "")
	}); err != nil {
		return s, err
	}
	shelf, err := rep.tier.Copies.Shelf(ctx)
	if err != nil {
		return s, err
	}
	if s.Files, err = rep.census.look(ctx, s.View, shelf, s.Namespace.Sequence); err != nil {
		return s, err
	}
	picture, err := rep.tier.Reports.TapePicture(ctx)
	if err != nil {
		return s, err
	}
	s.Tape = picture.Attention
	s.Losses, s.Exposed = losses(s.View), rep.exposed.Files()
	s.Network = rep.network.Report(s.View)
	// Without the broken ones, which the census counts by what they cost.
	s.Bad = rep.engine.Bad()
	s.Rebuilding = rep.cluster.Rebuilding()
	if rep.limits != nil {
		s.Limits = rep.limits()
	}
	sessions, err := rep.observer.Sessions(ctx)
	s.Sessions = len(sessions)
	return s, err
}

// aged keeps an answer for censusShare times as long as it took, so that a client that asks often does not
// keep the namespace busy.
type aged[T any] struct {
	now func() time.Time

	mu    sync.Mutex // guards value and until; never held over ask
	value T
	until time.Time
}

// get returns the kept answer, or a new one by ask. Two callers that find it too old both ask.
func (a *aged[T]) get(ask func() (T, error)) (T, error) {
	a.mu.Lock()
	value, until := a.value, a.until
	a.mu.Unlock()
	began := a.now()
	if began.Before(until) {
		return value, nil
	}
	// An error is not kept: the next caller asks again.
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

// Impaired implements adminapi.StatusAdmin.
func (rep *reporter) Impaired(ctx context.Context, standing adminapi.FileStanding, visit func(path string, e hemera.Entry) error) (err error) {
	defer rep.ops.begin("Impaired").end(&err)
	want, known := standings[standing]
	if !known {
		return errs.New(errs.Invalid, "manager.Impaired", string(standing), "it is not a standing of files")
	}
	tell := func(e hemera.Entry) error {
		_, path, err := rep.tree.Resolve(ctx, e.ID)
		switch {
		case errors.Is(err, errs.NotFound):
			return nil // removed meanwhile
		case err != nil:
			return err
		}
		return visit(path, e)
	}
	view := rep.cluster.View()
	disks, _ := unreadable(view)
	list, _ := rep.engine.Broken()
	broken := newBrokenSet(list)
	// A file is on the list of each of its disks; it is told at the first of those that do not serve it.
	err = filesWithout(ctx, rep.tree, disks, list, func(e hemera.Entry, disk hemera.DiskID) error {
		if s, first := stand(view, e, broken); s != want || first != disk {
			return nil
		}
		return tell(e)
	})
	if err != nil || want != away {
		return err
	}
	return rep.judge.silentOnTape(ctx, func(_ adminapi.TapeLoss, e hemera.Entry) error { return tell(e) })
}

// standings are the words for what [stand] finds. A file that is read and listed for a disk that cannot be read is degraded.
var standings = map[adminapi.FileStanding]standing{adminapi.FileLost: lostFile, adminapi.FileUnreadable: away, adminapi.FileDegraded: readable}
