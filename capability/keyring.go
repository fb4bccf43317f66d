package capability

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/errs"
)

// KeysMax bounds a keyring; more are never in use at once.
const KeysMax = 16

// Keyring is the cluster's keys: the one with the highest id signs, all verify. The zero Keyring is
// empty and signs nothing. It may be used and replaced concurrently.
type Keyring struct {
	signers atomic.Pointer[[]*signer] // newest first, never changed in place
}

// NewKeyring returns a keyring with the keys.
func NewKeyring(keys ...hemera.Key) *Keyring {
	k := new(Keyring)
	k.Set(keys)
	return k
}

// Set replaces all keys; beyond [KeysMax] the oldest are left out.
func (k *Keyring) Set(keys []hemera.Key) {
	sorted := slices.SortedStableFunc(slices.Values(keys), func(a, b hemera.Key) int { return cmp.Compare(b.ID, a.ID) })
	signers := make([]*signer, min(len(sorted), KeysMax))
	for i := range signers {
		signers[i] = newSigner(sorted[i])
	}
	k.signers.Store(&signers)
}

// Keys returns the keys, newest first.
func (k *Keyring) Keys() []hemera.Key {
	signers := k.load()
	keys := make([]hemera.Key, len(signers))
	for i, s := range signers {
		keys[i] = s.Key
	}
	return keys
}

func (k *Keyring) load() []*signer {
	if p := k.signers.Load(); p != nil {
		return *p
	}
	return nil
}

// Mint signs the capability with the newest key. Expires is carried to the second, rounded down.
// Unavailable while there is no key, TooLarge beyond [TokenMax].
func (k *Keyring) Mint(c hemera.Capability) (string, error) {
	signers := k.load()
	if len(signers) == 0 || !signers[0].usable() {
		return "", errs.New(errs.Unavailable, "capability.Mint", c.Path, "there is no key to sign with yet")
	}
	token := signers[0].mint(&c)
	if len(token) > TokenMax {
		return "", errs.New(errs.TooLarge, "capability.Mint", c.Path, "the capability does not fit a token")
	}
	return token, nil
}

// Verify returns what the token permits. Text that is no token is Invalid. A token that no key
// signed, or that expired before now, is Denied: opening the file again gives a fresh one.
// A zero now accepts expired tokens: they still end the write that they began.
// The capability's texts are parts of one copy of the token: clone what is to outlive the others.
func (k *Keyring) Verify(token string, now time.Time) (hemera.Capability, error) {
	const op = "capability.Verify"
	if len(token) > TokenMax {
		return hemera.Capability{}, errs.New(errs.Invalid, op, "", "the token is too long")
	}
	raw, err := encoding.DecodeString(token)
	if err != nil || len(raw) < macSize+2 {
		return hemera.Capability{}, errs.New(errs.Invalid, op, "", "this is no capability")
	}
	if raw[0] != version {
		return hemera.Capability{}, errs.New(errs.Invalid, op, "", "the capability is of an unknown version")
	}
	body, sum := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	d := newDecoder(body[1:])
	key := k.find(d.uint())
	if d.bad || key == nil || !key.signed(body, sum) {
		return hemera.Capability{}, errs.New(errs.Denied, op, "", "no key of this cluster signed the capability").
			WithRemedy("open the file again at the manager")
	}
	c := d.capability()
	if d.bad || len(d.buf) != 0 {
		return hemera.Capability{}, errs.New(errs.Invalid, op, "", "the capability is signed but malformed")
	}
	if !now.IsZero() && now.After(c.Expires) {
		return hemera.Capability{}, errs.New(errs.Denied, op, c.Path, "the capability has expired").
			WithRemedy("open the file again; if this happens at once, compare the clocks of manager and node")
	}
	return c, nil
}

// find returns the usable key with the id, nil if there is none.
func (k *Keyring) find(id uint64) *signer {
	for _, s := range k.load() {
		if uint64(s.ID) == id && s.usable() {
			return s
		}
	}
	return nil
}
