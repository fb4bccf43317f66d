package scsi

import (
	"encoding/binary"

	"hemera/tape/device"
	"hemera/words/errs"
)

// Encryption in the drive: SECURITY PROTOCOL IN and OUT, protocol 20h (SSC-5, section 8.5).

const (
	tapeEncryption   = 0x20 // the security protocol
	pageCapabilities = 0x0010
	pageStatus       = 0x0020
	pageNextBlock    = 0x0021
	pageSetKey       = 0x0010
	securityMax      = 1024
)

// securityIn asks for a page of the protocol.
func securityIn(page uint16) Command {
	cdb := make([]byte, 12)
	cdb[0], cdb[1] = opSecurityIn, tapeEncryption
	binary.BigEndian.PutUint16(cdb[2:], page)
	binary.BigEndian.PutUint32(cdb[6:], securityMax)
	return Command{Name: "SECURITY PROTOCOL IN", CDB: cdb, Direction: FromDevice, In: securityMax}
}

// EncryptionCapabilities asks for the algorithms.
func EncryptionCapabilities() Command { return securityIn(pageCapabilities) }

// EncryptionStatus asks if a key is set.
func EncryptionStatus() Command { return securityIn(pageStatus) }

// NextBlockStatus asks how the block is encrypted that the tape stands before.
func NextBlockStatus() Command { return securityIn(pageNextBlock) }

// Algorithm is one that a drive encrypts with.
type Algorithm struct {
	Index   byte // the drive's number for it
	NameMax int  // bytes that may stand in clear beside a block; 0 for none
}

// DecodeCapabilities returns the algorithm with keys of 32 bytes that encrypts and decrypts.
// It fails with errs.Unsupported when the drive has none.
func DecodeCapabilities(b []byte) (Algorithm, error) {
	const header = 20
	if len(b) < header {
		return Algorithm{}, short("encryption capabilities", len(b), header)
	}
	for rest := b[header:max(header, min(len(b), 4+get16(b[2:])))]; len(rest) >= 12; {
		size := 4 + get16(rest[2:])
		encrypts, decrypts := rest[4]&0x03 != 0, rest[4]&0x0C != 0
		if get16(rest[10:]) == device.KeySize && encrypts && decrypts {
			return Algorithm{Index: rest[0], NameMax: get16(rest[6:])}, nil
		}
		if size > len(rest) {
			break
		}
		rest = rest[size:]
	}
	return Algorithm{}, errs.New(errs.Unsupported, "scsi.DecodeCapabilities", "encryption", "the drive has no algorithm with keys of 32 bytes").
		WithRemedy("Enable application managed encryption in the library, or use pools without a key.")
}

// Encryption is the state of a drive's encryption of blocks.
type Encryption struct {
	Encrypts, Decrypts bool
	Algorithm          byte // the index of the one that is in use
}

// DecodeStatus reads if the drive encrypts what is written and decrypts what is read.
func DecodeStatus(b []byte) (Encryption, error) {
	if len(b) < 8 {
		return Encryption{}, short("encryption status", len(b), 8)
	}
	return Encryption{Encrypts: b[5] == modeEncrypt, Decrypts: b[6] >= modeDecrypt, Algorithm: b[7]}, nil
}

// DecodeNextBlock returns the name of the key that the next block is encrypted with, "" when the block has none.
func DecodeNextBlock(b []byte) (string, error) {
	const header = 16
	if len(b) < header {
		return "", short("next block status", len(b), header)
	}
	for rest := b[header:max(header, min(len(b), 4+get16(b[2:])))]; len(rest) >= descriptor; {
		size := descriptor + get16(rest[2:])
		if size > len(rest) {
			break
		}
		if rest[0] == clearData {
			return string(rest[descriptor:size]), nil
		}
		rest = rest[size:]
	}
	return "", nil
}

// The modes of encryption (byte 6 of the page that sets a key) and decryption (byte 7).
const (
	modeEncrypt = 2
	modeDecrypt = 2
	modeMixed   = 3 // blocks that are not encrypted can be read too, as the label before the key was set
)

// SetKey sets the key for this host, until the cartridge is unloaded. A name that is longer than the algorithm takes is left out.
func SetKey(a Algorithm, key device.Key) Command {
	page := dataEncryption(len(key.Secret))
	page[5] |= clearOnDemount
	page[6], page[7], page[8] = modeEncrypt, modeMixed, a.Index
	copy(page[keyAt:], key.Secret)
	if n := len(key.Name); n > 0 && n <= a.NameMax {
		page = append(page, clearData, 0, byte(n>>8), byte(n))
		page = append(page, key.Name...)
		binary.BigEndian.PutUint16(page[2:], uint16(len(page)-4))
	}
	return securityOut(page)
}

// ClearKey removes the key and switches encryption off.
func ClearKey(algorithm byte) Command {
	page := dataEncryption(0)
	page[8] = algorithm
	return securityOut(page)
}

// Bits and places of the page that sets a key.
const (
	scopeLocal     = 1 << 5 // this host's nexus only
	clearOnDemount = 1 << 2 // CKOD
	keyAt          = 20
)

// Key-associated data comes as descriptors of a type, flags and a length. Data in clear (U-KAD) is not authenticated: nobody has to know it to read
// a block.
const (
	descriptor = 4 // its length without data
	clearData  = 0x00
)

// dataEncryption returns the page with room for a key.
func dataEncryption(keySize int) []byte {
	page := make([]byte, keyAt+keySize)
	binary.BigEndian.PutUint16(page, pageSetKey)
	binary.BigEndian.PutUint16(page[2:], uint16(len(page)-4))
	page[4] = scopeLocal
	binary.BigEndian.PutUint16(page[18:], uint16(keySize))
	return page
}

// securityOut sends the page that sets and clears keys.
func securityOut(page []byte) Command {
	cdb := make([]byte, 12)
	cdb[0], cdb[1] = opSecurityOut, tapeEncryption
	binary.BigEndian.PutUint16(cdb[2:], pageSetKey)
	binary.BigEndian.PutUint32(cdb[6:], uint32(len(page)))
	return Command{Name: "SECURITY PROTOCOL OUT", CDB: cdb, Direction: ToDevice, Out: page}
}
