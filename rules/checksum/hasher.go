package checksum

import (
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"hash"

	"hemera/words/hemera"

	"github.com/zeebo/xxh3"
	"lukechampine.com/blake3"
)

// Hasher computes one checksum over the bytes written to it, in order. It is not safe for concurrent use.
type Hasher interface {
	// Write never fails and takes all of p.
	Write(p []byte) (int, error)
	// Sum returns the checksum of the bytes written since the start or the last Reset. The caller may write more
	// afterwards.
	Sum() hemera.Checksum
	Reset()
}

// New makes a Hasher of the kind. It fails for ChecksumNone and for unknown kinds.
func New(kind hemera.ChecksumKind) (Hasher, error) {
	var h hash.Hash
	switch kind {
	case hemera.Adler32:
		return NewAdler32(), nil
	case hemera.CRC32C:
		return &crcHasher{}, nil
	case hemera.CRC32:
		return &cksumHasher{}, nil
	case hemera.ZCRC32:
		return &zcrcHasher{}, nil
	case hemera.CRC64NVME:
		return &crc64Hasher{}, nil
	case hemera.MD5:
		h = md5.New()
	case hemera.SHA256:
		h = sha256.New()
	case hemera.XXH3:
		h = xxh3.New()
	case hemera.BLAKE3:
		h = blake3.New(kind.Size(), nil)
	default:
		return nil, fmt.Errorf("checksum kind %s has no hasher", kind)
	}
	return &stdHasher{Hash: h, kind: kind}, nil
}

// NewAdler32 makes a Hasher of the kind Adler32.
func NewAdler32() Hasher { return &adlerHasher{state: adlerInit} }

// Of returns the checksum of p.
func Of(kind hemera.ChecksumKind, p []byte) (hemera.Checksum, error) {
	h, err := New(kind)
	if err != nil {
		return hemera.Checksum{}, err
	}
	_, _ = h.Write(p)
	return h.Sum(), nil
}

// stdHasher is a hash.Hash whose digest has the order in which it is printed.
type stdHasher struct {
	hash.Hash
	kind hemera.ChecksumKind
}

// Sum implements [Hasher].
func (h *stdHasher) Sum() hemera.Checksum {
	c := hemera.Checksum{Kind: h.kind}
	h.Hash.Sum(c.Value[:0])
	return c
}
