package checksum

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"hemera/words/hemera"

	"github.com/minio/crc64nvme"
)

// Change computes new checksums of a content from the old ones and the bytes that changed. It supports the kinds for
// which [SkipsZeros] returns true: they are linear, so the effect of a byte follows from its value and its distance from
// the end. It is not safe for concurrent use.
//
// Each call works on the content that the calls before left. A caller that replaces bytes removes the old ones and adds
// the new ones; before it cuts a content, it removes the bytes to be cut.
type Change struct {
	size int64
	sums []linear
}

// linear is one checksum, kept as the sum of the effects of all bytes.
type linear interface {
	// toggle turns zeros into the bytes p, or p into zeros if remove is set. after counts the bytes of the content that
	// follow.
	toggle(p []byte, after int64, remove bool)
	// resize adds n zeros at the end, or cuts -n.
	resize(n int64)
	// sum returns the checksum of the content, which has size bytes.
	sum(size int64) hemera.Checksum
}

// NewChange returns a Change for a content of size bytes with the checksums. It returns nil if one of them has a kind
// that is not linear.
func NewChange(size int64, sums []hemera.Checksum) *Change {
	c := &Change{size: size}
	for _, s := range sums {
		l := newLinear(size, s)
		if l == nil {
			return nil
		}
		c.sums = append(c.sums, l)
	}
	return c
}

// newLinear returns the effect of the bytes of a content of that size, without the start value of the checksum.
func newLinear(size int64, s hemera.Checksum) linear {
	value := binary.BigEndian.Uint32(s.Value[:])
	switch s.Kind {
	case hemera.Adler32:
		l := &linearAdler{}
		l.a = (uint64(value&0xffff) + adlerMod - adlerInit) % adlerMod
		l.b = (uint64(value>>16) + adlerMod - uint64(size)%adlerMod) % adlerMod
		return l
	case hemera.CRC32C:
		return newLinearCRC(crcCastagnoli, ^value, size)
	case hemera.ZCRC32:
		return newLinearCRC(crcEthernet, ^bits.ReverseBytes32(value), size)
	case hemera.CRC32:
		// This kind appends the length to the data: remove it first.
		n := cksumLength(size)
		register := bits.Reverse32(^value) ^ bits.Reverse32(updateCksum(0, n))
		return newLinearCRC(crcPosix, cutZeros(register, int64(len(n)), crcPosix.poly), size)
	case hemera.CRC64NVME:
		return newLinearCRC(crcNVMe, ^binary.BigEndian.Uint64(s.Value[:]), size)
	}
	return nil
}

// Add turns zeros at off into the bytes p, which lie within the content.
func (c *Change) Add(p []byte, off int64) { c.toggle(p, off, false) }

// Remove turns the bytes p at off, which lie within the content, into zeros.
func (c *Change) Remove(p []byte, off int64) { c.toggle(p, off, true) }

// toggle implements Add and Remove. Each sum gets the number of bytes that follow p.
func (c *Change) toggle(p []byte, off int64, remove bool) {
	for _, l := range c.sums {
		l.toggle(p, c.size-off-int64(len(p)), remove)
	}
}

// Resize changes the size of the content. Bytes that it adds at the end are zeros; bytes that it cuts must be zeros.
func (c *Change) Resize(size int64) {
	for _, l := range c.sums {
		l.resize(size - c.size)
	}
	c.size = size
}

// Sums returns the current checksums of the content, in the order given to [NewChange].
func (c *Change) Sums() []hemera.Checksum {
	sums := make([]hemera.Checksum, len(c.sums))
	for i, l := range c.sums {
		sums[i] = l.sum(c.size)
	}
	return sums
}

// linearAdler is an Adler-32 without its start value: a is the sum of all bytes, and b that of each byte times its
// distance from the end.
type linearAdler struct{ a, b uint64 }

