package erasure

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"

	"hemera/words/errs"
)

// Sketch is a short sum of a block that is linear over the field of the codes. The sketch of a sum is the sum of the sketches,
// and a block times a coefficient has the sketch times the coefficient. So if parity agrees with data, their sketches do too.
type Sketch [8]byte

const (
	// foldInputs is the number of segments into which a fold cuts its input. The result of a fold has an eighth of its
	// input, as it has 8 outputs.
	foldInputs = 64
	// foldUnit divides the length of a segment: a kernel processes that many bytes at once.
	foldUnit = 64
	// folds is the largest number of folds of a block: enough for foldRest bytes times 8 to the power of 8, which are 16
	// GiB.
	folds = 8
	// foldRest is the length below which folding ends.
	foldRest = 1 << 10
)

// Sketcher makes sketches under one key. It is immutable and safe for concurrent use. Making it costs some hundred
// microseconds, so one serves many blocks.
//
// # Computation
//
// A fold cuts its input into 64 segments and multiplies them by a random matrix of 8 rows, which gives 8 segments.
// Further folds with other matrices follow until at most 1 KiB is left. The sketch is the sum of those bytes, each times
// a random vector. Everything random comes from the key, by AES-128 in counter mode.
//
// # Proof
//
// Blocks that do not agree have a sum that is not zero. A random matrix of 8 rows maps any column that is not zero to
// zero with a probability of 2^-64: 2^-8 for each row. So each fold loses the sum with at most this probability, and so
// does the last step. A block of 64 KiB takes two folds and one of 1 MiB four, and each factor of 8 takes one more. The
// sketches of 1 MiB miss a disagreement with a probability of at most 5·2^-64, below 2^-61, for any blocks, if the key
// was not known when they were written.
//
// A key is therefore drawn for one check and sent to the nodes that hold the pieces. It proves nothing about data that
// was written after the key became known.
//
// # Cost
//
// Each fold has a fixed cost, so a block of 256 KiB and more is cheap and one of a page is not. Positions in a block are
// independent for the codes, so a caller passes a long range of each piece as a block: several rows of the file.
// Intermediate results take about a quarter of the block, in memory that sketches reuse.
type Sketcher struct {
	folds [folds]*product
	last  [foldRest]uint64 // for each byte, its random vector
}

// NewSketcher returns a sketcher with this key. An error is a defect of the program.
func NewSketcher(key [16]byte) (*Sketcher, error) {
	const op = "erasure.NewSketcher"
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, errs.As(err, errs.Internal, op, "")
	}
	random := make([]byte, folds*len(Sketch{})*foldInputs+foldRest*len(Sketch{}))
	cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(random, random)
	s := &Sketcher{}
	for f := range s.folds {
		matrix := make([][]byte, len(Sketch{}))
		for r := range matrix {
			matrix[r], random = random[:foldInputs], random[foldInputs:]
		}
		if s.folds[f], err = newProduct(matrix, foldInputs); err != nil {
			return nil, errs.As(err, errs.Internal, op, "")
		}
	}
	for i := range s.last {
		s.last[i] = binary.LittleEndian.Uint64(random[8*i:])
	}
	return s, nil
}

// Sketch returns the sketch of a block of at most 16 GiB. Sketches can be compared if their blocks have the same length.
// It fails with TooLarge if the block is longer.
func (s *Sketcher) Sketch(block []byte) (Sketch, error) {
	const op = "erasure.Sketch"
	var sum Sketch
	if len(block) > foldRest {
		memory := acquireFolding(len(block))
		defer foldings.Put(memory)
		for level := 0; len(block) > foldRest; level++ {
			if level == folds {
				return Sketch{}, errs.New(errs.TooLarge, op, "", fmt.Sprintf("a sketch is of at most %d bytes", foldRest<<(3*folds)))
			}
			var err error
			if block, err = memory.fold(s.folds[level], block, level); err != nil {
				return Sketch{}, errs.As(err, errs.Internal, op, "")
			}
		}
	}
	binary.LittleEndian.PutUint64(sum[:], s.dot(block))
	return sum, nil
}

// dot returns the sum of the bytes, each times its vector. A byte is a sum of powers of two: dot first adds the vectors
// of each power, and multiplies at the end.
func (s *Sketcher) dot(block []byte) (sum uint64) {
	var a0, a1, a2, a3, a4, a5, a6, a7 uint64
	last := s.last[:len(block)]
	for i, b := range block {
		v, x := last[i], uint64(b)
		a0 ^= v & -(x & 1)
		a1 ^= v & -(x >> 1 & 1)
		a2 ^= v & -(x >> 2 & 1)
		a3 ^= v & -(x >> 3 & 1)
		a4 ^= v & -(x >> 4 & 1)
		a5 ^= v & -(x >> 5 & 1)
		a6 ^= v & -(x >> 6 & 1)
		a7 ^= v & -(x >> 7)
	}
	for _, a := range [8]uint64{a7, a6, a5, a4, a3, a2, a1, a0} {
		sum = double(sum) ^ a
	}
	return sum
}

// double multiplies each of eight bytes by two.
func double(v uint64) uint64 {
	const ones = 0x0101010101010101
	carries := v >> 7 & ones
	return v&^(ones<<7)<<1 ^ carries*fieldPoly
}
