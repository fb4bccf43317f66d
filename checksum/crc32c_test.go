package checksum

import (
	"hash/crc32"
	"testing"

	"hemera"
)

// Every length around the borders of what is folded at a time, and any alignment.
func TestCRC32CEqualsStandardLibrary(t *testing.T) {
	data := randomBytes(5, 20000)
	for n := range 2100 {
		if got, want := CRC32C(data[n%67:n%67+n]), crc32.Checksum(data[n%67:n%67+n], castagnoli); got != want {
			t.Fatalf("%d bytes: %08x, want %08x", n, got, want)
		}
	}
	for _, n := range []int{4095, 4096, 4097, 8192, 16384, 19999, 20000} {
		if got, want := CRC32C(data[:n]), crc32.Checksum(data[:n], castagnoli); got != want {
			t.Fatalf("%d bytes: %08x, want %08x", n, got, want)
		}
	}
}

// One bit anywhere in a page changes its sum as the standard library says.
func TestCRC32COfOneBit(t *testing.T) {
	page := make([]byte, 4096)
	for i := range page {
		page[i] = 1 << (i % 8)
		if got, want := CRC32C(page), crc32.Checksum(page, castagnoli); got != want {
			t.Fatalf("byte %d: %08x, want %08x", i, got, want)
		}
		page[i] = 0
	}
}

func FuzzCRC32C(f *testing.F) {
	f.Add([]byte("hemera"), 3)
	f.Add(randomBytes(1, 5000), 17)
	f.Fuzz(func(t *testing.T, p []byte, from int) {
		p = p[min(max(from, 0), len(p)):]
		if got, want := CRC32C(p), crc32.Checksum(p, castagnoli); got != want {
			t.Fatalf("%d bytes: %08x, want %08x", len(p), got, want)
		}
	})
}

func BenchmarkCRC32C(b *testing.B) {
	page := randomBytes(1, hemera.PageSize)
	b.Run("own", func(b *testing.B) {
		b.SetBytes(hemera.PageSize)
		for b.Loop() {
			CRC32C(page)
		}
	})
	b.Run("standard", func(b *testing.B) {
		b.SetBytes(hemera.PageSize)
		for b.Loop() {
			crc32.Checksum(page, castagnoli)
		}
	})
}

// Whole pages are summed in groups; whatever comes before, between and after them is not.
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
