package transfer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"hemera"
	"hemera/errs"
	"hemera/rules/checksum"
)

const (
	// inlineMax is the longest content, in bytes, that waits in memory for its end: most small files are written and
	// closed at once, and their pieces are then made, filled and sealed in one call.
	inlineMax = 64 << 10
	// inlineBytes bounds what all writes of one node keep in memory so.
	inlineBytes = 64 << 20
)

// inlineContent is a content that is in memory alone, none of it at first. Before it goes to any disk it is compared
// with the checksums that it came with.
type inlineContent struct {
	*inlineBuffer // nil while it is empty
	head          *head
}

// inlineBuffer is the memory of an inline content.
type inlineBuffer struct {
	data []byte   // its capacity is a class size
	sums []uint32 // CRC32C of each page of data
}

// grow takes the memory for a content of size bytes. It returns false if that cannot stay in memory.
func (c *inlineContent) grow(size int64) bool {
	if size > inlineMax || c.head.cap.Size > inlineMax {
		return false
	}
	have := int64(0)
	if c.inlineBuffer != nil {
		have = int64(cap(c.data))
	}
	// Classes double, so a file that grows in small steps is copied a few times at most.
	need, _ := classSize(size)
	if need <= have {
		return true
	}
	memory := &c.head.host.inline
	if !memory.reserve(need-have, c.head.host.SmallBytes) {
		return false
	}
	before := c.inlineBuffer
	// The pool gives buffers of the right class; the old one goes back, as nothing but this write has seen it.
	c.inlineBuffer = memory.get(size)
	if before != nil {
		c.data = append(c.data, before.data...)
		c.sums = append(c.sums, before.sums...)
		memory.put(before)
	}
	return true
}

// writePages implements content. grow has made room.
func (c *inlineContent) writePages(p []byte, sums []uint32, off int64, hash *streamSums) error {
	hash.wrote(p, sums, off)
	c.write(p, sums, off)
	return nil
}

// truncate implements content. grow has made room.
func (c *inlineContent) truncate(size int64) error {
	if size == 0 {
		c.drop()
		return nil
	}
	c.resize(size)
	c.sum()
	return nil
}

// readPages implements content.
func (c *inlineContent) readPages(p []byte, sums []uint32, off int64) (int, error) {
	if c.inlineBuffer == nil {
		return 0, nil
	}
	n := copy(p, c.data[min(off, int64(len(c.data))):])
	if sums != nil {
		checksum.PageSums(p[:n], off, sums)
	}
	return n, nil
}

// nextData implements content: what is in memory is data.
func (c *inlineContent) nextData(off int64) (int64, error) { return off, nil }

// sync has nothing to do: a content that is not empty spills first.
func (c *inlineContent) sync(context.Context) error { return nil }

// drop releases the memory. Others may not use it, as a call that is stuck may still read it.
func (c *inlineContent) drop() {
	if c.inlineBuffer != nil {
		c.head.host.inline.bytes.Add(-int64(cap(c.data)))
		c.inlineBuffer = nil
	}
}

// recycle releases the memory for other writes to use: no call reads it any more.
func (c *inlineContent) recycle() {
	buffer := c.inlineBuffer
	c.drop()
	if buffer != nil {
		c.head.host.inline.put(buffer)
	}
}

// check finds what has changed in memory.
func (c *inlineContent) check() error {
	if c.inlineBuffer == nil {
		return nil
	}
	if bad := checksum.VerifyPages(c.data, 0, c.sums); bad >= 0 {
		return errs.New(errs.IO, "transfer.Write", subject(c.head.cap), "the content changed in memory while it waited to be written").
			WithRemedy("write the file again; the memory of this machine may be faulty")
	}
	return nil
}

// write puts p at off. sums are the CRC32Cs of its page fragments.
func (b *inlineBuffer) write(p []byte, sums []uint32, off int64) {
	before := int64(len(b.data))
	if end := off + int64(len(p)); end > before {
		b.resize(end)
	}
	copy(b.data[off:], p)
	// Only what is appended can use the sums that came with it; a change inside of a page needs the page.
	if off != before {
		b.sum()
		return
	}
	for _, sum := range sums { // the checksums of a page's parts make that of the page
		in := off % hemera.PageSize
		n := min(hemera.PageSize-in, before+int64(len(p))-off)
		if in == 0 {
			b.sums = append(b.sums, sum)
		} else {
			last := &b.sums[len(b.sums)-1]
			*last = checksum.CombineCRC32C(*last, sum, n)
		}
		off += n
	}
}

// resize changes the length, for which there must be room; what is new is zeros.
func (b *inlineBuffer) resize(size int64) {
	before := len(b.data)
	b.data = b.data[:size]
	clear(b.data[min(before, len(b.data)):])
}

// sum computes the checksums again.
func (b *inlineBuffer) sum() {
	n := checksum.Fragments(0, len(b.data))
	b.sums = slices.Grow(b.sums[:0], n)[:n]
	checksum.PageSums(b.data, 0, b.sums)
}

// classSize returns how much memory a content of the size is given: a page times two to the power of class.
func classSize(size int64) (n int64, class int) {
	for n = hemera.PageSize; n < size; n *= 2 {
		class++
	}
	return n, class
}

// inlineMemory is what the inline contents of one node use. The zero value is ready.
type inlineMemory struct {
	bytes atomic.Int64 // in use
	// pools have memory of ended writes for new ones, by its class.
	pools [5]sync.Pool
}

// reserve takes n bytes of the limit, or of inlineBytes if that is 0. It returns false if they are not left.
func (m *inlineMemory) reserve(n, limit int64) bool {
	if limit == 0 {
		limit = inlineBytes
	}
	if m.bytes.Add(n) <= limit {
		return true
	}
	m.bytes.Add(-n)
	return false
}

// get returns an empty buffer that may grow to the size.
func (m *inlineMemory) get(size int64) *inlineBuffer {
	n, class := classSize(size)
	b, ok := m.pools[class].Get().(*inlineBuffer)
	if !ok {
		return &inlineBuffer{data: make([]byte, 0, n)}
	}
	b.data, b.sums = b.data[:0], b.sums[:0]
	return b
}

// put takes back a buffer that nobody looks at any more.
func (m *inlineMemory) put(b *inlineBuffer) {
	_, class := classSize(int64(cap(b.data)))
	m.pools[class].Put(b)
}
