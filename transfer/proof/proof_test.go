package proof_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/transfer/proof"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// pages is a sealed piece in memory.
type pages []byte

func (p pages) ReadPages(b []byte, sums []uint32, off int64) (int, error) {
	n := copy(b, p[min(off, int64(len(p))):])
	checksum.PageSums(b[:n], off, sums)
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// pieces codes a content the slow way: block by block, each row at once.
func pieces(t *testing.T, l hemera.Layout, content []byte) []pages {
	t.Helper()
	code, err := layout.Code(l)
	if err != nil {
		t.Fatal(err)
	}
	block := int(l.BlockSize)
	list := make([]pages, l.Pieces)
	for row := 0; row*block*int(l.Data) < len(content); row++ {
		blocks := make([][]byte, l.Pieces)
		for i := range blocks {
			blocks[i] = make([]byte, block)
			if i < int(l.Data) {
				at := (row*int(l.Data) + i) * block
				copy(blocks[i], content[min(at, len(content)):])
			}
		}
		if code != nil {
			if err := code.Encode(blocks); err != nil {
				t.Fatal(err)
			}
		}
		for i := range list {
			list[i] = append(list[i], blocks[i]...)
		}
	}
	for i := range list {
		list[i] = list[i][:layout.PieceSize(l, int64(len(content)), uint8(i))]
	}
	return list
}

// run has all pieces of the set proved as a head would.
func run(l hemera.Layout, seal hemera.SealInfo, list []pages, have layout.Set) error {
	c, err := proof.NewCheck(l, seal.FileSize, have)
	if err != nil {
		return err
	}
	for {
		off, length, ok := c.Next()
		if !ok {
			return c.End(seal.Checksums)
		}
		proofs := make([]hemera.PieceProof, l.Pieces)
		for i := range have.All() {
			q := hemera.ProofRequest{Seal: seal, Key: hemera.SketchKey{7}, Off: off, Length: length}
			if proofs[i], err = proof.Of(list[i], l, uint8(i), q); err != nil {
				return err
			}
		}
		if err := c.Take(proofs); err != nil {
			return err
		}
	}
}

func random(seed uint64, n int) []byte {
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	p := make([]byte, n)
	_, _ = r.Read(p)
	return p
}

func sealOf(content []byte) hemera.SealInfo {
	s := hemera.SealInfo{FileSize: int64(len(content))}
	for _, k := range []hemera.ChecksumKind{hemera.Adler32, hemera.CRC32C} {
		sum, _ := checksum.Of(k, content)
		s.Checksums = append(s.Checksums, sum)
	}
	return s
}

// small returns the layout with small blocks.
func small(l hemera.Layout, block uint32) hemera.Layout {
	l.BlockSize = block
	return l
}

var layouts = []hemera.Layout{
	small(hemera.ReedSolomon(2, 1), 64<<10), small(hemera.ReedSolomon(4, 2), 192<<10), small(hemera.Local(4, 2, 1), 64<<10),
	small(hemera.Stripe(3), 64<<10), hemera.ReedSolomon(2, 2), small(hemera.ReedSolomon(2, 1), 2<<20),
}

// stored returns the pieces that have bytes.
func stored(l hemera.Layout, size int) (s layout.Set) {
	for i := range l.Pieces {
		if layout.Stored(l, int64(size), i) {
			s = s.With(int(i))
		}
	}
	return s
}

func TestPiecesOfOneContentAgree(t *testing.T) {
	for _, l := range layouts {
		for _, size := range []int{1, 4096, 64<<10 - 1, 64 << 10, 200_001, 1 << 20, 5<<20 + 17} {
			t.Run(fmt.Sprintf("%s of %d, %d bytes", l, l.BlockSize, size), func(t *testing.T) {
				content := random(uint64(size), size)
				list, have, seal := pieces(t, l, content), stored(l, size), sealOf(content)
				if err := run(l, seal, list, have); err != nil {
					t.Fatal(err)
				}
				// Without one of the parity pieces the others still agree.
				for i := range have.All() {
					err := run(l, seal, list, have.Without(i))
					if i >= int(l.Data) && err != nil {
						t.Errorf("without parity %d: %v", i, err)
					}
					if i < int(l.Data) && !errors.Is(err, errs.Invalid) {
						t.Errorf("without data %d: %v", i, err)
					}
				}
				seal.Checksums[0].Value[2] ^= 1
				if err := run(l, seal, list, have); !errors.Is(err, errs.Corrupt) {
					t.Errorf("with another Adler-32 claimed: %v", err)
				}
			})
		}
	}
}

// TestOneBitIsFound changes one bit of one piece, whose pages have the checksums of what they are then, as a client can
// make them.
func TestOneBitIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range layouts {
		for range 12 {
			size := 1 + r.IntN(5<<20)
			content := random(uint64(size), size)
			list, have, seal := pieces(t, l, content), stored(l, size), sealOf(content)
			wrong := r.IntN(int(l.Pieces))
			for !have.Has(wrong) {
				wrong = r.IntN(int(l.Pieces))
			}
			at := r.IntN(len(list[wrong]))
			list[wrong][at] ^= 1 << r.IntN(8)
			if err := run(l, seal, list, have); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s, %d bytes, byte %d of piece %d: %v", l, size, at, wrong, err)
			}
			// Nor does it help to claim the checksums that the changed data has, where parity is of the other.
			if wrong < int(l.Data) && l.Pieces > l.Data {
				seal = sealOf(join(l, list, size))
				if err := run(l, seal, list, have); !errors.Is(err, errs.Corrupt) {
					t.Errorf("%s, %d bytes, byte %d of piece %d, sums of that: %v", l, size, at, wrong, err)
				}
			}
		}
	}
}

