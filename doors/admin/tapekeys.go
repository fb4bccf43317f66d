package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// serveTapeKeys serves the encryption keys of tapes. TapeChange removes keys.
func serveTapeKeys(d *door) {
	// Names and fingerprints; no verb returns a secret.
	unary(d, "TapeKeyList", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) ([]adminapi.TapeKeyRow, error) {
		t, err := part(d.TapeKeys, "tape keys")
		if err != nil {
			return nil, err
		}
		return t.TapeKeyList(ctx)
	})
	// The key is durable when the verb answers.
	unary(d, "TapeKeyAdd", true, func(ctx context.Context, who hemera.Identity, r *adminapi.AddTapeKeyRequest) (adminapi.TapeKeyRow, error) {
		t, err := part(d.TapeKeys, "tape keys")
		if err != nil {
			return adminapi.TapeKeyRow{}, err
		}
		k := tapeapi.Key{Name: r.Name, Secret: r.Secret}
		d.audit(ctx, who, "TapeKeyAdd", k) // its log form has no secret
		return t.AddTapeKey(ctx, who.Name, k, r.Comment)
	})
}
