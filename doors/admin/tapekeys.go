package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveTapeKeys serves the keys that tapes are encrypted with. They are removed with TapeChange.
func serveTapeKeys(d *door) {
	// Names and fingerprints; no verb answers a secret.
	unary(d, "TapeKeyList", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) ([]hemera.TapeKeyRow, error) {
		t, err := part(d.TapeKeys, "tape keys")
		if err != nil {
			return nil, err
		}
		return t.TapeKeyList(ctx)
	})
	// Durable when it is answered.
	unary(d, "TapeKeyAdd", true, func(ctx context.Context, who hemera.Identity, r *adminapi.AddTapeKeyRequest) (hemera.TapeKeyRow, error) {
		t, err := part(d.TapeKeys, "tape keys")
		if err != nil {
			return hemera.TapeKeyRow{}, err
		}
		k := hemera.TapeKey{Name: r.Name, Secret: r.Secret}
		d.audit(ctx, who, "TapeKeyAdd", k) // which leaves out the secret
		return t.AddTapeKey(ctx, who.Name, k, r.Comment)
	})
}
