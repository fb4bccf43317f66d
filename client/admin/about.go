package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// About asks what the server is.
type About struct{ server *server }

// Config lists the settings in force at the server.
// It needs an admin: values have paths and networks.
func (c About) Config(ctx context.Context) ([]adminapi.Setting, error) {
	return call[[]adminapi.Setting](ctx, c.server, "Config", adminapi.None{})
}

// Configure changes settings of the server, or has it read its settings again. It needs an admin.
func (c About) Configure(ctx context.Context, r adminapi.ConfigChange) (adminapi.ConfigResult, error) {
	return call[adminapi.ConfigResult](ctx, c.server, "Configure", r)
}

// Version describes the server.
// Any user may ask, and a client of another machine uses it to find out where the server is; see nearest.
func (c About) Version(ctx context.Context) (adminapi.VersionInfo, error) {
	return call[adminapi.VersionInfo](ctx, c.server, "Version", adminapi.None{})
}

// WhoAmI is the caller as the server found out. Any user may ask.
func (c About) WhoAmI(ctx context.Context) (hemera.Identity, error) {
	return call[hemera.Identity](ctx, c.server, "WhoAmI", adminapi.None{})
}
