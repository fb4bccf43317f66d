package admin

import (
	"context"
	"time"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Attributes changes modes, owners, times and extended attributes. It implements hemera.Attributes.
type Attributes struct{ server *server }

// SetMode implements hemera.Attributes.
func (c Attributes) SetMode(ctx context.Context, _ hemera.Identity, p string, mode uint32) error {
	return c.server.do(ctx, "SetMode", adminapi.SetModeRequest{Path: p, Mode: mode})
}

// SetOwner implements hemera.Attributes. An id of -1 stays as it is, as for chown(2).
func (c Attributes) SetOwner(ctx context.Context, _ hemera.Identity, p string, uid, gid int64) error {
	return c.server.do(ctx, "SetOwner", adminapi.SetOwnerRequest{Path: p, UID: uid, GID: gid})
}

// SetTimes implements hemera.Attributes.
func (c Attributes) SetTimes(ctx context.Context, _ hemera.Identity, p string, mtime time.Time) error {
	return c.server.do(ctx, "SetTimes", adminapi.SetTimesRequest{Path: p, Mtime: mtime})
}

// SetXattr implements hemera.Attributes. With createOnly it fails with Exists if the attribute is set.
func (c Attributes) SetXattr(ctx context.Context, _ hemera.Identity, p, name string, value []byte, createOnly bool) error {
	return c.server.do(ctx, "SetXattr", adminapi.SetXattrRequest{Path: p, Name: name, Value: value, CreateOnly: createOnly})
}

// RemoveXattr implements hemera.Attributes. It fails with NoAttribute if the attribute is not set.
func (c Attributes) RemoveXattr(ctx context.Context, _ hemera.Identity, p, name string) error {
	return c.server.do(ctx, "RemoveXattr", adminapi.RemoveXattrRequest{Path: p, Name: name})
}
