package erasure

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"testing"

	"hemera/words/errs"
)

func sketcher(tb testing.TB, key byte) *Sketcher {
	tb.Helper()
	s, err := NewSketcher([16]byte{key})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func sketch(tb testing.TB, s *Sketcher, block []byte) Sketch {
	tb.Helper()
	sum, err := s.Sketch(block)
	if err != nil {
		tb.Fatal(err)
	}
	return sum
}

// twinSketch computes the definition, a byte at a time.
func twinSketch(key byte, block []byte) (sum Sketch) {
	c, err := aes.NewCipher(append([]byte{key}, make([]byte, 15)...))
	if err != nil {
		panic(err)
	}
	random := make([]byte, 8*8*64+8*1024)
	cipher.NewCTR(c, make([]byte, 16)).XORKeyStream(random, random)
	last := random[8*8*64:]
	for len(block) > 1024 {
		segment := ((len(block)+63)/64 + 63) / 64 * 64
		folded := make([]byte, 8*segment)
		for at, b := range block {
			for r := range 8 {
				folded[r*segment+at%segment] ^= twinTimes(random[r*64+at/segment], b)
			}
		}
		block, random = folded, random[8*64:]
	}
	for at, b := range block {
		for r := range sum {
			sum[r] ^= twinTimes(last[8*at+r], b)
		}
	}
	return sum
}

func TestSketchIsTheTwins(t *testing.T) {
	s := sketcher(t, 3)
	for _, length := range []int{0, 1, 7, 1023, 1024, 1025, 4096, 4097, 8192, 65536, 70001, 300_000} {
		block := twin{1, 0, 1}.random(uint64(length), length)[0]
		if got, want := sketch(t, s, block), twinSketch(3, block); got != want {
			t.Errorf("the sketch of %d bytes is %x, want %x", length, got, want)
		}
	}
}

// Nodes of different versions compare their sketches.
func TestSketchNeverChanges(t *testing.T) {
	s := sketcher(t, 2)
	for length, want := range map[int]string{1: "c86cb718c6ccddb6", 5000: "4561d726fb36ff49", 1 << 20: "2decb01415a9475b"} {
		block := make([]byte, length)
		for i := range block {
			block[i] = byte(i + 1)
		}
		sum := sketch(t, s, block)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("the sketch of %d bytes is %s, want %s", length, got, want)
		}
	}
}

func TestSketchesCommuteWithCodes(t *testing.T) {
	for _, w := range append(small, twin{10, 0, 4}, twin{12, 2, 2}, twin{16, 4, 4}) {
		c := w.code(t)
		for _, length := range []int{1, 100, 1500, 70_000} {
			blocks := w.random(8, length)
			check(t, c.Encode(blocks))
			s := sketcher(t, byte(length))
			sketches := make([]Sketch, len(blocks))
			for i, b := range blocks {
				sketches[i] = sketch(t, s, b)
			}
			all := Range(0, w.pieces())
			if ok, err := c.Agrees(sketches, all); !ok || err != nil {
				t.Fatalf("%s of %d bytes does not agree: %v", w, length, err)
			}
			// One flipped bit of one piece is found.
			bad := length % w.pieces()
			blocks[bad][length/2] ^= 4
			sketches[bad] = sketch(t, s, blocks[bad])
			if ok, _ := c.Agrees(sketches, all); ok {
				t.Fatalf("%s of %d bytes agrees with a wrong piece %d", w, length, bad)
			}
			if ok, _ := c.Agrees(sketches, all.Without(bad)); !ok {
				t.Fatalf("%s of %d bytes does not agree without the wrong piece", w, length)
			}
			if w.local == 0 && w.global < 2 {
				continue // it recovers from one loss only
			}
			for i := range w.pieces() {
				if ok, _ := c.Agrees(sketches, all.Without(i)); ok && i != bad {
					t.Fatalf("%s agrees without %d, but %d is wrong", w, i, bad)
				}
			}
		}
	}
	if _, err := (twin{2, 0, 1}).code(t).Agrees(make([]Sketch, 2), 7); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// The first byte of sketches alone would miss one disagreement in 256. The test shows that it misses about that many. So
// the coefficients are random enough for the claim about all eight bytes.
func TestSketchMissesAsRarelyAsClaimed(t *testing.T) {
	const keys = 2048
	block := make([]byte, 6000)
	block[17], block[5000] = 1, 77
	var missed [8]int
	for key := range keys {
		s, err := NewSketcher([16]byte{byte(key), byte(key >> 8)})
		check(t, err)
		for r, b := range sketch(t, s, block) {
			if b == 0 {
				missed[r]++
			}
		}
	}
	for r, n := range missed {
		if n > 28 { // 8 are expected; this is 7 standard deviations above
			t.Errorf("byte %d missed the difference with %d of %d keys", r, n, keys)
		}
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The CRC of a block determines nothing about that of the block times a coefficient: for any value of one, the other can
// have any value. So page checksums cannot check a parity unless its coefficients are one.
func TestProductsHaveAnyCRC(t *testing.T) {
	const length = 64 // a longer block has more choices, not fewer
	zeros := crc32.Checksum(make([]byte, length), castagnoli)
	linear := func(block []byte) uint64 { return uint64(crc32.Checksum(block, castagnoli) ^ zeros) }
	for v := range 256 {
		// The pairs of both CRCs, as 64 bits, of blocks with one bit. The CRCs of all blocks are in their span.
		var pivots [64]uint64
		rank := 0
		block := make([]byte, length)
		for n := range 8 * length {
			block[n/8] = 1 << (n % 8)
			pair := linear(block)
			block[n/8] = times(byte(v), block[n/8])
			pair |= linear(block) << 32
			block[n/8] = 0
			for pair != 0 {
				top := bits.Len64(pair) - 1
				if pivots[top] == 0 {
					pivots[top] = pair
					rank++
					break
				}
				pair ^= pivots[top]
			}
		}
		want := 64
		if v < 2 {
			want = 32 // zero and one commute
		}
		if rank != want {
			t.Errorf("times %d the pairs have %d dimensions, want %d", v, rank, want)
		}
	}
}

func BenchmarkSketch(b *testing.B) {
	s := sketcher(b, 1)
	for _, size := range append([]int{4 << 10, 16 << 10}, sizes...) {
		b.Run(fmt.Sprintf("%dK", size>>10), func(b *testing.B) {
			block := make([]byte, size)
			onOneCore(b, size, func() error {
				_, err := s.Sketch(block)
				return err
			})
		})
	}
}

func BenchmarkNewSketcher(b *testing.B) {
	for b.Loop() {
		sketcher(b, 1)
	}
}
