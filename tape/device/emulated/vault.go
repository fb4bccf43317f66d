package emulated

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	"hemera/tape/device"
)

// sealOverhead is the number of bytes that AES-GCM adds to a block: a random nonce of 12 bytes and a tag of 16.
const sealOverhead = nonceBytes + 16

// nonceBytes is the length of a nonce, in bytes.
const nonceBytes = 12

// vault encrypts blocks while it has a key. The zero value has none.
type vault struct {
	aead    cipher.AEAD // nil without a key
	name    string      // of the key: stands in clear before each block, and is authenticated with it
	check   uint32      // tells keys apart: the first bytes of the key's digest
	scratch []byte      // the bytes of one block, used again for the next
}

// newVault returns one with an AES-256 key of 32 bytes.
func newVault(key device.Key) (v vault, err error) {
	block, err := aes.NewCipher(key.Secret)
	if err != nil {
		return v, err
	}
	digest := sha256.Sum256(key.Secret)
	v.name, v.check = key.Name, binary.LittleEndian.Uint32(digest[:])
	v.aead, err = cipher.NewGCM(block)
	return v, err
}

// fits reports whether the key is the one that a block was encrypted with.
// Two keys in four billion look the same; the tag of the block then tells.
func (v *vault) fits(check uint32) bool { return v.aead != nil && v.check == check }

// seal encrypts a block with a new nonce: the same object may be written
// again with the same key. The result is valid until the next call.
func (v *vault) seal(b []byte) ([]byte, error) {
	name := 1 + len(v.name)
	out := v.memory(name + len(b) + sealOverhead)[:name+nonceBytes]
	out[0] = byte(len(v.name))
	copy(out[1:], v.name)
	if _, err := rand.Read(out[name:]); err != nil {
		return nil, err
	}
	return v.aead.Seal(out, out[name:], b, out[:name]), nil
}

// open decrypts a block behind dst, which has room for it. It is false when
// the block was encrypted with another key, or was changed since.
func (v *vault) open(dst, sealed []byte, named bool) bool {
	_, size := nameOf(sealed, named)
	if v.aead == nil || len(sealed) < size+sealOverhead {
		return false
	}
	name, rest := sealed[:size], sealed[size:]
	_, err := v.aead.Open(dst, rest[:nonceBytes], rest[nonceBytes:], name)
	return err == nil
}

// nameOf returns the name of the key of a block, and how many stored bytes
// are in front of the nonce.
func nameOf(sealed []byte, named bool) (name string, size int) {
	if !named || len(sealed) == 0 || len(sealed) < 1+int(sealed[0]) {
		return "", 0
	}
	size = 1 + int(sealed[0])
	return string(sealed[1:size]), size
}

// memory returns n bytes that the next call uses again.
func (v *vault) memory(n int) []byte {
	if cap(v.scratch) < n {
		v.scratch = make([]byte, n)
	}
	return v.scratch[:n]
}
