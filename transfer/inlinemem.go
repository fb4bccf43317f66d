package transfer

import (
	"slices"
	"sync"
	"sync/atomic"

	"hemera/rules/checksum"
	"hemera/words/hemera"
)

const (
	// inlineMax is the longest content, in bytes, that waits in memory for its end: most small files are written and
	// closed at once, and their pieces are then made, filled and sealed in one call.
	inlineMax = 64 << 10
	// inlineBytes bounds what all writes of one node keep in memory so, unless they say otherwise.
	inlineBytes = 64 << 20
)

// inlineBuffer is the memory of one content. It is for one caller at a time.
type inlineBuffer struct {
	Data []byte   // its capacity is a class size
	Sums []uint32 // CRC32C of each page of Data
}

// Write puts p at off. sums are the CRC32Cs of its page fragments.
func (b *inlineBuffer) Write(p []byte, sums []uint32, off int64) {
	before := int64(len(b.Data))
	if end := off + int64(len(p)); end > before {
		b.Resize(end)
	}
	copy(b.Data[off:], p)
	// Only what is appended can use the sums that came with it; a change inside of a page needs the page.
	if off != before {
		b.Sum()
		return
	}
	for _, sum := range sums { // the checksums of a page's parts make that of the page
		in := off % hemera.PageSize
		n := min(hemera.PageSize-in, before+int64(len(p))-off)
		if in == 0 {
			b.Sums = append(b.Sums, sum)
		} else {
			last := &b.Sums[len(b.Sums)-1]
			*last = checksum.CombineCRC32C(*last, sum, n)
		}
		off += n
	}
}

// Resize changes the length, for which there must be room; what is new is zeros.
func (b *inlineBuffer) Resize(size int64) {
	before := len(b.Data)
	b.Data = b.Data[:size]
	clear(b.Data[min(before, len(b.Data)):])
}

// Sum computes the checksums again.
func (b *inlineBuffer) Sum() {
	n := checksum.Fragments(0, len(b.Data))
	b.Sums = slices.Grow(b.Sums[:0], n)[:n]
	checksum.PageSums(b.Data, 0, b.Sums)
}

// classSize returns how much memory a content of the size is given: a page times two to the power of class.
func classSize(size int64) (n int64, class int) {
	for n = hemera.PageSize; n < size; n *= 2 {
		class++
	}
	return n, class
}

// inlineMemory counts and reuses the memory of the contents of one node. The zero value is ready. Methods may be called
// concurrently.
type inlineMemory struct {
	bytes atomic.Int64 // in use
	// pools have memory of ended writes for new ones, by its class.
	pools [5]sync.Pool
}

// Reserve takes n bytes of the limit, or of inlineBytes if that is 0. It returns false if they are not left.
func (m *inlineMemory) Reserve(n, limit int64) bool {
	if limit == 0 {
		limit = inlineBytes
	}
	if m.bytes.Add(n) <= limit {
		return true
	}
	m.bytes.Add(-n)
	return false
}

// Release gives bytes back that were reserved.
func (m *inlineMemory) Release(n int64) { m.bytes.Add(-n) }

// Used returns the number of bytes that are reserved.
func (m *inlineMemory) Used() int64 { return m.bytes.Load() }

// Get returns an empty buffer that may grow to the size.
func (m *inlineMemory) Get(size int64) *inlineBuffer {
	n, class := classSize(size)
	b, ok := m.pools[class].Get().(*inlineBuffer)
	if !ok {
		return &inlineBuffer{Data: make([]byte, 0, n)}
	}
	b.Data, b.Sums = b.Data[:0], b.Sums[:0]
	return b
}

// Put takes back a buffer that has no user any more.
func (m *inlineMemory) Put(b *inlineBuffer) {
	_, class := classSize(int64(cap(b.Data)))
	m.pools[class].Put(b)
}
