package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Trust handles join tokens, the membership of nodes, and keys. It implements adminapi.TokenAdmin and adminapi.TrustAdmin.
type Trust struct{ server *server }

// CreateToken implements adminapi.TokenAdmin.
func (c Trust) CreateToken(ctx context.Context, r adminapi.TokenRequest) (string, error) {
	t, err := call[adminapi.Token](ctx, c.server, "CreateToken", r)
	return t.Token, err
}

// Tokens implements adminapi.TokenAdmin.
func (c Trust) Tokens(ctx context.Context) ([]adminapi.TokenInfo, error) {
	return call[[]adminapi.TokenInfo](ctx, c.server, "Tokens", adminapi.None{})
}

// RemoveToken implements adminapi.TokenAdmin.
func (c Trust) RemoveToken(ctx context.Context, id string) error {
	return c.server.do(ctx, "RemoveToken", adminapi.RemoveTokenRequest{ID: id})
}

// AdmitNode implements adminapi.TrustAdmin.
func (c Trust) AdmitNode(ctx context.Context, id hemera.NodeID) error {
	return c.server.do(ctx, "AdmitNode", adminapi.NodeRef{ID: id})
}

// ExpelNode implements adminapi.TrustAdmin.
func (c Trust) ExpelNode(ctx context.Context, id hemera.NodeID) error {
	return c.server.do(ctx, "ExpelNode", adminapi.NodeRef{ID: id})
}

// RotateKeys implements adminapi.TrustAdmin.
func (c Trust) RotateKeys(ctx context.Context, end bool) error {
	return c.server.do(ctx, "RotateKeys", adminapi.RotateKeysRequest{End: end})
}
