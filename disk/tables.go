package disk

import (
	"fmt"
	"sync"
	"sync/atomic"

	"hemera/words/hemera"
)

// tableBlock is the page CRCs of one table block of a sealed piece, checked.
type tableBlock struct {
	sums []uint32
	used atomic.Bool // since the cache looked at it last
}

// tableCache bounds how many table blocks stay in memory: a clock over all pieces of the disk.
type tableCache struct {
	mu    sync.Mutex
	slots []tableSlot // what is in memory
	hand  int         // where the clock stands
	max   int         // slots at most; 4 KiB each
}

// tableSlot is one block in memory.
type tableSlot struct {
	piece *piece
	index int64
}

func (c *tableCache) init(most int) { c.max = most }

// pageSums puts the CRCs of the pages from first on into dst.
func (p *piece) pageSums(first int64, dst []uint32) error {
	// The pages may lie in two blocks.
	for len(dst) > 0 {
		index, from := first/blockSums, int(first%blockSums)
		b, err := p.block(index)
		if err != nil {
			return err
		}
		n := copy(dst, b.sums[from:])
		dst, first = dst[n:], first+int64(n)
	}
	return nil
}

// block returns the table block, reading it if it is not in memory.
func (p *piece) block(index int64) (*tableBlock, error) {
	if b := p.tables[index].Load(); b != nil {
		if !b.used.Load() {
			b.used.Store(true)
		}
		return b, nil
	}
	raw := make([]byte, 4*(blockLen(p.stat.Size, index)+1))
	off := tableOff(p.stat.Size) + index*blockSize
	for range 2 { // the second time from the device
		// Goroutines that miss the same block read it side by side; the first one's is kept.
		if err := p.readAt(raw, off); err != nil {
			return nil, err
		}
		if b := p.keepBlock(index, raw); b != nil {
			return b, nil
		}
		p.forget(off, int64(len(raw)))
	}
	return nil, badTable(index)
}

// badTable returns the error of a table block whose own CRC does not match: none of its pages can be proved.
func badTable(index int64) error {
	return &PageError{Page: index * blockSums * hemera.PageSize, What: fmt.Sprintf("checksums of block %d", index)}
}

// checkedBlocks is the number of blocks of a table in one read that does not keep them.
const checkedBlocks = 64

// checkTable reads the whole table and fails with a PageError if a block of it is bad. It keeps nothing.
func (p *piece) checkTable() error {
	var sums [blockSums]uint32
	raw := make([]byte, min(blocks(p.stat.Size), checkedBlocks)*blockSize)
	for first := int64(0); first < blocks(p.stat.Size); first += checkedBlocks {
		last := min(first+checkedBlocks, blocks(p.stat.Size)) - 1
		b := raw[:(last-first)*blockSize+int64(4*(blockLen(p.stat.Size, last)+1))]
		if err := p.readAt(b, tableOff(p.stat.Size)+first*blockSize); err != nil {
			return err
		}
		for i := first; i <= last; i++ {
			n := blockLen(p.stat.Size, i)
			at := (i - first) * blockSize
			if parseBlock(b[at:at+int64(4*(n+1))], sums[:n]) {
				continue
			}
			off := tableOff(p.stat.Size) + i*blockSize
			p.forget(off, int64(4*(n+1)))
			if err := p.readAt(b[at:at+int64(4*(n+1))], off); err != nil {
				return err
			}
			if !parseBlock(b[at:at+int64(4*(n+1))], sums[:n]) { // from the device too
				return badTable(i)
			}
		}
	}
	return nil
}

// keepBlock parses a block and keeps it; nil if its CRC does not match.
func (p *piece) keepBlock(index int64, raw []byte) *tableBlock {
	b := &tableBlock{sums: make([]uint32, blockLen(p.stat.Size, index))}
	if !parseBlock(raw, b.sums) {
		return nil
	}
	b.used.Store(true)
	if p.tables[index].CompareAndSwap(nil, b) {
		p.disk.tables.add(tableSlot{p, index})
	}
	return b
}

// add takes a block in; if there are too many, one goes that was not used since the hand last
// passed it.
func (c *tableCache) add(s tableSlot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.slots) < c.max {
		c.slots = append(c.slots, s)
		return
	}
	for {
		c.hand = (c.hand + 1) % len(c.slots)
		old := &c.slots[c.hand] // used since the last round: it stays for another
		if b := old.piece.tables[old.index].Load(); b == nil || !b.used.Swap(false) {
			old.piece.tables[old.index].Store(nil)
			*old = s
			return
		}
	}
}

// drop takes all blocks of a piece out.
func (c *tableCache) drop(p *piece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.slots[:0] // in place; what is behind is cleared, as it would keep pieces in memory
	for _, s := range c.slots {
		if s.piece != p {
			kept = append(kept, s)
		}
	}
	clear(c.slots[len(kept):])
	c.slots = kept
	c.hand = 0
}

// readBlock reads one block of the table, and keeps nothing.
func (p *piece) readBlock(index int64, sums []uint32) error {
	var buf [blockSize]byte
	raw, off := buf[:4*(len(sums)+1)], tableOff(p.stat.Size)+index*blockSize
	for range 2 { // the second time from the device
		if err := p.readAt(raw, off); err != nil {
			return err
		}
		if parseBlock(raw, sums) {
			return nil
		}
		p.forget(off, int64(len(raw)))
	}
	return badTable(index)
}
