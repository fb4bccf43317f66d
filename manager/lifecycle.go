package manager

import (
	"context"
	"time"

	"hemera/cluster"
	"hemera/maint"
	"hemera/maint/requests"
	"hemera/namespace"
	"hemera/rules/lifecycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// ruleKeeper knows which directories have lifecycle rules, and does what the engine decides by them.
type ruleKeeper struct {
	tree     namespace.Parts
	cluster  *cluster.Cluster
	pending  *pending // a file that is being written is not removed
	heads    *heads   // that say what is being written
	requests *requests.Store
	notes    *readNotes
	wake     func() // has the maintenance look at rules again
	ops      *operations
	now      func() time.Time
}

// options returns the services by which the engine follows rules.
func (k *ruleKeeper) options() maint.Lifecycle {
	return maint.Lifecycle{Trees: k.requests, Attributes: k.tree.RuleAttributes, Remove: k.remove, Track: k.notes.track,
		WentBack: func() time.Time { return k.tree.Stats().WentBack.Restored }}
}

// remove implements maint.Lifecycle: the ordinary removal, so what has a recycle bin goes there.
func (k *ruleKeeper) remove(ctx context.Context, path string, e hemera.Entry, since time.Time) (err error) {
	defer k.ops.begin("Expire").end(&err)
	if err := k.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return err
	}
	if err := k.heads.await(ctx); err != nil {
		return err
	}
	// Its writer wants the file: its close would fail.
	if who, _, _, held := k.pending.holder(name{e.Parent, e.Name}); held {
		return errs.New(errs.Locked, "manager.Expire", path, "it is being written by "+who.Name)
	}
	return k.tree.RemoveDue(ctx, path, e, since)
}

// isDirectory refuses rules for anything but a directory.
func (k *ruleKeeper) isDirectory(ctx context.Context, who hemera.Identity, path, name string) error {
	if !lifecycle.IsAttribute(name) {
		return nil
	}
	// As the user, so that the error does not tell of files that the user may not see.
	e, err := k.tree.Stat(ctx, who, path)
	if err == nil && !e.IsDir() {
		err = errs.New(errs.Invalid, "manager.SetAttribute", path, name+" is for directories: it is about the files below").
			WithRemedy("set it at the file's directory, with a condition name= if it is about some of its files")
	}
	return err
}

// reserve keeps room for the directory among those with rules until done, if the attribute makes rules: before it is set, so that
// no rule is set that is not followed. Overloaded.
func (k *ruleKeeper) reserve(ctx context.Context, who hemera.Identity, path, name string) (done func(), err error) {
	if !lifecycle.IsAttribute(name) {
		return func() {}, nil
	}
	e, err := k.tree.Stat(ctx, who, path)
	if err != nil {
		return nil, err
	}
	known, _ := k.requests.RuleTree(e.ID)
	known.Dir = e.ID
	done, err = k.requests.ReserveRuleTree(k.ruleTree(who, known))
	return done, errs.Wrap(err, "manager.SetAttribute", path)
}

// ruleTree returns the directory in which the user changes a rule now, as it becomes. It is charged to the user, and to the admins if one of them has
// rules there.
func (k *ruleKeeper) ruleTree(who hemera.Identity, known lifecycle.Tree) lifecycle.Tree {
	// Without the time of the last scan, so that the files are looked at now.
	t := lifecycle.Tree{Dir: known.Dir, Since: known.Since, Changed: k.now().UTC().Round(0), By: hemera.SetterOf(who)}
	if known.By.Admin {
		t.By = known.By
	}
	return t
}

// changed has the rules of a directory followed from now on, if the attribute that was set makes rules.
func (k *ruleKeeper) changed(ctx context.Context, who hemera.Identity, path, name string) error {
	if !lifecycle.IsAttribute(name) {
		return nil
	}
	// Last, when the worker finds what was set.
	defer k.wake()
	e, err := k.tree.Stat(ctx, hemera.SystemIdentity(), path)
	if err != nil {
		return err
	}
	err = k.requests.ChangeRuleTree(ctx, e.ID, func(known lifecycle.Tree, _ bool) (lifecycle.Tree, bool) { return k.ruleTree(who, known), true })
	return errs.Wrap(err, "manager.SetAttribute", path)
}

// removed has what is left of the rules of a directory followed. One whose last rule was removed is forgotten by the worker.
func (k *ruleKeeper) removed(ctx context.Context, path, name string) error {
	if !lifecycle.IsAttribute(name) {
		return nil
	}
	defer k.wake()
	e, err := k.tree.Stat(ctx, hemera.SystemIdentity(), path)
	if err != nil {
		return err
	}
	// A directory that has no rules that are followed gets none.
	err = k.requests.ChangeRuleTree(ctx, e.ID, func(t lifecycle.Tree, known bool) (lifecycle.Tree, bool) {
		t.Scanned, t.Changed = time.Time{}, k.now().UTC().Round(0)
		return t, known
	})
	return errs.Wrap(err, "manager.SetAttribute", path)
}
