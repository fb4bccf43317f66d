package admin

import (
	"context"

	"hemera/words/hemera"
)

// newTapeKey is a key to add. The secret travels in the request, which only processes of the manager's machine can make for an admin.
type newTapeKey struct {
	Name    string
	Secret  []byte `json:",omitempty"` // none: the manager makes one
	Comment string
}

// serveTapeKeys serves the keys that tapes are encrypted with. They are removed with TapeChange.
func serveTapeKeys(d *door) {
	// Names and fingerprints; no verb answers a secret.
	unary(d, "TapeKeyList", true, func(ctx context.Context, _ hemera.Identity, _ *none) ([]hemera.TapeKeyRow, error) {
		t, err := part(d.TapeKeys, "tape keys")
		if err != nil {
			return nil, err
		}
		return t.TapeKeyList(ctx)
	})
	// Durable when it is answered.
	unary(d, "TapeKeyAdd", true, func(ctx context.Context, who hemera.Identity, r *newTapeKey) (hemera.TapeKeyRow, error) {
		t, err := part(d.TapeKeys, "tape keys")
		if err != nil {
			return hemera.TapeKeyRow{}, err
		}
		k := hemera.TapeKey{Name: r.Name, Secret: r.Secret}
		d.audit(ctx, who, "TapeKeyAdd", k) // which leaves out the secret
		return t.AddTapeKey(ctx, who.Name, k, r.Comment)
	})
}

// TapeKeyList implements hemera.TapeKeys.
func (c tapeClient) TapeKeyList(ctx context.Context) ([]hemera.TapeKeyRow, error) {
	return call[[]hemera.TapeKeyRow](ctx, c.server, "TapeKeyList", none{})
}

// AddTapeKey implements hemera.TapeKeys.
func (c tapeClient) AddTapeKey(ctx context.Context, _ string, k hemera.TapeKey, comment string) (hemera.TapeKeyRow, error) {
	return call[hemera.TapeKeyRow](ctx, c.server, "TapeKeyAdd", newTapeKey{k.Name, k.Secret, comment})
}
