package emulated

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"

	"hemera/errs"
	"hemera/platform/tape"
)

// sealOverhead is what AES-GCM adds to a block: a random nonce of 12 bytes and a tag of 16.
const sealOverhead = 12 + 16

// store writes a block in the form that the drive and the library are set to.
func (t *loaded) store(b []byte) error {
	r := record{kind: kindBlock, length: uint32(len(b))}
	stored := b
	if t.key != nil {
		r.flags |= flagEncrypted
		r.key = keyCheck(t.key)
	}
	switch {
	case t.cartridge.options.Discard && len(b) >= discardBelow:
		r.flags |= flagDiscarded
		stored = nil
	case t.key != nil:
		sealed, err := t.seal(b)
		if err != nil {
			return err
		}
		stored = sealed
	}
	if err := t.cartridge.append(r, stored); err != nil {
		return err
	}
	t.object++
	t.dirty = true
	t.show()
	return nil
}

// fetch reads the bytes of a block into buf, which has its length.
func (t *loaded) fetch(r record, buf []byte) error {
	if r.flags&flagDiscarded != 0 {
		clear(buf)
		return nil
	}
	if r.flags&flagEncrypted == 0 {
		return t.cartridge.load(r, buf)
	}
	sealed := t.memory(int(r.stored))
	if err := t.cartridge.load(r, sealed); err != nil {
		return err
	}
	aead, err := newAEAD(t.key)
	if err != nil || len(sealed) < sealOverhead {
		return fail("emulated.Read", t.cartridge.barcode, tape.ErrMedium)
	}
	if _, err := aead.Open(buf[:0], sealed[:12], sealed[12:], nil); err != nil {
		return fail("emulated.Read", t.cartridge.barcode, tape.ErrEncrypted)
	}
	return nil
}

// seal encrypts a block with a new nonce: the same object may be written again with the same key.
func (t *loaded) seal(b []byte) ([]byte, error) {
	aead, err := newAEAD(t.key)
	if err != nil {
		return nil, err
	}
	out := t.memory(len(b) + sealOverhead)[:12]
	if _, err := rand.Read(out); err != nil {
		return nil, errs.Wrap(err, "emulated.Write", t.cartridge.barcode)
	}
	return aead.Seal(out, out, b, nil), nil
}

// memory returns n bytes of memory that the next call uses again.
func (t *loaded) memory(n int) []byte {
	if cap(t.scratch) < n {
		t.scratch = make([]byte, n)
	}
	return t.scratch[:n]
}

// opens reports whether the key that is set is the one of an encrypted block.
func (t *loaded) opens(r record) bool { return t.key != nil && keyCheck(t.key) == r.key }

// keyCheck tells keys apart: the first bytes of the digest.
func keyCheck(key []byte) uint32 {
	digest := sha256.Sum256(key)
	return binary.LittleEndian.Uint32(digest[:])
}

// newAEAD returns AES-256-GCM.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "emulated.SetKey", "")
	}
	aead, err := cipher.NewGCM(block)
	return aead, errs.Wrap(err, "emulated.SetKey", "")
}

// transfer is the way of a block between host and drive. A fault may flip a bit of it; logical block protection finds that.
func (t *loaded) transfer(o outcome, b []byte, protected bool) error {
	if o.fail != "corrupt" || len(b) == 0 {
		return nil
	}
	sum := crc32.Checksum(b, castagnoli())
	b[len(b)/2] ^= 0x10
	if protected && crc32.Checksum(b, castagnoli()) != sum {
		return fail("emulated.Transfer", t.where(t.object), tape.ErrProtection)
	}
	return nil
}
