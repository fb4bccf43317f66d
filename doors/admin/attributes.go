package admin

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// setMode is the request of the verb of that name; so are the types below.
type setMode struct {
	Path string
	Mode uint32 // permission bits, as for chmod(2)
}

type setOwner struct {
	Path     string
	UID, GID int64 // -1: leave
}

type setTimes struct {
	Path  string
	Mtime time.Time // the only time that a user may set
}

type setXattr struct {
	Path, Name string
	Value      []byte // any bytes, base64 in JSON
	CreateOnly bool   // fail with Exists if the attribute is set
}

type removeXattr struct{ Path, Name string }

// serveAttributes serves changes of an entry's mode, owner, times and extended attributes.
func serveAttributes(d *door) {
	attribute(d, "SetMode", func(ctx context.Context, a hemera.Attributes, who hemera.Identity, r *setMode) error {
		return a.SetMode(ctx, who, r.Path, r.Mode)
	})
	attribute(d, "SetOwner", func(ctx context.Context, a hemera.Attributes, who hemera.Identity, r *setOwner) error {
		return a.SetOwner(ctx, who, r.Path, r.UID, r.GID)
	})
	attribute(d, "SetTimes", func(ctx context.Context, a hemera.Attributes, who hemera.Identity, r *setTimes) error {
		return a.SetTimes(ctx, who, r.Path, r.Mtime)
	})
	attribute(d, "SetXattr", func(ctx context.Context, a hemera.Attributes, who hemera.Identity, r *setXattr) error {
		return a.SetXattr(ctx, who, r.Path, r.Name, r.Value, r.CreateOnly)
	})
	attribute(d, "RemoveXattr", func(ctx context.Context, a hemera.Attributes, who hemera.Identity, r *removeXattr) error {
		return a.RemoveXattr(ctx, who, r.Path, r.Name)
	})
}

// attribute serves a verb of hemera.Attributes, with the caller's identity.
// Whether the caller may do it is decided by the service, not here: verbs on files are open to every identity.
func attribute[Req any](d *door, verb string, f func(context.Context, hemera.Attributes, hemera.Identity, *Req) error) {
	unary(d, verb, false, func(ctx context.Context, who hemera.Identity, r *Req) (none, error) {
		a, err := part(d.Attributes, "attributes")
		if err != nil {
			return none{}, err
		}
		return none{}, f(ctx, a, who, r)
	})
}

// attributesClient is the part of a [Client] that changes attributes.
type attributesClient struct{ server *server }

// SetMode implements hemera.Attributes.
func (c attributesClient) SetMode(ctx context.Context, _ hemera.Identity, p string, mode uint32) error {
	return c.server.do(ctx, "SetMode", setMode{p, mode})
}

// SetOwner implements hemera.Attributes.
// An id of -1 stays as it is, as for chown(2).
func (c attributesClient) SetOwner(ctx context.Context, _ hemera.Identity, p string, uid, gid int64) error {
	return c.server.do(ctx, "SetOwner", setOwner{p, uid, gid})
}

// SetTimes implements hemera.Attributes.
func (c attributesClient) SetTimes(ctx context.Context, _ hemera.Identity, p string, mtime time.Time) error {
	return c.server.do(ctx, "SetTimes", setTimes{p, mtime})
}

// SetXattr implements hemera.Attributes.
// With createOnly it fails with Exists if the attribute is set.
func (c attributesClient) SetXattr(ctx context.Context, _ hemera.Identity, p, name string, value []byte, createOnly bool) error {
	return c.server.do(ctx, "SetXattr", setXattr{p, name, value, createOnly})
}

// RemoveXattr implements hemera.Attributes.
// It fails with NoAttribute if the attribute is not set.
func (c attributesClient) RemoveXattr(ctx context.Context, _ hemera.Identity, p, name string) error {
	return c.server.do(ctx, "RemoveXattr", removeXattr{p, name})
}
