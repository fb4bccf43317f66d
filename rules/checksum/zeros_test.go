package checksum

import (
	"testing"

	"hemera/words/hemera"
)

// Zeros by number give the same sum as zeros that are written, before, between and after other bytes.
func TestZerosByNumber(t *testing.T) {
	kinds := hemera.ChecksumKinds()
	for _, n := range []int64{0, 1, 7, 4096, 65_535, 65_536, 300_001} {
		skipped, err := NewMulti(kinds...)
		if err != nil {
			t.Fatal(err)
		}
		written, _ := NewMulti(kinds...)
		for _, part := range [][]byte{nil, randomBytes(3, 5000), randomBytes(4, 11), {0}} {
			_, _ = skipped.Write(part)
			_, _ = written.Write(part)
			skipped.WriteZeros(n)
			_, _ = written.Write(make([]byte, n))
			want := written.Sums()
			for i, got := range skipped.Sums() {
				if got != want[i] {
					t.Errorf("%d zeros after %d bytes: %s, want %s", n, len(part), got, want[i])
				}
			}
		}
		if got, want := ZerosCRC32C(n), CRC32C(make([]byte, n)); got != want {
			t.Errorf("%d zeros: %08x, want %08x", n, got, want)
		}
	}
}

func TestZeroPage(t *testing.T) {
	if got := CRC32C(make([]byte, hemera.PageSize)); got != ZeroPage {
		t.Errorf("%08x", got)
	}
}

// A petabyte of zeros in one step gives the same sum as in many, for all kinds that skip zeros.
func TestManyZeros(t *testing.T) {
	for _, kind := range hemera.ChecksumKinds() {
		if !SkipsZeros(kind) {
			continue
		}
		var sums [2]hemera.Checksum
		for i, steps := range []int64{1, 1 << 10} {
			m, err := NewMulti(kind)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = m.Write([]byte("data"))
			for range steps {
				m.WriteZeros(hemera.FileSizeMax / steps)
			}
			_, _ = m.Write([]byte("more"))
			sums[i] = m.Sums()[0]
		}
		if sums[0] != sums[1] {
			t.Errorf("%s in one step, %s in many", sums[0], sums[1])
		}
	}
}

// MayBeZeros reports true for zeros of any length, and false if one byte anywhere differs.
func TestMayBeZeros(t *testing.T) {
	for _, n := range []int{1, 4095, 4096, 4097, 12_288, 20_000} {
		p, sums := make([]byte, n), make([]uint32, Fragments(0, n))
		PageSums(p, 0, sums)
		if !MayBeZeros(sums, n) {
			t.Errorf("%d zeros are not", n)
		}
		for _, at := range []int{0, n / 2, n - 1} {
			p[at] = 1
			PageSums(p, 0, sums)
			if MayBeZeros(sums, n) {
				t.Errorf("a byte at %d of %d is not noticed", at, n)
			}
			p[at] = 0
		}
	}
}
