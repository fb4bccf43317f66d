package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// About has the calls about the server itself.
type About struct{ server *server }

// Config lists the settings in force at the server. It needs an admin: values have paths and networks.
func (c About) Config(ctx context.Context) ([]adminapi.Setting, error) {
	return call[[]adminapi.Setting](ctx, c.server, "Config", adminapi.None{})
}

// Configure changes settings of the server, or makes it read its settings again. It needs an admin.
func (c About) Configure(ctx context.Context, r adminapi.ConfigChange) (adminapi.ConfigResult, error) {
	return call[adminapi.ConfigResult](ctx, c.server, "Configure", r)
}

// Version describes the server. Any user may call it. A client uses it to find out whether the server is on its own
// machine; see nearest.
func (c About) Version(ctx context.Context) (adminapi.VersionInfo, error) {
	return call[adminapi.VersionInfo](ctx, c.server, "Version", adminapi.None{})
}

// WhoAmI returns the caller's identity as the server sees it. Any user may call it.
func (c About) WhoAmI(ctx context.Context) (hemera.Identity, error) {
	return call[hemera.Identity](ctx, c.server, "WhoAmI", adminapi.None{})
}
