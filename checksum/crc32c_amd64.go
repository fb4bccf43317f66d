package checksum

import (
	"golang.org/x/sys/cpu"

	"hemera"
)

// crcBlock is how many bytes are folded into the next as many at a time: four registers of 512 bits.
const crcBlock = 256

// crcGroup is how many pages are summed side by side.
const crcGroup = 4

var canFold = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasSSE42

// crcFold sums as much of p as it can, which may be nothing. The instruction for CRC32C takes eight
// bytes a cycle; folding, a carry-less multiplication of 64 bytes at once, takes 32, and reads them in
// order, which the processor's prefetching follows.
func crcFold(p []byte) (sum uint32, done int) {
	blocks := len(p) / crcBlock
	if !canFold || blocks == 0 {
		return 0, 0
	}
	return ^crcBlocksAVX512(&p[0], blocks, &crcFolds), blocks * crcBlock
}

// crcPages sums whole pages into sums, as many as come in groups of four; it returns how many that
// were. Memory that is in no cache gives more to four readers at a time than to one.
func crcPages(p []byte, sums []uint32) int {
	groups := len(p) / (crcGroup * hemera.PageSize)
	if !canFold || groups == 0 {
		return 0
	}
	_ = sums[crcGroup*groups-1]
	crcPagesAVX512(&p[0], groups, &crcFolds, &sums[0])
	return crcGroup * groups
}

// crcReadsAhead reports whether summing pages needs no help to get them from memory.
func crcReadsAhead() bool { return canFold }

// crcFolds are the multipliers that move 16 bytes, one for their first half and one for their
// second, over a distance in the message: by a block, within a block by one register, two and three,
// and within a register by 48, 32, 16 and no bytes, the last to nothing. A half of 64 bits with
// its lowest power in the highest bit, times such a multiplier, comes out one place too low in 128
// bits; hence the -1.
var crcFolds = func() (t [8][2]uint64) {
	for i, bytes := range [...]int{256, 64, 128, 192, 48, 32, 16} {
		t[i] = [2]uint64{uint64(crcPower(8*bytes+63)) << 32, uint64(crcPower(8*bytes-1)) << 32}
	}
	return t
}()

// crcPower is x to the power of n.
func crcPower(n int) uint32 {
	p := crcShift(int64(n / 8))
	for range n % 8 {
		p = crcTimes(1<<30, p)
	}
	return p
}

// crcBlocksAVX512 is the CRC of the blocks at p, of which there is at least one, begun and not ended as the
// CRC32C is: with all bits set.
//
//go:noescape
func crcBlocksAVX512(p *byte, blocks int, folds *[8][2]uint64) uint32

// crcPagesAVX512 puts the CRC32Cs of groups of four pages of 4 KiB into sums. There is at least one group.
//
//go:noescape
func crcPagesAVX512(p *byte, groups int, folds *[8][2]uint64, sums *uint32)
