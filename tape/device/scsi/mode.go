package scsi

import (
	"encoding/binary"

	"hemera/words/errs"
)

// The mode pages that are used here.
const (
	pageProtection    = 0x0A // with subpage
	subpageProtection = 0xF0
	pageElements      = 0x1D
)

// The length of the header, and the most that the six-byte command can ask for.
const (
	modeHeader = 4
	modeMax    = 255
)

// ModeSense asks for the current values of a page, with the block descriptor. Page 0 asks for no page.
func ModeSense(page, subpage byte) Command {
	return Command{Name: "MODE SENSE", CDB: []byte{opModeSense6, 0, page, subpage, modeMax, 0}, Direction: FromDevice, In: modeMax}
}

// ModeSenseHeader asks for header and block descriptor only.
func ModeSenseHeader() Command { return ModeSense(0, 0) }

// ModeSenseProtection asks for the page of logical block protection.
func ModeSenseProtection() Command { return ModeSense(pageProtection, subpageProtection) }

// ModeSenseElements asks a changer for its element addresses.
func ModeSenseElements() Command { return ModeSense(pageElements, 0) }

// Mode is the answer to MODE SENSE, taken apart.
type Mode struct {
	WriteProtected bool
	// Density and BlockLength are those of the block descriptor, 0 where there is none. A length of 0 means blocks of any length.
	Density     byte
	BlockLength int
	Page        []byte // from its first byte, empty when none was asked for
	header      []byte // with the descriptor, as MODE SELECT takes it back
}

// DecodeMode takes the answer of MODE SENSE(6) apart.
func DecodeMode(b []byte) (Mode, error) {
	if len(b) < modeHeader {
		return Mode{}, short("MODE SENSE", len(b), modeHeader)
	}
	b = b[:max(modeHeader, min(len(b), 1+int(b[0])))] // the length does not count itself
	start := modeHeader + int(b[3])
	if start > len(b) {
		return Mode{}, short("MODE SENSE", len(b), start)
	}
	m := Mode{WriteProtected: b[2]&0x80 != 0, Page: b[start:], header: b[:start]}
	if b[3] >= 8 {
		m.Density, m.BlockLength = b[4], get24(b[9:])
	}
	return m, nil
}

// Select returns the MODE SELECT that sends a page back, with the header and descriptor that came with it. Bits that are
// reserved in this direction are cleared: the length, the medium type, write protection, and the saving of the page.
func (m Mode) Select(page []byte) Command {
	out := append(append([]byte{}, m.header...), page...)
	out[0], out[1], out[2] = 0, 0, out[2]&0x7F
	if len(page) > 0 {
		out[len(m.header)] &= 0x7F
	}
	const pageFormat = 0x10
	return Command{Name: "MODE SELECT", CDB: []byte{opModeSelect6, pageFormat, 0, 0, byte(len(out)), 0}, Direction: ToDevice, Out: out}
}

// Protection is the page of logical block protection (SSC-5, control data protection).
type Protection struct {
	Read, Write bool
	Method      byte // 0 none, 1 Reed-Solomon, 2 CRC32C
	Length      int  // of the checksum behind each block, in bytes
}

// The method and the length of a checksum with CRC32C.
const (
	MethodCRC32C = 2
	CRC32CLength = 4
)

// protectionSize is the least of the page that is used: it ends with the bits for writing and reading.
const protectionSize = 7

// Protection reads the page. It fails with errs.Unsupported when the device answered with another page.
func (m Mode) Protection() (Protection, error) {
	p := m.Page
	if len(p) < protectionSize || p[0]&0x3F != pageProtection || p[1] != subpageProtection {
		return Protection{}, errs.New(errs.Unsupported, "scsi.Protection", "mode page 0Ah/F0h", "the device has no logical block protection")
	}
	return Protection{Method: p[4], Length: int(p[5] & 0x3F), Write: p[6]&0x80 != 0, Read: p[6]&0x40 != 0}, nil
}

// SelectProtection returns the command that sets the page. Call Protection before, it checks that the device has it.
func (m Mode) SelectProtection(p Protection) Command {
	page := append([]byte{}, m.Page...)
	page[4], page[5], page[6] = p.Method, byte(p.Length), page[6]&0x3F
	if p.Write {
		page[6] |= 0x80
	}
	if p.Read {
		page[6] |= 0x40
	}
	return m.Select(page)
}

// Range is a number of elements in a row.
type Range struct{ First, Count int }

// Addresses are the first addresses and the numbers of a changer's elements.
type Addresses struct{ Arms, Slots, Gates, Drives Range }

// Addresses reads the element address assignment page.
func (m Mode) Addresses() (Addresses, error) {
	const size = 18
	p := m.Page
	if len(p) < size || p[0]&0x3F != pageElements {
		return Addresses{}, short("mode page 1Dh", len(p), size)
	}
	// Each kind is a first address and a number.
	at := func(i int) Range {
		return Range{First: int(binary.BigEndian.Uint16(p[i:])), Count: int(binary.BigEndian.Uint16(p[i+2:]))}
	}
	return Addresses{Arms: at(2), Slots: at(6), Gates: at(10), Drives: at(14)}, nil
}
