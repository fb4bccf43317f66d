package checksum

import "hemera/words/hemera"

// Fragments returns the number of page fragments of n bytes at off; see [hemera.PageFragments].
func Fragments(off int64, n int) int { return hemera.PageFragments(off, int64(n)) }

// PageSums puts the CRC32C of each page fragment of p, which is at file offset off, into sums and
// returns how many there are. It panics if sums has fewer than [Fragments] elements.
func PageSums(p []byte, off int64, sums []uint32) int {
	i := 0
	for len(p) > 0 {
		if off%hemera.PageSize == 0 {
			k := crcPages(p, sums[i:])
			p, off, i = p[k*hemera.PageSize:], off+int64(k)*hemera.PageSize, i+k
		}
		if len(p) > 0 {
			n := fragment(p, off)
			sums[i] = CRC32C(p[:n])
			p, off, i = p[n:], off+int64(n), i+1
		}
	}
	return i
}

// verifyStep is the number of fragments that VerifyPages sums before it compares them.
const verifyStep = 64

// VerifyPages compares the page fragments of p with their CRC32Cs. It returns the index of the first
// that differs, or -1. Missing sums count as different.
func VerifyPages(p []byte, off int64, sums []uint32) int {
	var buf [verifyStep]uint32
	for i := 0; len(p) > 0; {
		step := p[:min(len(p), verifyStep*hemera.PageSize-int(off%hemera.PageSize))]
		got := buf[:PageSums(step, off, buf[:])]
		for k, sum := range got {
			if i+k >= len(sums) || sums[i+k] != sum {
				return i + k
			}
		}
		p, off, i = p[len(step):], off+int64(len(step)), i+len(got)
	}
	return -1
}

// VerifyDistantPages does the same as VerifyPages for bytes that are not in a cache of this core, such as those of a mapped file.
// Without crcFold, the CRC instructions read three places of a page at once, which the processor's own prefetching does
// not follow. So each page is prefetched while the one before is summed.
func VerifyDistantPages(p []byte, off int64, sums []uint32) int {
	if crcFolds() {
		return VerifyPages(p, off, sums)
	}
	i := 0
	for len(p) > 0 {
		n := fragment(p, off)
		if len(p) >= n+hemera.PageSize {
			prefetchPage(&p[n])
		}
		if i >= len(sums) || sums[i] != CRC32C(p[:n]) {
			return i
		}
		p, off = p[n:], off+int64(n)
		i++
	}
	return -1
}

// fragment returns the length of the first page fragment of p at off.
func fragment(p []byte, off int64) int { return hemera.PageFragment(off, len(p)) }

// Appender combines CRC32Cs of consecutive parts into that of the whole. It is fast for many parts of one length: the
// page CRCs of a file, 4 KiB each, give the file's CRC32C without reading it.
type Appender struct {
	sum   uint32
	len   int64
	shift uint32
}

// Append adds the CRC32C and the length of a part. The length must not be negative.
func (a *Appender) Append(sum uint32, n int64) {
	if n == hemera.PageSize {
		s := a.sum
		a.sum = pageShift[0][s&0xff] ^ pageShift[1][s>>8&0xff] ^ pageShift[2][s>>16&0xff] ^ pageShift[3][s>>24] ^ sum
		return
	}
	if n != a.len || a.shift == 0 {
		a.len, a.shift = n, crcShift(n)
	}
	a.sum = crcTimes(a.sum, a.shift) ^ sum
}

// pageShift[i][b] is the value of a CRC whose byte i is b after a page of zeros. Shifting is linear, so four look-ups
// replace the 32 steps of crcTimes.
var pageShift = func() (t [4][256]uint32) {
	shift := crcShift(hemera.PageSize)
	for i := range t {
		for b := range t[i] {
			t[i][b] = crcTimes(uint32(b)<<(8*i), shift)
		}
	}
	return t
}()

// Sum returns the CRC32C of all parts.
func (a *Appender) Sum() uint32 { return a.sum }
