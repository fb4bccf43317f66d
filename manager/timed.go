package manager

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// Decorators that count and time each call, under the name of its method. Services whose operations have other names
// than their methods, such as opens, count for themselves.

// timedNames times Names.
type timedNames struct {
	names hemera.Names // what is timed
	ops   *operations  // where it is counted
}

// Stat implements hemera.Names.
func (t timedNames) Stat(ctx context.Context, who hemera.Identity, path string) (e hemera.Entry, err error) {
	defer t.ops.begin("Stat").end(&err)
	return t.names.Stat(ctx, who, path)
}

// List implements hemera.Names.
func (t timedNames) List(ctx context.Context, who hemera.Identity, path string, visit func(hemera.Entry) error) (err error) {
	defer t.ops.begin("List").end(&err)
	return t.names.List(ctx, who, path, visit)
}

// Mkdir implements hemera.Names.
func (t timedNames) Mkdir(ctx context.Context, who hemera.Identity, path string, mode uint32, parents bool) (e hemera.Entry, err error) {
	defer t.ops.begin("Mkdir").end(&err)
	return t.names.Mkdir(ctx, who, path, mode, parents)
}

// Rename implements hemera.Names.
func (t timedNames) Rename(ctx context.Context, who hemera.Identity, from, to string) (err error) {
	defer t.ops.begin("Rename").end(&err)
	return t.names.Rename(ctx, who, from, to)
}

// Publish implements hemera.Names.
func (t timedNames) Publish(ctx context.Context, who hemera.Identity, p hemera.Publication) (err error) {
	defer t.ops.begin("Publish").end(&err)
	return t.names.Publish(ctx, who, p)
}

// Remove implements hemera.Names.
func (t timedNames) Remove(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind) (err error) {
	defer t.ops.begin("Remove").end(&err)
	return t.names.Remove(ctx, who, path, kind)
}

// timedDirectories times Directories.
type timedDirectories struct {
	directories hemera.Directories
	ops         *operations
}

// Page implements hemera.Directories.
func (t timedDirectories) Page(ctx context.Context, who hemera.Identity, p hemera.PageRequest) (entries []hemera.Entry, next string, err error) {
	defer t.ops.begin("Page").end(&err)
	return t.directories.Page(ctx, who, p)
}

// timedAttributes times Attributes.
type timedAttributes struct {
	attributes hemera.Attributes
	ops        *operations
}

// SetMode implements hemera.Attributes.
func (t timedAttributes) SetMode(ctx context.Context, who hemera.Identity, path string, mode uint32) (err error) {
	defer t.ops.begin("SetMode").end(&err)
	return t.attributes.SetMode(ctx, who, path, mode)
}

// SetOwner implements hemera.Attributes.
func (t timedAttributes) SetOwner(ctx context.Context, who hemera.Identity, path string, uid, gid int64) (err error) {
	defer t.ops.begin("SetOwner").end(&err)
	return t.attributes.SetOwner(ctx, who, path, uid, gid)
}

// SetTimes implements hemera.Attributes.
func (t timedAttributes) SetTimes(ctx context.Context, who hemera.Identity, path string, mtime time.Time) (err error) {
	defer t.ops.begin("SetTimes").end(&err)
	return t.attributes.SetTimes(ctx, who, path, mtime)
}

// SetXattr implements hemera.Attributes.
func (t timedAttributes) SetXattr(ctx context.Context, who hemera.Identity, path, name string, value []byte, createOnly bool) (err error) {
	defer t.ops.begin("SetXattr").end(&err)
	return t.attributes.SetXattr(ctx, who, path, name, value, createOnly)
}

// RemoveXattr implements hemera.Attributes.
func (t timedAttributes) RemoveXattr(ctx context.Context, who hemera.Identity, path, name string) (err error) {
	defer t.ops.begin("RemoveXattr").end(&err)
	return t.attributes.RemoveXattr(ctx, who, path, name)
}
