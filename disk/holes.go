package disk

import (
	"bytes"

	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// A hole costs neither reading nor hashing: where the filesystem says that a file holds nothing, and the
// table says that the pages are zeros, they are. Both must say so, so that what a device lost is found.

// holeBlocks bounds how many blocks of the table one look for data goes through.
const holeBlocks = 4096

// zeroBlock is a whole block of the table whose pages are all zeros.
var zeroBlock = func() []byte {
	var sums [blockSums]uint32
	return appendBlock(nil, fillZeroPages(sums[:]))
}()

// fillZeroPages makes all sums those of pages of zeros.
func fillZeroPages(sums []uint32) []uint32 {
	for i := range sums {
		sums[i] = checksum.ZeroPage
	}
	return sums
}

// appendZeroBlock writes a table block of n pages of zeros.
func appendZeroBlock(b []byte, n int) []byte {
	if n == blockSums {
		return append(b, zeroBlock...)
	}
	var sums [blockSums]uint32
	return appendBlock(b, fillZeroPages(sums[:n]))
}

// zeroSum returns the CRC of a page of zeros in a piece of the size.
func zeroSum(size, page int64) uint32 {
	if n := pageLen(size, page); n < hemera.PageSize {
		return checksum.CRC32C(zeros[:n])
	}
	return checksum.ZeroPage
}

// NextData returns the first offset at or after off from where there may be anything but zeros, as far as one look tells;
// the piece's size at most. To ask again from there may get further.
func (r *reader) NextData(off int64) (int64, error) { return r.piece.nextData(off), nil }

// Allocated returns the bytes that the piece takes on the disk; its size where the filesystem does not tell.
func (r *reader) Allocated() (int64, error) {
	s, ok := r.piece.file.(vfs.Sparse)
	if !ok {
		return r.piece.stat.Size, nil
	}
	n, err := s.Allocated()
	return n, r.piece.disk.failed(err, "disk.Allocated", r.piece.stat.ID)
}

// nextData does the work of NextData. A range that cannot be read counts as data, whose reader will say why.
func (p *piece) nextData(off int64) int64 {
	s, ok := p.file.(vfs.Sparse)
	if !ok || off < 0 || off >= p.stat.Size || off%hemera.PageSize != 0 {
		return off
	}
	next, err := s.NextData(off)
	if err != nil {
		return off
	}
	// The filesystem says that there is nothing before next. Pages up to there are zeros if the table says so too.
	page, end := off/hemera.PageSize, next/hemera.PageSize
	if next >= p.stat.Size { // the last page may be short
		end = pages(p.stat.Size)
	}
	if page < end {
		page = p.zerosUntil(page, end)
	}
	return min(page*hemera.PageSize, p.stat.Size)
}

// zerosUntil returns the first page, from the first to the end, that the table does not show to be
// zeros, as far as one look goes.
func (p *piece) zerosUntil(first, end int64) int64 {
	end = min(end, (first/blockSums+holeBlocks)*blockSums)
	for page := first; page < end; {
		index := page / blockSums
		if whole := min((end-page)/blockSums, checkedBlocks); page%blockSums == 0 && whole > 0 {
			n := p.zeroBlocks(index, whole)
			if page += n * blockSums; n > 0 {
				continue
			}
		}
		b, err := p.block(index)
		if err != nil { // a reader of the page will say why
			return page
		}
		for ; page < min(end, (index+1)*blockSums); page++ {
			if b.sums[page%blockSums] != zeroSum(p.stat.Size, page) {
				return page
			}
		}
	}
	return end
}

// zeroBlocks counts those of the n whole blocks from the first on that are zeros. It keeps nothing.
func (p *piece) zeroBlocks(first, n int64) int64 {
	raw := make([]byte, n*blockSize)
	if p.readAt(raw, tableOff(p.stat.Size)+first*blockSize) != nil {
		return 0
	}
	for i := range n {
		if !bytes.Equal(raw[i*blockSize:(i+1)*blockSize], zeroBlock) {
			return i
		}
	}
	return n
}
