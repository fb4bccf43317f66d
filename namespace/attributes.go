package namespace

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"hemera/rules/access"
	"hemera/rules/policy"
	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Attributes of an entry: mode, owner, times and extended attributes. All are one record, so each operation is the
// change of a copy of the entry. None of them touches totals, but for a change of owner, which may move usage
// between accounts.

// SetMode implements hemera.Attributes: it sets the permission bits of an entry, 07777 at most. Denied unless who
// owns the entry or is an admin.
func (n *Tree) SetMode(ctx context.Context, who hemera.Identity, path string, mode uint32) error {
	if err := checkMode("SetMode", path, mode); err != nil {
		return err
	}
	return n.change(ctx, who, path, "SetMode", func(_ tx, f found, e *hemera.Entry) error {
		e.Mode = mode
		return permit("SetMode", path, who, f.entry, access.ChangeAttributes)
	})
}

// SetOwner implements hemera.Attributes: -1 keeps an id. What the file uses of quotas moves to the new owner in
// the same batch. OverQuota if the new owner may not have it, Denied.
func (n *Tree) SetOwner(ctx context.Context, who hemera.Identity, path string, uid, gid int64) error {
	if uid < -1 || gid < -1 || uid > math.MaxUint32 || gid > math.MaxUint32 {
		return refuse(errs.Invalid, "SetOwner", path, "uid %d, gid %d: ids have 32 bits, or are -1", uid, gid)
	}
	return n.change(ctx, who, path, "SetOwner", func(t tx, f found, e *hemera.Entry) error {
		// The rule gets both ids as they were asked for: -1 is no change and needs no right.
		if uid >= 0 {
			e.UID = uint32(uid)
		}
		if gid >= 0 {
			e.GID = uint32(gid)
		}
		if err := denied("SetOwner", path, access.DecideOwner(who, access.Of(*f.entry), uid, gid)); err != nil {
			return err
		}
		return t.ledger().ChargeOwner(f.dirs, f.entry, e)
	})
}

// SetTimes implements hemera.Attributes: it sets the time of modification. That of a directory is in its totals
// record, which the next change of its names overwrites. Invalid for years outside of 1700 to 2200.
func (n *Tree) SetTimes(ctx context.Context, who hemera.Identity, path string, mtime time.Time) error {
	if err := checkTime("SetTimes", path, mtime); err != nil {
		return err
	}
	mtime = mtime.UTC().Round(0) // as it is stored: without a zone and a monotonic reading
	return n.change(ctx, who, path, "SetTimes", func(t tx, f found, e *hemera.Entry) error {
		e.Mtime = mtime
		if e.IsDir() {
			s, err := t.Directory(e.ID)
			if err != nil {
				return err
			}
			t.PutDirectory(e.ID, s.With(mtime, s.Ctime, hemera.TreeTotals{}))
		}
		return permit("SetTimes", path, who, f.entry, access.ChangeAttributes)
	})
}

// SetXattr implements hemera.Attributes. The value is copied. Exists with createOnly if the attribute is set,
// TooLarge beyond the limits of one attribute or of all of an entry, Denied.
func (n *Tree) SetXattr(ctx context.Context, who hemera.Identity, path, name string, value []byte, createOnly bool) error {
	if err := checkXattr("SetXattr", path, name, value); err != nil {
		return err
	}
	value = bytes.Clone(value) // the entry in the cache keeps it
	return n.change(ctx, who, path, "SetXattr", func(_ tx, f found, e *hemera.Entry) error {
		if err := permitXattr("SetXattr", path, who, f.entry, name); err != nil {
			return err
		}
		if _, ok := e.Xattrs[name]; ok && createOnly {
			return refuse(errs.Exists, "SetXattr", path, "attribute %s is there already", name)
		}
		e.Xattrs = mergeXattrs(e.Xattrs, map[string][]byte{name: value})
		by := policy.Setting{Value: value, By: hemera.SetterOf(who)}
		if name == recycle.Attr && len(value) > 0 && !mayKeep(by, append(slices.Clip(f.dirs), f.entry)) {
			return refuse(errs.Denied, "SetXattr", path, "a recycle bin counts in no quota, so below limits only an admin switches one on").
				WithRemedy("ask an admin, or keep versions, which count: hemera attr set " + recycle.AttrVersions + "=5 " + path)
		}
		if e.IsDir() && policy.Steers(name) {
			e.Setters = withSetter(e.Setters, name, hemera.SetterOf(who))
		}
		return checkXattrs("SetXattr", path, e.Xattrs)
	})
}

// RemoveXattr implements hemera.Attributes. NoAttribute if it is not set, Denied.
func (n *Tree) RemoveXattr(ctx context.Context, who hemera.Identity, path, name string) error {
	return n.change(ctx, who, path, "RemoveXattr", func(_ tx, f found, e *hemera.Entry) error {
		if err := permitXattr("RemoveXattr", path, who, f.entry, name); err != nil {
			return err
		}
		if _, ok := e.Xattrs[name]; !ok {
			return refuse(errs.NoAttribute, "RemoveXattr", path, "attribute %s is not set", name).WithRemedy("see hemera attr ls " + path)
		}
		e.Xattrs = maps.Clone(e.Xattrs)
		delete(e.Xattrs, name)
		e.Setters = maps.Clone(e.Setters)
		delete(e.Setters, name)
		return nil
	})
}

// change runs a change of one entry's attributes: edit gets a copy, which is stored if edit returns nil, with the
// time of the change and an event. op names the operation in errors.
func (n *Tree) change(ctx context.Context, who hemera.Identity, path, op string, edit func(t tx, f found, e *hemera.Entry) error) error {
	if err := n.engine.warm(ctx, who, path); err != nil {
		return err
	}
	return n.changes.run(ctx, func(t tx) error {
		f, err := t.existing(op, who, path)
		if err != nil {
			return err
		}
		e := *f.entry
		if err := edit(t, f, &e); err != nil {
			return err
		}
		e.Ctime = t.Now()
		t.PutEntry(&e)
		t.Event(hemera.Event{Kind: hemera.EventAttributes, File: e.ID, Path: path, Who: who.Name})
		return nil
	})
}
