package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveTrust serves tokens, the admission and removal of nodes, and the keys of capabilities. A token is a secret: only
// the answer of CreateToken has it, and no log line. Tokens lists tokens without their secrets.
func serveTrust(d *door) {
	unary(d, "CreateToken", true, func(ctx context.Context, who hemera.Identity, r *adminapi.TokenRequest) (adminapi.Token, error) {
		c, err := part(d.Tokens, "tokens")
		if err != nil {
			return adminapi.Token{}, err
		}
		d.audit(ctx, who, "CreateToken", r)
		t, err := c.CreateToken(ctx, *r)
		return adminapi.Token{Token: t}, err
	})
	unary(d, "Tokens", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) ([]adminapi.TokenInfo, error) {
		c, err := part(d.Tokens, "tokens")
		if err != nil {
			return nil, err
		}
		return c.Tokens(ctx)
	})
	unary(d, "RemoveToken", true, func(ctx context.Context, who hemera.Identity, r *adminapi.RemoveTokenRequest) (adminapi.None, error) {
		c, err := part(d.Tokens, "tokens")
		if err != nil {
			return adminapi.None{}, err
		}
		d.audit(ctx, who, "RemoveToken", r)
		return adminapi.None{}, c.RemoveToken(ctx, r.ID)
	})
	trust(d, "AdmitNode", func(ctx context.Context, t adminapi.TrustAdmin, r *adminapi.NodeRef) error {
		return t.AdmitNode(ctx, r.ID)
	})
	trust(d, "ExpelNode", func(ctx context.Context, t adminapi.TrustAdmin, r *adminapi.NodeRef) error {
		return t.ExpelNode(ctx, r.ID)
	})
	trust(d, "RotateKeys", func(ctx context.Context, t adminapi.TrustAdmin, r *adminapi.RotateKeysRequest) error {
		return t.RotateKeys(ctx, r.End)
	})
}

// trust serves a verb that changes trust, and logs the caller before the change, as change does.
func trust[Req any](d *door, verb string, f func(context.Context, adminapi.TrustAdmin, *Req) error) {
	unary(d, verb, true, func(ctx context.Context, who hemera.Identity, r *Req) (adminapi.None, error) {
		t, err := part(d.Trust, "trust")
		if err != nil {
			return adminapi.None{}, err
		}
		d.audit(ctx, who, verb, r)
		return adminapi.None{}, f(ctx, t, r)
	})
}
