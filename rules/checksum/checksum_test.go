package checksum

import (
	"bytes"
	"fmt"
	"hash/adler32"
	"math/rand/v2"
	"testing"

	"hemera/words/hemera"
)

func randomBytes(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// Published values of "123456789" and of the empty text.
func TestKnownValues(t *testing.T) {
	for _, c := range []struct{ kind, empty, digits string }{
		{"adler32", "00000001", "091e01de"},
		{"crc32c", "00000000", "e3069283"},
		{"crc32", "ffffffff", "377a6011"},
		{"zcrc32", "00000000", "2639f4cb"},
		{"crc64nvme", "0000000000000000", "ae8b14860a799888"},
		{"md5", "d41d8cd98f00b204e9800998ecf8427e", "25f9e794323b453885f5181f1b624d0b"},
		{"sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
			"15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"},
		{"xxh3", "2d06800538d394c2", ""},
		{"blake3", "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262", ""},
	} {
		kind, err := hemera.ParseChecksumKind(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		for in, want := range map[string]string{"": c.empty, "123456789": c.digits} {
			got, err := Of(kind, []byte(in))
			if err != nil {
				t.Fatal(err)
			}
			if want != "" && got.Hex() != want {
				t.Errorf("%s(%q) = %s, want %s", kind, in, got.Hex(), want)
			}
		}
	}
}

func TestNewRefusesNone(t *testing.T) {
	for _, k := range []hemera.ChecksumKind{hemera.ChecksumNone, 200} {
		if _, err := New(k); err == nil {
			t.Errorf("New(%d) gave a hasher", k)
		}
	}
	if _, err := NewMulti(hemera.Adler32, 200); err == nil {
		t.Error("NewMulti took an unknown kind")
	}
}

// All kinds, written in pieces of odd lengths, separately and together, give the same sum as one write.
func TestSplitWrites(t *testing.T) {
	p := randomBytes(2, 300_001)
	multi, err := NewMulti(append(hemera.ChecksumKinds(), hemera.ChecksumNone, hemera.MD5)...)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for rest := p; len(rest) > 0; {
			n := min(len(rest), 70_003)
			if got, err := multi.Write(rest[:n]); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
		}
		sums := multi.Sums()
		if len(sums) != len(hemera.ChecksumKinds()) {
			t.Fatalf("%d sums", len(sums))
		}
		for _, got := range sums {
			want, err := Of(got.Kind, p)
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("round %d: %s, want %s", round, got, want)
			}
		}
		multi.Reset()
	}
}

func TestAdler32EqualsStandardLibrary(t *testing.T) {
	ones := bytes.Repeat([]byte{0xff}, 70_000)
	random := randomBytes(1, 70_000)
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 5503, 5504, 5505, 5552, 11_008, 11_071, 70_000} {
		for _, p := range [][]byte{ones[:n], random[:n], random[len(random)-n:]} {
			if got, want := UpdateAdler32(1, p), adler32.Checksum(p); got != want {
				t.Errorf("%d bytes: %08x, want %08x", n, got, want)
			}
		}
	}
	// The highest possible state, continued by the highest bytes.
	if got, want := UpdateAdler32(0xfff0fff0, ones), slowAdler(0xfff0fff0, ones); got != want {
		t.Errorf("high state: %08x, want %08x", got, want)
	}
}

func slowAdler(sum uint32, p []byte) uint32 {
	a, b := sum&0xffff, sum>>16
	for _, c := range p {
		a = (a + uint32(c)) % 65521
		b = (b + a) % 65521
	}
	return b<<16 | a
}

func TestAdlerKernelEqualsGeneric(t *testing.T) {
	p := randomBytes(7, adlerBlock*adlerBlocksMax)
	for n := 1; n <= adlerBlocksMax; n++ {
		a, b := adlerBlocks(&p[0], n)
		wantA, wantB := adlerBlocksGeneric(p[:n*adlerBlock])
		if a != wantA || b != wantB {
			t.Fatalf("%d blocks: %d %d, want %d %d", n, a, b, wantA, wantB)
		}
	}
}

func FuzzAdler32(f *testing.F) {
	f.Add([]byte("abc"), uint16(1))
	f.Add(randomBytes(3, 6000), uint16(3000))
	f.Fuzz(func(t *testing.T, p []byte, cut uint16) {
		n := min(int(cut), len(p))
		got := UpdateAdler32(UpdateAdler32(1, p[:n]), p[n:])
		if want := adler32.Checksum(p); got != want {
			t.Errorf("%08x, want %08x", got, want)
		}
	})
}

func FuzzCombine(f *testing.F) {
	f.Add([]byte("abcdef"), uint16(3))
	f.Add(randomBytes(3, 9000), uint16(4096))
	f.Fuzz(func(t *testing.T, p []byte, cut uint16) {
		n := min(int(cut), len(p))
		if got, want := CombineCRC32C(CRC32C(p[:n]), CRC32C(p[n:]), int64(len(p)-n)), CRC32C(p); got != want {
			t.Errorf("%08x, want %08x", got, want)
		}
	})
}

