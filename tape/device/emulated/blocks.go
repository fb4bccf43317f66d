package emulated

import (
	"hash/crc32"

	"hemera/tape/device"
	"hemera/words/errs"
)

// store writes a block in the form that the drive and the library are set to.
func (t *loaded) store(b []byte) error {
	r := record{kind: kindBlock, length: uint32(len(b))}
	stored := b
	if t.vault.aead != nil {
		r.flags |= flagEncrypted | flagNamed
		r.key = t.vault.check
	}
	switch {
	// The flag stays even when the key is set: reading asks for it all the same.
	case t.cartridge.options.Discard && len(b) >= discardBelow:
		r.flags |= flagDiscarded
		stored = nil
	case t.vault.aead != nil:
		sealed, err := t.vault.seal(b)
		if err != nil {
			return errs.Wrap(err, "emulated.Write", t.cartridge.barcode)
		}
		stored = sealed
	default:
		if pages, ok := repeats(b); ok {
			r.flags |= flagRepeated
			stored = pages
		}
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
	if r.flags&flagRepeated != 0 {
		pages := make([]byte, r.stored)
		if err := t.cartridge.load(r, pages); err != nil {
			return err
		}
		unrepeat(buf, pages)
		return nil
	}
	if r.flags&flagEncrypted == 0 {
		return t.cartridge.load(r, buf)
	}
	sealed := t.vault.memory(int(r.stored))
	if err := t.cartridge.load(r, sealed); err != nil {
		return err
	}
	if !t.vault.open(buf[:0], sealed, r.flags&flagNamed != 0) {
		return t.locked(r, t.object-1) // the tape stands behind it already
	}
	return nil
}

// locked returns the error of a block whose key is not set, with the key's name
// where it is stored.
func (t *loaded) locked(r record, object uint64) error {
	where := t.where(object)
	if sealed := t.vault.memory(int(r.stored)); r.flags&flagNamed != 0 && t.cartridge.load(r, sealed) == nil {
		if name, _ := nameOf(sealed, true); name != "" {
			where += ", key " + name
		}
	}
	return fail("emulated.Read", where, device.ErrEncrypted)
}

// transfer moves a block between host and drive. A fault may flip a bit of it; logical block protection finds that.
func (t *loaded) transfer(o outcome, b []byte, protected bool) error {
	if o.fail != "corrupt" || len(b) == 0 {
		return nil
	}
	// The checksum of the sender travels behind the block; here both ends are in
	// one function.
	sum := crc32.Checksum(b, castagnoli())
	b[len(b)/2] ^= 0x10
	if protected && crc32.Checksum(b, castagnoli()) != sum {
		return fail("emulated.Transfer", t.where(t.object), device.ErrProtection)
	}
	return nil
}
