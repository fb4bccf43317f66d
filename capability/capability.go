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
	"hash"
	"sync"

	"hemera"
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

// signer signs with one key. HMAC begins with hashing the key, which takes as long as hashing a
// token: what it comes to is kept.
type signer struct {
	hemera.Key
	desks sync.Pool // of *desk
}

// desk is what one signature needs.
type desk struct {
	mac        hash.Hash // begun with the key
	sum        [sha256.Size]byte
	body, text []byte
}

func newSigner(key hemera.Key) *signer {
	s := &signer{Key: key}
	s.desks.New = func() any { return &desk{mac: hmac.New(sha256.New, key.Secret)} }
	return s
}

// usable is false for a short secret: it would let anybody sign.
func (s *signer) usable() bool { return len(s.Secret) >= SecretMin }

func (s *signer) mint(c *hemera.Capability) string {
	d := s.desks.Get().(*desk)
	defer s.desks.Put(d)
	e := encoder{buf: d.body[:0]}
	e.byte(version)
	e.uint(uint64(s.ID))
	e.capability(c)
	d.body = append(e.buf, d.sign(e.buf)...)
	d.text = encoding.AppendEncode(d.text[:0], d.body)
	return string(d.text)
}

func (s *signer) signed(body, sum []byte) bool {
	d := s.desks.Get().(*desk)
	defer s.desks.Put(d)
	return hmac.Equal(d.sign(body), sum)
}

// sign returns the signature, which is valid until the desk is used again.
func (d *desk) sign(body []byte) []byte {
	d.mac.Reset()
	d.mac.Write(body)
	return d.mac.Sum(d.sum[:0])[:macSize]
}
