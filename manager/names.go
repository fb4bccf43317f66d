package manager

import (
	"context"
	"time"

	"hemera/platform/fairshare"
	"hemera/rules/lifecycle"
	"hemera/rules/policy"
	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The namespace implements Names, Directories and Attributes itself. The manager serves it through one type for each. A call
// is counted and timed under the name of its method, waits until changes may be made, has its user's turn, and goes to the
// namespace: in this order, so that the time includes the wait.

// names serves Names and Directories of the namespace.
type names struct {
	tree interface {
		hemera.Names
		hemera.Directories
	}
	ops   *operations                                // what counts and times the calls
	await func(ctx context.Context) error            // fails with Unavailable while the store may be older than the cluster
	turns *fairshare.Limiter                         // of users that read long directories, through all doors
	tell  func(ctx context.Context, e *hemera.Entry) // says of a file whether its copies on tape count, as [hemera.Entry.OnTape] has it
	wake  func()                                     // has the engine look for pieces to remove; it does not block
	// absent judges the error of a lookup: a file that is not there may be one that a rebuild has yet to find.
	absent func(who hemera.Identity, err error) error
}

// Stat implements hemera.Names. It waits for nothing.
func (n *names) Stat(ctx context.Context, who hemera.Identity, path string) (e hemera.Entry, err error) {
	defer n.ops.begin("Stat").end(&err)
	n.turns.Seen(who)
	e, err = n.tree.Stat(ctx, who, path)
	n.tell(ctx, &e)
	return e, n.absent(who, err)
}

// List implements hemera.Names. A directory that is there is listed as far as it was rebuilt.
func (n *names) List(ctx context.Context, who hemera.Identity, path string, visit func(hemera.Entry) error) (err error) {
	defer n.ops.begin("List").end(&err)
	read := func(visit func(hemera.Entry) error) error {
		return n.tree.List(ctx, who, path, func(e hemera.Entry) error {
			n.tell(ctx, &e)
			return visit(e)
		})
	}
	return n.absent(who, fairshare.List(ctx, n.turns, who, false, read, visit))
}

// Page implements hemera.Directories.
func (n *names) Page(ctx context.Context, who hemera.Identity, p hemera.PageRequest) (entries []hemera.Entry, next string, err error) {
	defer n.ops.begin("Page").end(&err)
	entries, next, err = n.tree.Page(ctx, who, p)
	for i := range entries {
		n.tell(ctx, &entries[i])
	}
	return entries, next, err
}

// Mkdir implements hemera.Names.
func (n *names) Mkdir(ctx context.Context, who hemera.Identity, path string, mode uint32, parents bool) (e hemera.Entry, err error) {
	defer n.ops.begin("Mkdir").end(&err)
	if err := n.await(ctx); err != nil {
		return e, err
	}
	n.turns.Seen(who)
	return n.tree.Mkdir(ctx, who, path, mode, parents)
}

// Rename implements hemera.Names.
func (n *names) Rename(ctx context.Context, who hemera.Identity, from, to string) (err error) {
	defer n.ops.begin("Rename").end(&err)
	if err := n.await(ctx); err != nil {
		return err
	}
	defer n.wake() // the pieces of what was replaced are to be removed
	n.turns.Seen(who)
	return n.tree.Rename(ctx, who, from, to)
}

// Publish implements hemera.Names.
func (n *names) Publish(ctx context.Context, who hemera.Identity, p hemera.Publication) (err error) {
	defer n.ops.begin("Publish").end(&err)
	if err := n.await(ctx); err != nil {
		return err
	}
	// A failed change may have been made all the same (Timeout), so the engine looks in any case.
	defer n.wake()
	return n.tree.Publish(ctx, who, p)
}

// Remove implements hemera.Names.
func (n *names) Remove(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind) (err error) {
	defer n.ops.begin("Remove").end(&err)
	if err := n.await(ctx); err != nil {
		return err
	}
	defer n.wake()
	n.turns.Seen(who)
	return n.tree.Remove(ctx, who, path, kind)
}

// attributes serves Attributes of the namespace. It also refuses settings that name a space or a storage class which does not
// exist.
type attributes struct {
	tree  hemera.Attributes
	ops   *operations
	await func(ctx context.Context) error // as in names
	view  func() *hemera.View             // for the names of spaces
	rules *ruleKeeper                     // follows those that attributes make
	class func(name string) error         // not nil: there is no such storage class
}

// SetMode implements hemera.Attributes.
func (a *attributes) SetMode(ctx context.Context, who hemera.Identity, path string, mode uint32) (err error) {
	defer a.ops.begin("SetMode").end(&err)
	if err := a.await(ctx); err != nil {
		return err
	}
	return a.tree.SetMode(ctx, who, path, mode)
}

// SetOwner implements hemera.Attributes.
func (a *attributes) SetOwner(ctx context.Context, who hemera.Identity, path string, uid, gid int64) (err error) {
	defer a.ops.begin("SetOwner").end(&err)
	if err := a.await(ctx); err != nil {
		return err
	}
	return a.tree.SetOwner(ctx, who, path, uid, gid)
}

// SetTimes implements hemera.Attributes.
func (a *attributes) SetTimes(ctx context.Context, who hemera.Identity, path string, mtime time.Time) (err error) {
	defer a.ops.begin("SetTimes").end(&err)
	if err := a.await(ctx); err != nil {
		return err
	}
	return a.tree.SetTimes(ctx, who, path, mtime)
}

// SetXattr implements hemera.Attributes.
func (a *attributes) SetXattr(ctx context.Context, who hemera.Identity, path, name string, value []byte, createOnly bool) (err error) {
	defer a.ops.begin("SetXattr").end(&err)
	if err := a.await(ctx); err != nil {
		return err
	}
	if err := a.check(who, path, name, string(value)); err != nil {
		return err
	}
	if err := a.rules.isDirectory(ctx, who, path, name); err != nil {
		return err
	}
	done, err := a.rules.reserve(ctx, who, path, name)
	if err != nil {
		return err
	}
	defer done()
	// The namespace checks who may set it; check judges the value only.
	if err := a.tree.SetXattr(ctx, who, path, name, value, createOnly); err != nil {
		return err
	}
	return a.rules.changed(ctx, who, path, name)
}

// RemoveXattr implements hemera.Attributes.
func (a *attributes) RemoveXattr(ctx context.Context, who hemera.Identity, path, name string) (err error) {
	defer a.ops.begin("RemoveXattr").end(&err)
	if err := a.await(ctx); err != nil {
		return err
	}
	if err := a.tree.RemoveXattr(ctx, who, path, name); err != nil {
		return err
	}
	return a.rules.removed(ctx, path, name)
}

// check refuses a setting of new files that would make every later write fail: the user who sets it can repair it, the
// users who write cannot.
func (a *attributes) check(who hemera.Identity, path, name, value string) error {
	if err := policy.CheckAttribute(name, value); err != nil {
		return errs.Wrap(err, "manager.SetAttribute", path)
	}
	if err := recycle.CheckAttribute(name, value); err != nil {
		return errs.Wrap(err, "manager.SetAttribute", path)
	}
	if name == hemera.AttrStorageClass {
		return errs.Wrap(a.class(value), "manager.SetAttribute", path)
	}
	forms, err := lifecycle.CheckAttribute(name, value)
	if err != nil {
		return errs.Wrap(err, "manager.SetAttribute", path)
	}
	// An empty value asks for nothing.
	if policy.IsSpaceAttribute(name) {
		forms = append(forms, hemera.Form{Space: hemera.SpaceName(value)})
	}
	for _, f := range forms {
		if err := a.hasSpace(path, name+"="+value, f.Space); err != nil {
			return err
		}
		if who.Admin {
			continue
		}
		if err := fits(a.view(), f.Layout, f.Space); err != nil {
			return errs.Wrap(err, "manager.SetAttribute", path)
		}
	}
	return nil
}

// hasSpace refuses a setting that names a space which does not exist.
func (a *attributes) hasSpace(path, setting string, space hemera.SpaceName) error {
	if _, ok := a.view().Space(space); space != "" && !ok {
		return errs.New(errs.NotFound, "manager.SetAttribute", path, setting+": there is no such space").
			WithRemedy("see `hemera space ls`, or make it with `hemera space set " + string(space) + " define=on`")
	}
	return nil
}
