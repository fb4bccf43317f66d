package manager

import (
	"context"
	"time"

	"hemera/platform/turns"
	"hemera/rules/lifecycle"
	"hemera/rules/policy"
	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The namespace implements Names, Directories and Attributes itself. The manager serves it through decorators, each
// with one concern: changes wait until the store is known to be current, attributes are checked against the cluster,
// and every call is timed. See [New] for their order.

// changes are Names whose changes wait until they may be made, and wake the background work when they leave pieces to
// remove.
type changes struct {
	hemera.Names
	await func(ctx context.Context) error // fails with Unavailable while the store may be older than the cluster
	wake  func()                          // has the engine look for pieces to remove; it does not block
	// absent judges the error of a lookup: a file that is not there may be one that a rebuild has yet to find.
	absent func(who hemera.Identity, err error) error
}

// Stat implements hemera.Names. It waits for nothing.
func (c changes) Stat(ctx context.Context, who hemera.Identity, path string) (hemera.Entry, error) {
	e, err := c.Names.Stat(ctx, who, path)
	return e, c.absent(who, err)
}

// List implements hemera.Names. A directory that is there is listed as far as it was rebuilt.
func (c changes) List(ctx context.Context, who hemera.Identity, path string, visit func(hemera.Entry) error) error {
	return c.absent(who, c.Names.List(ctx, who, path, visit))
}

// told are Names and Directories that say of files whether their copies on tape count, as [hemera.Entry.OnTape] has it.
type told struct {
	hemera.Names
	hemera.Directories
	tell func(ctx context.Context, e *hemera.Entry)
}

// Stat implements hemera.Names.
func (t told) Stat(ctx context.Context, who hemera.Identity, path string) (hemera.Entry, error) {
	e, err := t.Names.Stat(ctx, who, path)
	t.tell(ctx, &e)
	return e, err
}

// List implements hemera.Names.
func (t told) List(ctx context.Context, who hemera.Identity, path string, visit func(hemera.Entry) error) error {
	return t.Names.List(ctx, who, path, func(e hemera.Entry) error {
		t.tell(ctx, &e)
		return visit(e)
	})
}

// Page implements hemera.Directories.
func (t told) Page(ctx context.Context, who hemera.Identity, p hemera.PageRequest) (entries []hemera.Entry, next string, err error) {
	entries, next, err = t.Directories.Page(ctx, who, p)
	for i := range entries {
		t.tell(ctx, &entries[i])
	}
	return entries, next, err
}

// turnNames are Names in which users take turns to read long directories, through all doors. All other requests say that a user is there.
type turnNames struct {
	hemera.Names
	turns *turns.Limiter
}

// Stat implements hemera.Names.
func (n turnNames) Stat(ctx context.Context, who hemera.Identity, path string) (hemera.Entry, error) {
	n.turns.Seen(who)
	return n.Names.Stat(ctx, who, path)
}

// Mkdir implements hemera.Names.
func (n turnNames) Mkdir(ctx context.Context, who hemera.Identity, path string, mode uint32, parents bool) (hemera.Entry, error) {
	n.turns.Seen(who)
	return n.Names.Mkdir(ctx, who, path, mode, parents)
}

// Rename implements hemera.Names.
func (n turnNames) Rename(ctx context.Context, who hemera.Identity, from, to string) error {
	n.turns.Seen(who)
	return n.Names.Rename(ctx, who, from, to)
}

// Remove implements hemera.Names.
func (n turnNames) Remove(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind) error {
	n.turns.Seen(who)
	return n.Names.Remove(ctx, who, path, kind)
}

// List implements hemera.Names.
func (n turnNames) List(ctx context.Context, who hemera.Identity, path string, visit func(hemera.Entry) error) error {
	return turns.List(ctx, n.turns, who, false, func(visit func(hemera.Entry) error) error { return n.Names.List(ctx, who, path, visit) }, visit)
}

// Mkdir implements hemera.Names.
func (c changes) Mkdir(ctx context.Context, who hemera.Identity, path string, mode uint32, parents bool) (hemera.Entry, error) {
	if err := c.await(ctx); err != nil {
		return hemera.Entry{}, err
	}
	return c.Names.Mkdir(ctx, who, path, mode, parents)
}

// Rename implements hemera.Names.
func (c changes) Rename(ctx context.Context, who hemera.Identity, from, to string) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	defer c.wake() // the pieces of what was replaced are to be removed
	return c.Names.Rename(ctx, who, from, to)
}

