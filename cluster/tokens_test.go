package cluster

import (
	"errors"
	"testing"
	"time"

	"hemera/platform/kv/memkv"
	"hemera/platform/pki"
	"hemera/words/errs"
)

// TestOldTokensGo: a record stays a day beyond its token's end, and goes by itself then.
func TestOldTokensGo(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	c := open(t, memkv.New(), func() time.Time { return now })
	old, late, valid := [32]byte{1}, [32]byte{2}, [32]byte{3}
	for id, expires := range map[[32]byte]time.Time{old: now.Add(-25 * time.Hour), late: now.Add(-time.Hour), valid: now.Add(time.Hour)} {
		if err := c.Tokens.PutToken(t.Context(), id, pki.TokenRecord{Expires: expires}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Tokens.PutToken(t.Context(), [32]byte{4}, pki.TokenRecord{Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := c.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[[32]byte]error{old: errs.NotFound, late: nil, valid: nil, {4}: nil} {
		if _, err := c.Tokens.Token(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("token %d: %v, want %v", id[0], err, want)
		}
	}
}
