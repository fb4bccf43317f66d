package disk

import (
	"math/bits"

	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// sumTable is the page CRCs of a pending piece and its size. The CRC of a page covers its bytes
// below size; where nothing was written it is that of zeros. A page whose CRC cannot follow from
// what is known is dirty: its CRC must be taken from the data.
//
// At most limit blocks stay in memory; the others wait in the side file.
type sumTable struct {
	size   int64               // of the data, in bytes
	blocks map[int64]*sumBlock // those in memory
	limit  int                 // how many blocks stay in memory
	clock  uint64              // counts uses, to find the block that was not used for longest
	side   sideFile            // the others
	base   *baseTable          // what blocks begin as; nil: zeros
	// changed are the blocks that were changed since the last sync; nil while that is not recorded.
	changed map[int64]struct{}
}

// sumBlock is the CRCs of blockSums pages.
type sumBlock struct {
	sums  [blockSums]uint32
	dirty [(blockSums + 63) / 64]uint64 // a bit for each page whose sum must be taken from the data
	used  uint64                        // clock when it was used last
}

// sideFile keeps blocks that do not stay in memory.
type sideFile interface {
	save(index int64, b *sumBlock) error
	// load returns nil for a block that was never saved, or was dropped.
	load(index int64) (*sumBlock, error)
	// has reports whether load would return a block.
	has(index int64) bool
	// drop forgets the blocks from index on.
	drop(index int64)
}

var zeros [hemera.PageSize]byte

func newSumTable(limit int, side sideFile) *sumTable {
	return &sumTable{blocks: map[int64]*sumBlock{}, limit: limit, side: side}
}

// block returns the table block, from memory, the side file, or new.
func (t *sumTable) block(index int64) (*sumBlock, error) {
	t.clock++
	if b := t.blocks[index]; b != nil {
		b.used = t.clock
		return b, nil
	}
	b, err := t.side.load(index)
	if err == nil && b == nil {
		b = &sumBlock{}
		fillZeroPages(b.sums[:])
		if t.inherits(index) {
			err = t.base.load(index, &b.sums)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(t.blocks) >= t.limit {
		if err := t.spill(); err != nil {
			return nil, err
		}
	}
	b.used = t.clock
	t.blocks[index] = b
	return b, nil
}

// change returns a block that is about to change.
func (t *sumTable) change(index int64) (*sumBlock, error) {
	if t.changed != nil {
		t.changed[index] = struct{}{}
	}
	return t.block(index)
}

// absent reports whether nothing was ever written to the block's pages: they are zeros. Blocks of a base are never absent,
// whatever they have.
func (t *sumTable) absent(index int64) bool {
	return t.blocks[index] == nil && !t.side.has(index) && !t.inherits(index)
}

// spill moves the block that was not used for longest to the side file.
func (t *sumTable) spill() error {
	oldest := int64(-1) // a scan of at most limit blocks, beside a write to the device
	for i, b := range t.blocks {
		if oldest < 0 || b.used < t.blocks[oldest].used {
			oldest = i
		}
	}
	if err := t.side.save(oldest, t.blocks[oldest]); err != nil {
		return err
	}
	delete(t.blocks, oldest)
	return nil
}

// write notes that the page fragments of n bytes at off were written, with their CRC32Cs.
func (t *sumTable) write(off int64, n int, sums []uint32) error {
	if off > t.size {
		if err := t.grow(off); err != nil {
			return err
		}
	}
	for n > 0 {
		page, in := off/hemera.PageSize, int(off%hemera.PageSize)
		length, count := min(n, hemera.PageSize-in), 1
		var err error
		if length == hemera.PageSize {
			count, err = t.wholePages(page, sums[:n/hemera.PageSize])
			length *= count
		} else {
			err = t.fragment(page, in, length, sums[0])
		}
		if err != nil {
			return err
		}
		off, n, sums = off+int64(length), n-length, sums[count:]
		t.size = max(t.size, off)
	}
	return nil
}

// wholePages notes the CRCs of pages that were written whole, as far as they are in one block, and
// returns how many that are.
func (t *sumTable) wholePages(page int64, sums []uint32) (int, error) {
	b, err := t.change(page / blockSums)
	if err != nil {
		return 0, err
	}
	from := int(page % blockSums)
	n := copy(b.sums[from:], sums)
	b.setClean(from, from+n)
	return n, nil
}

// fragment notes length bytes written at offset in of the page.
func (t *sumTable) fragment(page int64, in, length int, sum uint32) error {
	b, err := t.change(page / blockSums)
	if err != nil {
		return err
	}
	i := int(page % blockSums)
	before := pageLen(t.size, page) // bytes of the page that were there
	switch {
	case in == 0 && length >= before: // all of the page
		b.sums[i] = sum
		b.setDirty(i, false)
	case in == before && !b.isDirty(i): // right behind what is there: the sum follows from both
		b.sums[i] = checksum.CombineCRC32C(b.sums[i], sum, int64(length))
	default: // over a part of what is there
		b.setDirty(i, true)
	}
	return nil
}

// grow extends the data with zeros to the size.
func (t *sumTable) grow(size int64) error {
	// The last page gets zeros behind its data; its sum follows. Whole pages of zeros need nothing. The new last page may be
	// short.
	if last := t.size / hemera.PageSize; t.size%hemera.PageSize != 0 {
		old, now := pageLen(t.size, last), pageLen(size, last)
		if err := t.fragment(last, old, now-old, checksum.CRC32C(zeros[:now-old])); err != nil {
			return err
		}
		t.size += int64(now - old)
	}
	if n := int(size % hemera.PageSize); n != 0 && t.size < size {
		b, err := t.change(size / hemera.PageSize / blockSums)
		if err != nil {
			return err
		}
		i := int(size / hemera.PageSize % blockSums)
		b.sums[i] = checksum.CRC32C(zeros[:n])
		b.setDirty(i, false)
	}
	t.size = size
	return nil
}

// truncate cuts or extends the data.
func (t *sumTable) truncate(size int64) error {
	if size >= t.size {
		return t.grow(size)
	}
	t.changed = nil    // blocks that were synced may be gone, and come back as zeros
	end := pages(size) // the first page that is gone
	// Blocks that keep no page go; the last one that stays is cleaned behind its last page, and that page, if it was cut,
	// has an unknown sum.
	keep := (end + blockSums - 1) / blockSums
	for i := range t.blocks {
		if i >= keep {
			delete(t.blocks, i)
		}
	}
	t.side.drop(keep)
	// Bytes that were cut off do not come back when the data grows again.
	if t.base != nil {
		t.base.blocks = min(t.base.blocks, keep)
	}
	t.size = size
	if end == 0 {
		return nil
	}
	b, err := t.block((end - 1) / blockSums)
	if err != nil {
		return err
	}
	for i := int((end-1)%blockSums) + 1; i < blockSums; i++ {
		b.sums[i] = checksum.ZeroPage
		b.setDirty(i, false)
	}
	if size%hemera.PageSize != 0 {
		b.setDirty(int((end-1)%blockSums), true)
	}
	return nil
}

// clean takes the CRCs of the block's dirty pages in [from, to) from the data, which read fills in.
func (t *sumTable) clean(index int64, from, to int, read func(p []byte, off int64) error) error {
	b, err := t.block(index)
	if err != nil {
		return err
	}
	var buf []byte // made when a page is dirty, as seldom one is
	for word, set := range b.dirty {
		for ; set != 0; set &= set - 1 {
			i := word*64 + bits.TrailingZeros64(set)
			if i < from || i >= to {
				continue
			}
			if buf == nil {
				buf = make([]byte, hemera.PageSize)
			}
			page := index*blockSums + int64(i)
			p := buf[:pageLen(t.size, page)]
			if err := read(p, page*hemera.PageSize); err != nil {
				return err
			}
			b.sums[i] = checksum.CRC32C(p)
			b.setDirty(i, false)
		}
	}
	return nil
}

// isDirty reports whether the sum of page i of the block must be taken from the data.
func (b *sumBlock) isDirty(i int) bool { return b.dirty[i/64]>>(i%64)&1 != 0 }

// setClean clears the bits of [from, to), up to 64 at a time.
func (b *sumBlock) setClean(from, to int) {
	for from < to {
		n := min(to-from, 64-from%64)
		b.dirty[from/64] &^= (1<<n - 1) << (from % 64)
		from += n
	}
}

// setDirty sets or clears the bit of page i.
func (b *sumBlock) setDirty(i int, dirty bool) {
	if dirty {
		b.dirty[i/64] |= 1 << (i % 64)
	} else {
		b.dirty[i/64] &^= 1 << (i % 64)
	}
}

// baseTable is the table of the piece that a pending one began as. Blocks of it that did not change are read from there.
type baseTable struct {
	piece  *piece
	blocks int64 // those from here on were cut off, or never there
}

// inherits reports whether the block is that of the base still.
func (t *sumTable) inherits(index int64) bool {
	return t.base != nil && index < t.base.blocks && t.blocks[index] == nil && !t.side.has(index)
}

// load fills in a block of the base. Pages behind its last are zeros.
func (b *baseTable) load(index int64, sums *[blockSums]uint32) error {
	// The last block of the base is shorter than one of a piece that grew.
	n := blockLen(b.piece.stat.Size, index)
	fillZeroPages(sums[n:])
	return b.piece.readBlock(index, sums[:n])
}

// nextInherited returns the offset at or after off, which is in a block of the base, at which data may begin: where the
// base says, but not beyond the first block that was changed.
func (t *sumTable) nextInherited(off int64) int64 {
	const reach = blockSums * hemera.PageSize // what one block of the table covers, in bytes
	next := min(t.base.piece.nextData(off), t.size)
	for index := off/reach + 1; index*reach < next; index++ {
		if !t.inherits(index) {
			return index * reach
		}
	}
	return next
}
