package admin

import (
	"context"

	"hemera/words/hemera"
)

// token is the answer of CreateToken.
type token struct{ Token string }

// removeToken is the request of the verb of that name; so are the types below.
type removeToken struct{ ID string }

type nodeVerb struct{ ID hemera.NodeID }

type rotateKeys struct{ End bool }

// serveTrust serves tokens, the admission and removal of nodes, and the keys of capabilities.
// A token is a secret: it is in the answer of CreateToken and in no log line. Tokens lists what is known of them
// without their secrets.
func serveTrust(d *door) {
	unary(d, "CreateToken", true, func(ctx context.Context, who hemera.Identity, r *hemera.TokenRequest) (token, error) {
		c, err := part(d.Tokens, "tokens")
		if err != nil {
			return token{}, err
		}
		d.audit(ctx, who, "CreateToken", r)
		t, err := c.CreateToken(ctx, *r)
		return token{t}, err
	})
	unary(d, "Tokens", true, func(ctx context.Context, _ hemera.Identity, _ *none) ([]hemera.TokenInfo, error) {
		c, err := part(d.Tokens, "tokens")
		if err != nil {
			return nil, err
		}
		return c.Tokens(ctx)
	})
	unary(d, "RemoveToken", true, func(ctx context.Context, who hemera.Identity, r *removeToken) (none, error) {
		c, err := part(d.Tokens, "tokens")
		if err != nil {
			return none{}, err
		}
		d.audit(ctx, who, "RemoveToken", r)
		return none{}, c.RemoveToken(ctx, r.ID)
	})
	trust(d, "AdmitNode", func(ctx context.Context, t hemera.TrustAdmin, r *nodeVerb) error { return t.AdmitNode(ctx, r.ID) })
	trust(d, "ExpelNode", func(ctx context.Context, t hemera.TrustAdmin, r *nodeVerb) error { return t.ExpelNode(ctx, r.ID) })
	trust(d, "RotateKeys", func(ctx context.Context, t hemera.TrustAdmin, r *rotateKeys) error { return t.RotateKeys(ctx, r.End) })
}

// trust serves a verb that changes who is trusted, and logs who asked for it.
// The log line comes before the change, as for change.
func trust[Req any](d *door, verb string, f func(context.Context, hemera.TrustAdmin, *Req) error) {
	unary(d, verb, true, func(ctx context.Context, who hemera.Identity, r *Req) (none, error) {
		t, err := part(d.Trust, "trust")
		if err != nil {
			return none{}, err
		}
		d.audit(ctx, who, verb, r)
		return none{}, f(ctx, t, r)
	})
}

// trustClient is the part of a [Client] that handles tokens, nodes' membership and keys.
type trustClient struct{ server *server }

// CreateToken implements hemera.TokenAdmin.
func (c trustClient) CreateToken(ctx context.Context, r hemera.TokenRequest) (string, error) {
	t, err := call[token](ctx, c.server, "CreateToken", r)
	return t.Token, err
}

// Tokens implements hemera.TokenAdmin.
func (c trustClient) Tokens(ctx context.Context) ([]hemera.TokenInfo, error) {
	return call[[]hemera.TokenInfo](ctx, c.server, "Tokens", none{})
}

// RemoveToken implements hemera.TokenAdmin.
func (c trustClient) RemoveToken(ctx context.Context, id string) error {
	return c.server.do(ctx, "RemoveToken", removeToken{id})
}

// AdmitNode implements hemera.TrustAdmin.
func (c trustClient) AdmitNode(ctx context.Context, id hemera.NodeID) error {
	return c.server.do(ctx, "AdmitNode", nodeVerb{id})
}

// ExpelNode implements hemera.TrustAdmin.
func (c trustClient) ExpelNode(ctx context.Context, id hemera.NodeID) error {
	return c.server.do(ctx, "ExpelNode", nodeVerb{id})
}

// RotateKeys implements hemera.TrustAdmin.
func (c trustClient) RotateKeys(ctx context.Context, end bool) error {
	return c.server.do(ctx, "RotateKeys", rotateKeys{end})
}
