// Package capability makes and checks the signed permission a redirect carries: a hemera.Capability
// as compact text that is safe in a URL, with a truncated HMAC-SHA256 that only holders of the
// cluster's keys can make. It is pure: the caller brings keys and time.
//
// A token is base64url (unpadded) of: version (1 byte), key id (uvarint), the fields in the order of
// encode, and 16 bytes of HMAC-SHA256 over all before them. Numbers are varints, strings and lists
// carry their length. Who.Groups is not carried: access was decided when the token was signed.
package capability

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"hemera"
	"hemera/errs"
)

const (
	version = 1
	macSize = 16
	// TokenMax bounds a token's characters: the longest path, and targets and base of the widest
	// layout, fit with room to spare.
	TokenMax = 24 << 10
	// SecretMin is the least number of bytes a key's secret must have to sign or verify.
	SecretMin = 16
)

var encoding = base64.RawURLEncoding.Strict()

// Mint signs the capability with the key. Expires is carried to the second, rounded down.
func Mint(key hemera.Key, c hemera.Capability) string {
	e := encoder{buf: make([]byte, 0, 384)}
	e.byte(version)
	e.uint(uint64(key.ID))
	e.capability(c)
	return encoding.EncodeToString(append(e.buf, mac(key, e.buf)...))
}

// Verify returns what the token permits. Text that is no token is Invalid. A token that no key
// signed, or that expired before now, is Denied: opening the file again gives a fresh one.
// A zero now accepts expired tokens: they still end the write that they began.
func Verify(keys []hemera.Key, token string, now time.Time) (hemera.Capability, error) {
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
	d := decoder{buf: body[1:]}
	key, ok := find(keys, d.uint())
	if d.bad || !ok || !hmac.Equal(mac(key, body), sum) {
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

func mac(key hemera.Key, body []byte) []byte {
	h := hmac.New(sha256.New, key.Secret)
	h.Write(body)
	return h.Sum(nil)[:macSize]
}

// find returns the usable key with the id. A short secret would let anybody sign.
func find(keys []hemera.Key, id uint64) (hemera.Key, bool) {
	for _, k := range keys {
		if uint64(k.ID) == id && len(k.Secret) >= SecretMin {
			return k, true
		}
	}
	return hemera.Key{}, false
}
