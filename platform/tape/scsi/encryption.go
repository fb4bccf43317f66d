package scsi

import (
	"encoding/binary"

	"hemera/errs"
)

// Encryption in the drive: SECURITY PROTOCOL IN and OUT, protocol 20h (SSC-5, section 8.5).

const (
	tapeEncryption   = 0x20 // the security protocol
	pageCapabilities = 0x0010
	pageStatus       = 0x0020
	pageSetKey       = 0x0010
	securityMax      = 1024
	// KeySize is that of AES-256, in bytes.
	KeySize = 32
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

// DecodeCapabilities returns the index of the algorithm with keys of 32 bytes that encrypts and decrypts.
// It fails with errs.Unsupported when the drive has none.
func DecodeCapabilities(b []byte) (algorithm byte, err error) {
	const header = 20
	if len(b) < header {
		return 0, short("encryption capabilities", len(b), header)
	}
	for rest := b[header:max(header, min(len(b), 4+get16(b[2:])))]; len(rest) >= 12; {
		size := 4 + get16(rest[2:])
		encrypts, decrypts := rest[4]&0x03 != 0, rest[4]&0x0C != 0
		if get16(rest[10:]) == KeySize && encrypts && decrypts {
			return rest[0], nil
		}
		if size > len(rest) {
			break
		}
		rest = rest[size:]
	}
	return 0, errs.New(errs.Unsupported, "scsi.DecodeCapabilities", "encryption", "the drive has no algorithm with keys of 32 bytes").
		WithRemedy("Enable application managed encryption in the library, or use pools without a key.")
}

// DecodeStatus reports whether the drive encrypts what is written and decrypts what is read.
func DecodeStatus(b []byte) (encrypts, decrypts bool, err error) {
	if len(b) < 8 {
		return false, false, short("encryption status", len(b), 8)
	}
	return b[5] == modeEncrypt, b[6] >= modeDecrypt, nil
}

// The modes of encryption (byte 6 of the page that sets a key) and decryption (byte 7).
const (
	modeEncrypt = 2
	modeDecrypt = 2
	modeMixed   = 3 // blocks that are not encrypted can be read too, as the label before the key was set
)

// SetKey sets the key for this host, until the cartridge is unloaded. The key has KeySize bytes.
func SetKey(algorithm byte, key []byte) Command {
	page := dataEncryption(len(key))
	page[5] |= clearOnDemount
	page[6], page[7], page[8] = modeEncrypt, modeMixed, algorithm
	copy(page[keyAt:], key)
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

// dataEncryption is the page with room for a key.
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