// toggle implements linear. All values stay below adlerMod, so products fit 64 bits.
func (l *linearAdler) toggle(p []byte, after int64, remove bool) {
	// From a start value of 0, a is the sum of p, and b that of each byte times its distance within p. The bytes behind p
	// are added to each distance.
	part := UpdateAdler32(0, p)
	a, b := uint64(part&0xffff), uint64(part>>16)
	b = (b + uint64(after)%adlerMod*a) % adlerMod
	if remove {
		a, b = adlerMod-a, adlerMod-b
	}
	l.a, l.b = (l.a+a)%adlerMod, (l.b+b)%adlerMod
}

// resize moves all bytes further from the end, or closer: each step adds a to b. Zeros add nothing.
func (l *linearAdler) resize(n int64) {
	steps := uint64((n%adlerMod + adlerMod) % adlerMod)
	l.b = (l.b + steps*l.a) % adlerMod
}

// sum adds the start value again: a begins at 1, which adds 1 to b with each byte.
func (l *linearAdler) sum(size int64) hemera.Checksum {
	a := (l.a + adlerInit) % adlerMod
	b := (l.b + uint64(size)) % adlerMod
	return sum32(hemera.Adler32, uint32(b)<<16|uint32(a))
}

// crcKind describes one CRC. Registers and polynomials have the lowest power in the highest bit.
type crcKind[T uint32 | uint64] struct {
	poly  T
	begin T // register of an empty content
	// raw returns the register after the bytes, from a register of zero.
	raw func(p []byte) T
	// make returns the checksum of a content whose register is r.
	make func(r T, size int64) hemera.Checksum
}

// The four CRCs of [hemera.ChecksumKind]. They differ in polynomial, order of bits, start value and the form that is
// printed.
var (
	crcCastagnoli = &crcKind[uint32]{crcPoly, ^uint32(0),
		func(p []byte) uint32 { return ^UpdateCRC32C(^uint32(0), p) },
		func(r uint32, _ int64) hemera.Checksum { return sum32(hemera.CRC32C, ^r) }}
	crcEthernet = &crcKind[uint32]{zcrcPoly, ^uint32(0),
		func(p []byte) uint32 { return ^crc32.Update(^uint32(0), crc32.IEEETable, p) },
		func(r uint32, _ int64) hemera.Checksum { return sum32(hemera.ZCRC32, bits.ReverseBytes32(^r)) }}
	crcPosix = &crcKind[uint32]{bits.Reverse32(cksumPoly), 0,
		func(p []byte) uint32 { return bits.Reverse32(updateCksum(0, p)) },
		func(r uint32, size int64) hemera.Checksum {
			return sum32(hemera.CRC32, ^updateCksum(bits.Reverse32(r), cksumLength(size)))
		}}
	crcNVMe = &crcKind[uint64]{crc64Poly, ^uint64(0),
		func(p []byte) uint64 { return ^crc64nvme.Update(^uint64(0), p) },
		func(r uint64, _ int64) hemera.Checksum {
			c := hemera.Checksum{Kind: hemera.CRC64NVME}
			binary.BigEndian.PutUint64(c.Value[:], ^r)
			return c
		}}
)

// linearCRC is the effect of the bytes of a content on the register of a CRC.
type linearCRC[T uint32 | uint64] struct {
	kind  *crcKind[T]
	added T
}

// newLinearCRC returns the effect of a content of that size whose register is given.
func newLinearCRC[T uint32 | uint64](kind *crcKind[T], register T, size int64) linear {
	return &linearCRC[T]{kind, register ^ addZeros(kind.begin, size, kind.poly)}
}

// toggle ignores remove: adding the same bits twice removes them.
func (l *linearCRC[T]) toggle(p []byte, after int64, _ bool) {
	l.added ^= addZeros(l.kind.raw(p), after, l.kind.poly)
}

// resize multiplies the register by a power of x, or divides it: the bytes of a content are digits of one number.
func (l *linearCRC[T]) resize(n int64) {
	if n < 0 {
		l.added = cutZeros(l.added, -n, l.kind.poly)
		return
	}
	l.added = addZeros(l.added, n, l.kind.poly)
}

// sum adds again the start value, moved over size zero bytes.
func (l *linearCRC[T]) sum(size int64) hemera.Checksum {
	return l.kind.make(l.added^addZeros(l.kind.begin, size, l.kind.poly), size)
}
