package capability

import (
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/errs"
)

// KeysMax bounds a keyring; more are never in use at once.
const KeysMax = 16

// Keyring is the cluster's keys: the one with the highest id signs, all verify. The zero Keyring is
// empty and signs nothing. It may be used and replaced concurrently. Its JSON form is []hemera.Key.
type Keyring struct {
	keys atomic.Pointer[[]hemera.Key] // newest first, never changed in place
}

// NewKeyring returns a keyring with the keys.
func NewKeyring(keys ...hemera.Key) *Keyring {
	k := new(Keyring)
	k.Set(keys)
	return k
}

// Set replaces all keys; beyond [KeysMax] the oldest are left out.
func (k *Keyring) Set(keys []hemera.Key) {
	sorted := slices.Clone(keys)
	slices.SortStableFunc(sorted, func(a, b hemera.Key) int { return int(int64(b.ID) - int64(a.ID)) })
	if len(sorted) > KeysMax {
		sorted = sorted[:KeysMax]
	}
	k.keys.Store(&sorted)
}

// Keys returns the keys, newest first.
func (k *Keyring) Keys() []hemera.Key { return slices.Clone(k.load()) }

func (k *Keyring) load() []hemera.Key {
	if p := k.keys.Load(); p != nil {
		return *p
	}
	return nil
}

// Mint signs with the newest key. Unavailable while there is none.
func (k *Keyring) Mint(c hemera.Capability) (string, error) {
	keys := k.load()
	if len(keys) == 0 || len(keys[0].Secret) < SecretMin {
		return "", errs.New(errs.Unavailable, "capability.Mint", c.Path, "there is no key to sign with yet")
	}
	token := Mint(keys[0], c)
	if len(token) > TokenMax {
		return "", errs.New(errs.TooLarge, "capability.Mint", c.Path, "the capability does not fit a token")
	}
	return token, nil
}

// Verify is [Verify] with the keyring's keys.
func (k *Keyring) Verify(token string, now time.Time) (hemera.Capability, error) {
	return Verify(k.load(), token, now)
}

// MarshalJSON writes the keys, newest first, secrets included.
func (k *Keyring) MarshalJSON() ([]byte, error) { return json.Marshal(k.load()) }

// UnmarshalJSON replaces the keys.
func (k *Keyring) UnmarshalJSON(b []byte) error {
	var keys []hemera.Key
	if err := json.Unmarshal(b, &keys); err != nil {
		return err
	}
	k.Set(keys)
	return nil
}
