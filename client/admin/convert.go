package admin

import (
	"context"

	"hemera/words/adminapi"
)

// Conversions requests conversions. It implements adminapi.ConvertAdmin.
type Conversions struct{ server *server }

// Convert implements adminapi.ConvertAdmin. The server identifies the caller.
func (c Conversions) Convert(ctx context.Context, _ string, r adminapi.ConversionRequest) (adminapi.Conversion, error) {
	return call[adminapi.Conversion](ctx, c.server, "Convert", r)
}

// Conversions implements adminapi.ConvertAdmin.
func (c Conversions) Conversions(ctx context.Context) ([]adminapi.ConversionStatus, error) {
	return call[[]adminapi.ConversionStatus](ctx, c.server, "Conversions", adminapi.None{})
}

// StopConversion implements adminapi.ConvertAdmin.
func (c Conversions) StopConversion(ctx context.Context, id uint64) error {
	return c.server.do(ctx, "StopConversion", adminapi.ConversionRef{ID: id})
}
