package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveAttributes serves changes of an entry's mode, owner, times and extended attributes.
func serveAttributes(d *door) {
	attribute(d, "SetMode", func(ctx context.Context, a hemera.Attributes, who hemera.Identity, r *adminapi.SetModeRequest) error {
		return a.SetMode(ctx, who, r.Path, r.Mode)
	})
	attribute(d, "SetOwner", func(ctx context.Context, a hemera.Attributes, who hemera.Identity, r *adminapi.SetOwnerRequest) error {
		return a.SetOwner(ctx, who, r.Path, r.UID, r.GID)
	})
	attribute(d, "SetTimes", func(ctx context.Context, a hemera.Attributes, who hemera.Identity, r *adminapi.SetTimesRequest) error {
		return a.SetTimes(ctx, who, r.Path, r.Mtime)
	})
	attribute(d, "SetXattr", func(ctx context.Context, a hemera.Attributes, who hemera.Identity, r *adminapi.SetXattrRequest) error {
		return a.SetXattr(ctx, who, r.Path, r.Name, r.Value, r.CreateOnly)
	})
	attribute(d, "RemoveXattr", func(ctx context.Context, a hemera.Attributes, who hemera.Identity, r *adminapi.RemoveXattrRequest) error {
		return a.RemoveXattr(ctx, who, r.Path, r.Name)
	})
}

// attribute serves a verb of hemera.Attributes, with the caller's identity. Verbs on files are open to every identity;
// the service checks permissions.
func attribute[Req any](d *door, verb string, f func(context.Context, hemera.Attributes, hemera.Identity, *Req) error) {
	unary(d, verb, false, func(ctx context.Context, who hemera.Identity, r *Req) (adminapi.None, error) {
		a, err := part(d.Attributes, "attributes")
		if err != nil {
			return adminapi.None{}, err
		}
		return adminapi.None{}, f(ctx, a, who, r)
	})
}
