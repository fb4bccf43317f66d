package hemera

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// ChecksumKind names a checksum algorithm. The numbers are stored; never renumber.
type ChecksumKind uint8

// The checksum kinds. Names are those of `sys.forced.checksum` and of `xrdfs query checksum`.
const (
	ChecksumNone ChecksumKind = iota
	Adler32
	CRC32C
	CRC64NVME
	MD5
	SHA256
	XXH3 // 64 bit
	BLAKE3
	CRC32  // of POSIX's cksum; XRootD's crc32
	ZCRC32 // zlib's CRC-32, lowest byte first
	checksumKinds
)

var checksumNames = [checksumKinds]string{"none", "adler32", "crc32c", "crc64nvme", "md5", "sha256", "xxh3", "blake3", "crc32", "zcrc32"}
var checksumSizes = [checksumKinds]int{0, 4, 4, 8, 16, 32, 8, 32, 4, 4}

// ChecksumKinds lists every kind but none, the order in which a server announces them.
func ChecksumKinds() []ChecksumKind {
	return []ChecksumKind{Adler32, CRC32C, CRC64NVME, MD5, SHA256, XXH3, BLAKE3, CRC32, ZCRC32}
}

// Valid reports whether k is one of the constants.
func (k ChecksumKind) Valid() bool { return k < checksumKinds }

// Size returns the checksum's length in bytes.
func (k ChecksumKind) Size() int { return checksumSizes[k] }

// String returns the lower-case name.
func (k ChecksumKind) String() string {
	if !k.Valid() {
		return fmt.Sprintf("checksum(%d)", uint8(k))
	}
	return checksumNames[k]
}

// ParseChecksumKind reads a kind's name; it also knows EOS's "adler".
func ParseChecksumKind(s string) (ChecksumKind, error) {
	s = strings.ToLower(s)
	if s == "adler" {
		return Adler32, nil
	}
	for k, name := range checksumNames {
		if s == name {
			return ChecksumKind(k), nil
		}
	}
	return ChecksumNone, fmt.Errorf("checksum %q is not known; known are %s", s, strings.Join(checksumNames[:], ", "))
}

// Checksum is one value of one kind, big-endian as it is printed; the first Kind.Size() bytes of
// Value count and the rest are zero, so two checksums can be compared with ==.
type Checksum struct {
	Kind  ChecksumKind
	Value [32]byte
}

// MakeChecksum takes the digest's bytes, which must have the kind's size.
func MakeChecksum(k ChecksumKind, digest []byte) (Checksum, error) {
	c := Checksum{Kind: k}
	if !k.Valid() || len(digest) != k.Size() {
		return Checksum{}, fmt.Errorf("%s digest has %d bytes", k, len(digest))
	}
	copy(c.Value[:], digest)
	return c, nil
}

// Hex returns the value in lower-case hexadecimal, leading zeros kept.
func (c Checksum) Hex() string { return hex.EncodeToString(c.Value[:c.Kind.Size()]) }

// String returns "kind:hex".
func (c Checksum) String() string { return c.Kind.String() + ":" + c.Hex() }

// FindChecksum returns the checksum of the kind, and whether it is there.
func FindChecksum(sums []Checksum, k ChecksumKind) (Checksum, bool) {
	for _, c := range sums {
		if c.Kind == k {
			return c, true
		}
	}
	return Checksum{}, false
}

// ParseChecksum reads what [Checksum.String] wrote.
func ParseChecksum(s string) (Checksum, error) {
	name, digits, ok := strings.Cut(s, ":")
	if !ok {
		return Checksum{}, fmt.Errorf("checksum %q: want kind:hex", s)
	}
	kind, err := ParseChecksumKind(name)
	if err != nil {
		return Checksum{}, err
	}
	digest, err := hex.DecodeString(digits)
	if err != nil {
		return Checksum{}, fmt.Errorf("checksum %q: %w", s, err)
	}
	return MakeChecksum(kind, digest)
}

// MarshalText makes JSON show a checksum as "kind:hex" instead of its 32 bytes.
func (c Checksum) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what [Checksum.MarshalText] wrote.
func (c *Checksum) UnmarshalText(text []byte) (err error) {
	*c, err = ParseChecksum(string(text))
	return err
}

// MarshalText makes JSON show a kind by its name.
func (k ChecksumKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what [ChecksumKind.MarshalText] wrote.
func (k *ChecksumKind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseChecksumKind(string(text))
	return err
}
