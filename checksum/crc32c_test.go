package checksum

import (
	"hash/crc32"
	"testing"
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
	page := randomBytes(1, 256<<10)
	for name, sum := range map[string]func(p []byte) uint32{
		"own": CRC32C, "standard": func(p []byte) uint32 { return crc32.Checksum(p, castagnoli) },
	} {
		for _, n := range []int{300, 1024, 4096} {
			b.Run(name+"/"+[]string{300: "300", 1024: "1KiB", 4096: "4KiB"}[n], func(b *testing.B) {
				b.SetBytes(int64(n))
				off := 0
				for b.Loop() {
					sum(page[off : off+n])
					if off += n; off+n > len(page) {
						off = 0
					}
				}
			})
		}
	}
}