// A length over four gibibytes, where a table of 32 powers would end: zeros doubled 34 times.
func TestCombineHugeLengths(t *testing.T) {
	crc, length := CRC32C([]byte{0}), int64(1)
	for range 34 {
		crc = CombineCRC32C(crc, crc, length)
		length *= 2
	}
	var steps Appender
	block := CRC32C(make([]byte, 1<<20))
	for range length >> 20 {
		steps.Append(block, 1<<20)
	}
	if steps.Sum() != crc {
		t.Errorf("%08x by doubling, %08x by steps", crc, steps.Sum())
	}
}

func TestPages(t *testing.T) {
	p := randomBytes(5, 20_000)
	verifiers := []func([]byte, int64, []uint32) int{VerifyPages, VerifyDistantPages}
	for _, c := range []struct {
		off   int64
		n     int
		count int
	}{
		{0, 0, 0}, {0, 1, 1}, {0, 4096, 1}, {0, 4097, 2}, {4095, 1, 1}, {4095, 2, 2},
		{100, 20_000, 5}, {8192, 8192, 2}, {1<<40 + 1, 4096, 2},
	} {
		if got := Fragments(c.off, c.n); got != c.count {
			t.Errorf("Fragments(%d, %d) = %d, want %d", c.off, c.n, got, c.count)
		}
		sums := make([]uint32, c.count)
		if got := PageSums(p[:c.n], c.off, sums); got != c.count {
			t.Errorf("PageSums at %d of %d: %d", c.off, c.n, got)
		}
		for _, verify := range verifiers {
			if bad := verify(p[:c.n], c.off, sums); bad != -1 {
				t.Errorf("at %d of %d: fragment %d differs", c.off, c.n, bad)
			}
		}
		var whole Appender
		off := c.off
		for rest, i := c.n, 0; rest > 0; i++ {
			n := fragment(p[:rest], off)
			whole.Append(sums[i], int64(n))
			rest, off = rest-n, off+int64(n)
		}
		if want := CRC32C(p[:c.n]); whole.Sum() != want {
			t.Errorf("at %d of %d: combined %08x, want %08x", c.off, c.n, whole.Sum(), want)
		}
		for i := range sums {
			sums[i]++
			for _, verify := range verifiers {
				if bad := verify(p[:c.n], c.off, sums); bad != i {
					t.Errorf("bad fragment %d found as %d", i, bad)
				}
			}
			sums[i]--
		}
		for _, verify := range verifiers {
			if c.count > 0 && verify(p[:c.n], c.off, sums[:c.count-1]) != c.count-1 {
				t.Error("a missing sum passed")
			}
		}
	}
}

func BenchmarkAdler32(b *testing.B) {
	for _, n := range []int{4 << 10, 1 << 20} {
		p := randomBytes(1, n)
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				UpdateAdler32(1, p)
			}
		})
	}
}

func BenchmarkPageSums(b *testing.B) {
	p := randomBytes(1, 256<<10)
	sums := make([]uint32, 64)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		PageSums(p, 0, sums)
	}
}

func BenchmarkAppendPage(b *testing.B) {
	var a Appender
	for b.Loop() {
		a.Append(0x12345678, hemera.PageSize)
	}
}

// crc32 equals the output of cksum, and the definition bit by bit.
func TestCksum(t *testing.T) {
	slow := func(p []byte) (sum uint32) {
		for n := len(p); n > 0; n >>= 8 {
			p = append(p, byte(n))
		}
		for _, b := range p {
			for bit := 7; bit >= 0; bit-- {
				carry := sum>>31 ^ uint32(b>>bit&1)
				sum = sum<<1 ^ 0x04c11db7&-carry
			}
		}
		return ^sum
	}
	for n := range 700 {
		p := randomBytes(uint64(n), n)
		got, err := Of(hemera.CRC32, p)
		if want := fmt.Sprintf("%08x", slow(p[:n:n])); err != nil || got.Hex() != want {
			t.Fatalf("%d bytes: %s, want %s, %v", n, got.Hex(), want, err)
		}
	}
}

func TestAdler32OfTwoParts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		p := make([]byte, r.IntN(200_000))
		for i := range p {
			p[i] = byte(255 - r.IntN(40)) // large values, so that the sums go round
		}
		cut := r.IntN(len(p) + 1)
		got := CombineAdler32(UpdateAdler32(1, p[:cut]), UpdateAdler32(1, p[cut:]), int64(len(p)-cut))
		if want := UpdateAdler32(1, p); got != want {
			t.Fatalf("%d bytes cut at %d: %08x, want %08x", len(p), cut, got, want)
		}
	}
}