// Publish implements hemera.Names.
func (c changes) Publish(ctx context.Context, who hemera.Identity, p hemera.Publication) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	// A failed change may have been made all the same (Timeout), so the engine looks in any case.
	defer c.wake()
	return c.Names.Publish(ctx, who, p)
}

// Remove implements hemera.Names.
func (c changes) Remove(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	defer c.wake()
	return c.Names.Remove(ctx, who, path, kind)
}

// attributeChanges are Attributes whose changes wait like those of [changes]. They also refuse settings that name a space
// or a storage class which does not exist.
type attributeChanges struct {
	hemera.Attributes
	await func(ctx context.Context) error // as in changes
	view  func() *hemera.View             // for the names of spaces
	rules *ruleKeeper                     // follows those that attributes make
	class func(name string) error         // not nil: there is no such storage class
}

// SetMode implements hemera.Attributes.
func (c attributeChanges) SetMode(ctx context.Context, who hemera.Identity, path string, mode uint32) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	return c.Attributes.SetMode(ctx, who, path, mode)
}

// SetOwner implements hemera.Attributes.
func (c attributeChanges) SetOwner(ctx context.Context, who hemera.Identity, path string, uid, gid int64) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	return c.Attributes.SetOwner(ctx, who, path, uid, gid)
}

// SetTimes implements hemera.Attributes.
func (c attributeChanges) SetTimes(ctx context.Context, who hemera.Identity, path string, mtime time.Time) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	return c.Attributes.SetTimes(ctx, who, path, mtime)
}

// SetXattr implements hemera.Attributes.
func (c attributeChanges) SetXattr(ctx context.Context, who hemera.Identity, path, name string, value []byte, createOnly bool) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	if err := c.check(who, path, name, string(value)); err != nil {
		return err
	}
	if err := c.rules.isDirectory(ctx, who, path, name); err != nil {
		return err
	}
	done, err := c.rules.reserve(ctx, who, path, name)
	if err != nil {
		return err
	}
	defer done()
	// The namespace checks who may set it; check judges the value only.
	if err := c.Attributes.SetXattr(ctx, who, path, name, value, createOnly); err != nil {
		return err
	}
	return c.rules.changed(ctx, who, path, name)
}

// RemoveXattr implements hemera.Attributes.
func (c attributeChanges) RemoveXattr(ctx context.Context, who hemera.Identity, path, name string) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	if err := c.Attributes.RemoveXattr(ctx, who, path, name); err != nil {
		return err
	}
	return c.rules.removed(ctx, path, name)
}

// check refuses a setting of new files that would make every later write fail: the user who sets it can repair it, the
// users who write cannot.
func (c attributeChanges) check(who hemera.Identity, path, name, value string) error {
	if err := policy.CheckAttribute(name, value); err != nil {
		return errs.Wrap(err, "manager.SetAttribute", path)
	}
	if err := recycle.CheckAttribute(name, value); err != nil {
		return errs.Wrap(err, "manager.SetAttribute", path)
	}
	if name == hemera.AttrStorageClass {
		return errs.Wrap(c.class(value), "manager.SetAttribute", path)
	}
	forms, err := lifecycle.CheckAttribute(name, value)
	if err != nil {
		return errs.Wrap(err, "manager.SetAttribute", path)
	}
	// An empty value asks for nothing.
	if policy.IsSpaceAttribute(name) {
		forms = append(forms, hemera.Form{Space: value})
	}
	for _, f := range forms {
		if err := c.hasSpace(path, name+"="+value, f.Space); err != nil {
			return err
		}
		if who.Admin {
			continue
		}
		if err := fits(c.view(), f.Layout, f.Space); err != nil {
			return errs.Wrap(err, "manager.SetAttribute", path)
		}
	}
	return nil
}

// hasSpace refuses a setting that names a space which does not exist.
func (c attributeChanges) hasSpace(path, setting, space string) error {
	if _, ok := c.view().Space(space); space != "" && !ok {
		return errs.New(errs.NotFound, "manager.SetAttribute", path, setting+": there is no such space").
			WithRemedy("see `hemera space ls`, or make it with `hemera space set " + space + " define=24`")
	}
	return nil
}
