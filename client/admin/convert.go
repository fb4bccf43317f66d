package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Conversions requests conversions. It implements hemera.ConvertAdmin.
type Conversions struct{ server *server }

// Convert implements hemera.ConvertAdmin. The server identifies the caller.
func (c Conversions) Convert(ctx context.Context, _ string, r hemera.ConversionRequest) (hemera.Conversion, error) {
	return call[hemera.Conversion](ctx, c.server, "Convert", r)
}

// Conversions implements hemera.ConvertAdmin.
func (c Conversions) Conversions(ctx context.Context) ([]hemera.ConversionStatus, error) {
	return call[[]hemera.ConversionStatus](ctx, c.server, "Conversions", adminapi.None{})
}

// StopConversion implements hemera.ConvertAdmin.
func (c Conversions) StopConversion(ctx context.Context, id uint64) error {
	return c.server.do(ctx, "StopConversion", adminapi.ConversionRef{ID: id})
}
