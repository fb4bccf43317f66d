package checksum

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"hemera/words/hemera"
)

// TestCRC32CIsTheStandardLibrarys compares with the standard library for every length up to some blocks, at addresses of
// any alignment, continued from any sum.
func TestCRC32CIsTheStandardLibrarys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 5*crcBlock+64)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for n := range 5 * crcBlock {
		p := b[n%64:][:n]
		for _, sum := range []uint32{0, 1, 0xffffffff, r.Uint32()} {
			if got, want := UpdateCRC32C(sum, p), crc32.Update(sum, castagnoli, p); got != want {
				t.Fatalf("%d bytes continued from %08x: %08x, want %08x", n, sum, got, want)
			}
		}
	}
}

// TestCRC32CSeesEveryBit flips each bit of a page in turn.
func TestCRC32CSeesEveryBit(t *testing.T) {
	page := make([]byte, 4096)
	seen := map[uint32]bool{CRC32C(page): true}
	for i := range page {
		for bit := range 8 {
			page[i] ^= 1 << bit
			sum := CRC32C(page)
			if seen[sum] {
				t.Fatalf("bit %d of byte %d makes a sum that was there before", bit, i)
			}
			seen[sum] = true
			page[i] ^= 1 << bit
		}
	}
}

func FuzzCRC32C(f *testing.F) {
	f.Add(uint32(0), []byte("123456789"), 3)
	f.Add(uint32(7), make([]byte, 1000), 300)
	f.Fuzz(func(t *testing.T, sum uint32, p []byte, cut int) {
		cut = min(max(cut, 0), len(p))
		want := crc32.Update(sum, castagnoli, p)
		if got := UpdateCRC32C(UpdateCRC32C(sum, p[:cut]), p[cut:]); got != want {
			t.Errorf("in two parts %08x, want %08x", got, want)
		}
	})
}

// BenchmarkCRC32C sums pages of 256 KiB, which stay in a core's second-level cache, here and by the
// standard library.
func BenchmarkCRC32C(b *testing.B) {
	p := make([]byte, 256<<10)
	for _, c := range []struct {
		name string
		sum  func([]byte) uint32
	}{{"own", CRC32C}, {"standard", func(p []byte) uint32 { return crc32.Update(0, castagnoli, p) }}} {
		for _, n := range []int{512, 4096} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				b.SetBytes(int64(len(p)))
				for b.Loop() {
					for at := 0; at < len(p); at += n {
						_ = c.sum(p[at : at+n])
					}
				}
			})
		}
	}
}

// Whole pages are summed in groups. Bytes before, between and after the groups are summed one fragment at a time.
func TestPageSumsEqualStandardLibrary(t *testing.T) {
	data := randomBytes(6, 70*hemera.PageSize)
	for n := 0; n < len(data); n += 1111 {
		for _, off := range []int64{0, 1, hemera.PageSize, 5000, 3*hemera.PageSize - 1} {
			p, sums := data[:n], make([]uint32, 72)
			if got, want := PageSums(p, off, sums), Fragments(off, n); got != want {
				t.Fatalf("%d bytes at %d: %d sums, want %d", n, off, got, want)
			}
			for i, at := 0, off; len(p) > 0; i++ {
				f := fragment(p, at)
				if want := crc32.Checksum(p[:f], castagnoli); sums[i] != want {
					t.Fatalf("%d bytes at %d: sum %d is %08x, want %08x", n, off, i, sums[i], want)
				}
				p, at = p[f:], at+int64(f)
			}
		}
	}
}

// Any one bad fragment is found, by its index.
func TestVerifyPagesFindsEveryBadPage(t *testing.T) {
	const pages = 133
	for _, off := range []int64{0, 100} {
		data := randomBytes(7, pages*hemera.PageSize)
		sums := make([]uint32, pages+1)
		n := PageSums(data, off, sums)
		sums = sums[:n]
		for _, verify := range []func([]byte, int64, []uint32) int{VerifyPages, VerifyDistantPages} {
			if bad := verify(data, off, sums); bad != -1 {
				t.Fatalf("good pages: %d", bad)
			}
			for i := range sums {
				sums[i] ^= 1
				if bad := verify(data, off, sums); bad != i {
					t.Fatalf("bad fragment %d: %d", i, bad)
				}
				sums[i] ^= 1
			}
			if bad := verify(data, off, sums[:n-1]); bad != n-1 {
				t.Fatalf("missing sum: %d", bad)
			}
		}
	}
}
