package load

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
)

const (
	pageSize = 4096
	wordSize = 8
	// baseSize is small enough for a processor's cache.
	baseSize = 1 << 18
)

// content defines the bytes of files. Each page is a place in random bytes, whose words are combined with a stamp of the
// file and the page: it cannot be compressed, no two pages share a part, and a page of another file or place is detected.
type content struct {
	base []byte
}

// newContent makes the content of a seed.
func newContent(seed uint64) *content {
	c := &content{base: make([]byte, baseSize+pageSize)}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	_, _ = rand.NewChaCha8(key).Read(c.base) // never fails
	return c
}

// page returns the random bytes of a page, and its stamp.
func (c *content) page(file uint64, n int64) (base []byte, stamp uint64) {
	// The finalizer of SplitMix64, over a number that no other page of the run has.
	stamp = file*0x9e3779b97f4a7c15 + uint64(n)
	stamp = (stamp ^ stamp>>30) * 0xbf58476d1ce4e5b9
	stamp = (stamp ^ stamp>>27) * 0x94d049bb133111eb
	stamp ^= stamp >> 31
	at := stamp % baseSize
	return c.base[at : at+pageSize], stamp
}

// whole writes a page into p.
func (c *content) whole(p []byte, file uint64, n int64) {
	base, stamp := c.page(file, n)
	for i := 0; i < pageSize; i += wordSize {
		binary.LittleEndian.PutUint64(p[i:i+wordSize], binary.LittleEndian.Uint64(base[i:i+wordSize])^stamp)
	}
}

// fill writes what the file has from off on into p.
func (c *content) fill(p []byte, file uint64, off int64) {
	var part [pageSize]byte
	for len(p) > 0 {
		k := pageSize
		if in := int(off % pageSize); in == 0 && len(p) >= pageSize {
			c.whole(p[:pageSize], file, off/pageSize)
		} else {
			c.whole(part[:], file, off/pageSize)
			k = copy(p, part[in:])
		}
		p, off = p[k:], off+int64(k)
	}
}

// check returns the offset of a part of a page in which p differs from the file's bytes from off on, or -1.
func (c *content) check(p []byte, file uint64, off int64) int64 {
	var part [pageSize]byte
	for len(p) > 0 {
		k := min(len(p), int(pageSize-off%pageSize))
		var ok bool
		if k == pageSize {
			ok = c.equal(p[:pageSize], file, off/pageSize)
		} else {
			c.fill(part[:k], file, off)
			ok = bytes.Equal(p[:k], part[:k])
		}
		if !ok {
			return off
		}
		p, off = p[k:], off+int64(k)
	}
	return -1
}

// equal reports whether p has the bytes of a page. It compares words without a copy, because a client spends most of its
// time here.
func (c *content) equal(p []byte, file uint64, n int64) bool {
	base, stamp := c.page(file, n)
	var differs uint64
	for i := 0; i < pageSize; i += wordSize {
		differs |= binary.LittleEndian.Uint64(p[i:i+wordSize]) ^ binary.LittleEndian.Uint64(base[i:i+wordSize]) ^ stamp
	}
	return differs == 0
}
