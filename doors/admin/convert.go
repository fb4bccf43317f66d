package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveConvert serves requests to store files with another layout.
func serveConvert(d *door) {
	unary(d, "Convert", true, func(ctx context.Context, who hemera.Identity, r *adminapi.ConversionRequest) (adminapi.Conversion, error) {
		c, err := part(d.Convert, "conversions")
		if err != nil {
			return adminapi.Conversion{}, err
		}
		d.audit(ctx, who, "Convert", r)
		return c.Convert(ctx, who.Name, *r)
	})
	unary(d, "Conversions", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) ([]adminapi.ConversionStatus, error) {
		c, err := part(d.Convert, "conversions")
		if err != nil {
			return nil, err
		}
		return c.Conversions(ctx)
	})
	unary(d, "StopConversion", true, func(ctx context.Context, who hemera.Identity, r *adminapi.ConversionRef) (adminapi.None, error) {
		c, err := part(d.Convert, "conversions")
		if err != nil {
			return adminapi.None{}, err
		}
		d.audit(ctx, who, "StopConversion", r)
		return adminapi.None{}, c.StopConversion(ctx, r.ID)
	})
}
