package erasure

import "sync"

// folding is the memory of one sketch.
type folding struct {
	views   [foldInputs + len(Sketch{})][]byte
	results [2][]byte // results of folds in turn: each fold reads the one before
	tail    []byte    // the last segment, filled with zeros
	zeros   []byte    // segments behind the end; always zero
}

// foldings has memory of earlier sketches for new ones.
var foldings = sync.Pool{New: func() any { return new(folding) }}

// acquireFolding returns memory for a block of this length.
func acquireFolding(length int) *folding {
	m := foldings.Get().(*folding)
	segment := segmentSize(length)
	if len(m.zeros) < segment {
		m.tail, m.zeros = make([]byte, segment), make([]byte, segment)
		for i := range m.results {
			m.results[i] = make([]byte, len(Sketch{})*segment)
		}
	}
	return m
}

// segmentSize returns the length of each of the foldInputs segments of a block.
func segmentSize(length int) int {
	segment := (length + foldInputs - 1) / foldInputs
	return (segment + foldUnit - 1) / foldUnit * foldUnit
}

// fold multiplies the segments of a block by the matrix of a product. The result is valid until the fold after the next.
// The block counts as followed by zeros.
func (m *folding) fold(p *product, block []byte, level int) ([]byte, error) {
	defer clear(m.views[:]) // do not keep the caller's block
	segment := segmentSize(len(block))
	for i := range foldInputs {
		switch rest := len(block) - i*segment; {
		case rest >= segment:
			m.views[i] = block[i*segment:][:segment]
		case rest > 0:
			m.views[i] = m.tail[:segment]
			clear(m.views[i][copy(m.views[i], block[i*segment:]):])
		default:
			m.views[i] = m.zeros[:segment]
		}
	}
	result := m.results[level%2][:len(Sketch{})*segment]
	for i := range len(Sketch{}) {
		m.views[foldInputs+i] = result[i*segment:][:segment]
	}
	return result, p.apply(m.views[:])
}
