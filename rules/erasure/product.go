package erasure

import (
	"sync"

	"github.com/klauspost/reedsolomon"
)

const (
	// kernelMax is the largest number of inputs, and of outputs, for which the module has generated machine code. Above
	// it the module uses slower code, and passes over the outputs several times.
	kernelMax = 10
	// tileSize is the number of bytes of each block that are multiplied at once if that takes several kernels. The
	// intermediate results of a tile stay in the second-level cache of a core. DESIGN.md has the measurement.
	tileSize = 64 << 10
	// deltaSize is the number of bytes that Update multiplies at once: they stay in the first-level cache.
	deltaSize = 8 << 10
)

// product multiplies input blocks by a fixed matrix to get output blocks. It is immutable.
//
// A matrix with few columns and rows is one kernel. A larger one is cut into kernels of at most kernelMax inputs and
// outputs. The first kernel of an output writes it; later ones write to a buffer that is then added. A kernel leaves out
// an output if all its coefficients in this kernel are zero, such as the local parities of other groups.
type product struct {
	inputs  int
	kernels []kernel
	added   int // the largest number of outputs that one kernel adds
}

// kernel is one call of the module.
type kernel struct {
	from, to int   // the inputs
	outputs  []int // counted from the first output; those to be added are the last
	first    int   // the number of outputs that this kernel writes and does not add
	coder    reedsolomon.Encoder
}

// newProduct returns the multiplication by a matrix with that many columns. No row may be all zeros.
func newProduct(matrix [][]byte, columns int) (*product, error) {
	p := &product{inputs: columns}
	written := make([]bool, len(matrix))
	cuts := (columns + kernelMax - 1) / kernelMax
	for cut := range cuts {
		from, to := cut*columns/cuts, (cut+1)*columns/cuts
		var first, added []int
		for r, coefficients := range matrix {
			switch {
			case allZero(coefficients[from:to]):
			case written[r]:
				added = append(added, r)
			default:
				first, written[r] = append(first, r), true
			}
		}
		outputs := append(first, added...)
		for at := 0; at < len(outputs); at += kernelMax {
			part := outputs[at:min(at+kernelMax, len(outputs))]
			k := kernel{from: from, to: to, outputs: part, first: min(max(len(first)-at, 0), len(part))}
			var err error
			if k.coder, err = newCoder(matrix, k); err != nil {
				return nil, err
			}
			p.kernels = append(p.kernels, k)
			p.added = max(p.added, len(part)-k.first)
		}
	}
	return p, nil
}

// newCoder makes the module's part of a kernel. It must not start goroutines. It never reconstructs, so it needs no cache
// of inverted matrices.
func newCoder(matrix [][]byte, k kernel) (reedsolomon.Encoder, error) {
	rows := make([][]byte, len(k.outputs))
	for i, r := range k.outputs {
		rows[i] = matrix[r][k.from:k.to]
	}
	return reedsolomon.New(k.to-k.from, len(rows), reedsolomon.WithCustomMatrix(rows),
		reedsolomon.WithMaxGoroutines(1), reedsolomon.WithInversionCache(false))
}

// apply computes the outputs from the inputs. blocks has the inputs and then the outputs, all of one length above zero.
func (p *product) apply(blocks [][]byte) error {
	if len(p.kernels) == 1 {
		return p.kernels[0].coder.Encode(blocks)
	}
	s := acquireScratch(p.added * tileSize)
	defer s.release()
	for from := 0; from < len(blocks[0]); from += tileSize {
		to := min(from+tileSize, len(blocks[0]))
		for i := range p.kernels {
			if err := p.kernels[i].apply(s, blocks, blocks[p.inputs:], from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply runs the kernel on the bytes from up to to.
func (k *kernel) apply(s *scratch, inputs, outputs [][]byte, from, to int) error {
	views := s.views[:0]
	for _, in := range inputs[k.from:k.to] {
		views = append(views, in[from:to])
	}
	added := s.buffer
	for i, r := range k.outputs {
		if i < k.first {
			views = append(views, outputs[r][from:to])
			continue
		}
		views = append(views, added[:to-from])
		added = added[tileSize:]
	}
	if err := k.coder.Encode(views); err != nil {
		return err
	}
	for i, r := range k.outputs[k.first:] {
		low.GalMulSliceXor(1, views[k.to-k.from+k.first+i], outputs[r][from:to])
	}
	return nil
}

// low multiplies one block by one coefficient.
var low reedsolomon.LowLevel

// scratch is the memory of one call.
type scratch struct {
	views  [2 * PiecesMax][]byte
	buffer []byte
}

// scratches has memory of calls that have ended.
var scratches = sync.Pool{New: func() any { return new(scratch) }}

// acquireScratch returns memory with a buffer of at least size bytes. Its content is undefined.
func acquireScratch(size int) *scratch {
	s := scratches.Get().(*scratch)
	if len(s.buffer) < size {
		s.buffer = make([]byte, size)
	}
	return s
}

// release makes the memory available again. It drops the references to the caller's blocks, which may then be freed.
func (s *scratch) release() {
	clear(s.views[:])
	scratches.Put(s)
}

// allZero reports whether all coefficients are zero.
func allZero(coefficients []byte) bool {
	for _, v := range coefficients {
		if v != 0 {
			return false
		}
	}
	return true
}
