package admin

import (
	"context"

	"hemera/words/hemera"
)

// conversionRef is the request of StopConversion.
type conversionRef struct{ ID uint64 } // as Conversions shows it

// serveConvert serves requests to store files in another form.
func serveConvert(d *door) {
	unary(d, "Convert", true, func(ctx context.Context, who hemera.Identity, r *hemera.ConversionRequest) (hemera.Conversion, error) {
		c, err := part(d.Convert, "conversions")
		if err != nil {
			return hemera.Conversion{}, err
		}
		d.audit(ctx, who, "Convert", r)
		return c.Convert(ctx, who.Name, *r)
	})
	unary(d, "Conversions", true, func(ctx context.Context, _ hemera.Identity, _ *none) ([]hemera.ConversionStatus, error) {
		c, err := part(d.Convert, "conversions")
		if err != nil {
			return nil, err
		}
		return c.Conversions(ctx)
	})
	unary(d, "StopConversion", true, func(ctx context.Context, who hemera.Identity, r *conversionRef) (none, error) {
		c, err := part(d.Convert, "conversions")
		if err != nil {
			return none{}, err
		}
		d.audit(ctx, who, "StopConversion", r)
		return none{}, c.StopConversion(ctx, r.ID)
	})
}

// convertClient is the part of a [Client] that asks for conversions.
type convertClient struct{ server *server }

// Convert implements hemera.ConvertAdmin. The server knows itself who asks.
func (c convertClient) Convert(ctx context.Context, _ string, r hemera.ConversionRequest) (hemera.Conversion, error) {
	return call[hemera.Conversion](ctx, c.server, "Convert", r)
}

// Conversions implements hemera.ConvertAdmin.
func (c convertClient) Conversions(ctx context.Context) ([]hemera.ConversionStatus, error) {
	return call[[]hemera.ConversionStatus](ctx, c.server, "Conversions", none{})
}

// StopConversion implements hemera.ConvertAdmin.
func (c convertClient) StopConversion(ctx context.Context, id uint64) error {
	return c.server.do(ctx, "StopConversion", conversionRef{id})
}
