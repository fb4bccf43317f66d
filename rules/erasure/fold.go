package erasure

import "sync"

// folding is the memory of one sketch.
type folding struct {
	views   [foldInputs + len(Sketch{})][]byte
	results [2][]byte // of folds in turn: each reads the one before
	tail    []byte    // the last segment, filled with zeros
	zeros   []byte    // segments behind the end; nothing writes to it
}

// foldings keeps the memory of sketches that were made.
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

// segmentSize is the length of each of foldInputs segments of a block.
func segmentSize(length int) int {
	segment := (length + foldInputs - 1) / foldInputs
	return (segment + foldUnit - 1) / foldUnit * foldUnit
}

// fold multiplies the segments of a block by the matrix of a product, and returns the result, which is valid until the fold
// after the next. A block counts with zeros behind its end.
func (m *folding) fold(p *product, block []byte, level int) ([]byte, error) {
	defer clear(m.views[:]) // the block is the caller's
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