// join reads a content from its data pieces.
func join(l hemera.Layout, list []pages, size int) []byte {
	content := make([]byte, size)
	for _, span := range layout.Split(l, 0, size) {
		copy(content[span.At:span.At+span.Len], list[span.Column][span.Off:])
	}
	return content
}

func TestProofsAreBounded(t *testing.T) {
	l := layouts[0]
	for _, q := range []hemera.ProofRequest{{Off: -1, Length: 1}, {Off: 5, Length: 1}, {Length: 0}, {Length: (proof.PartUnits + 1) * proof.Unit(l)}} {
		q.Seal.FileSize = 1 << 30
		if _, err := proof.Of(pages{}, l, 0, q); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if _, err := proof.Of(pages{}, hemera.Replica(2), 0, hemera.ProofRequest{Length: 1}); !errors.Is(err, errs.Invalid) {
		t.Errorf("a layout of copies: %v", err)
	}
	// A node that answers with too few sums proves nothing.
	content := random(9, 300_000)
	list := pieces(t, l, content)
	for _, cut := range []func(*hemera.PieceProof){
		func(p *hemera.PieceProof) { p.Blocks = p.Blocks[1:] },
		func(p *hemera.PieceProof) { p.Sketches = nil },
	} {
		c, err := proof.NewCheck(l, int64(len(content)), layout.Set(7))
		if err != nil {
			t.Fatal(err)
		}
		proofs := make([]hemera.PieceProof, l.Pieces)
		for i := range proofs {
			if proofs[i], err = proof.Of(list[i], l, uint8(i), hemera.ProofRequest{Seal: sealOf(content), Length: proof.PartUnits * proof.Unit(l)}); err != nil {
				t.Fatal(err)
			}
		}
		cut(&proofs[1])
		if err := c.Take(proofs); !errors.Is(err, errs.Corrupt) {
			t.Errorf("fewer sums: %v", err)
		}
	}
}

func TestNotAllChecksumsAreProvable(t *testing.T) {
	for _, c := range []struct {
		kinds []hemera.ChecksumKind
		want  bool
	}{
		{nil, true}, {[]hemera.ChecksumKind{hemera.Adler32}, true}, {[]hemera.ChecksumKind{hemera.CRC32C, hemera.Adler32}, true},
		{[]hemera.ChecksumKind{hemera.Adler32, hemera.SHA256}, false},
	} {
		if got := proof.Provable(c.kinds); got != c.want {
			t.Errorf("%v: %t", c.kinds, got)
		}
	}
}
