package checksum

import "hemera/words/hemera"

// multiBlock is the number of bytes that go through all hashers before the next ones: they stay in a core's second-level
// cache, so that further hashers do not read memory again.
const multiBlock = 64 << 10

// Multi computes several checksums in one pass. It is not safe for concurrent use.
type Multi struct {
	hashers []Hasher
}

// NewMulti makes a Multi of the kinds. ChecksumNone is left out and a kind given twice is computed
// once; an unknown kind is an error.
func NewMulti(kinds ...hemera.ChecksumKind) (*Multi, error) {
	m := &Multi{}
	seen := map[hemera.ChecksumKind]bool{hemera.ChecksumNone: true}
	for _, k := range kinds {
		if seen[k] {
			continue
		}
		seen[k] = true
		h, err := New(k)
		if err != nil {
			return nil, err
		}
		m.hashers = append(m.hashers, h)
	}
	return m, nil
}

// Write never fails and takes all of p.
func (m *Multi) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		block := p[:min(len(p), multiBlock)]
		for _, h := range m.hashers {
			_, _ = h.Write(block)
		}
		p = p[len(block):]
	}
	return n, nil
}

// Sums returns the checksums, in the order in which the kinds were given.
func (m *Multi) Sums() []hemera.Checksum {
	sums := make([]hemera.Checksum, 0, len(m.hashers))
	for _, h := range m.hashers {
		sums = append(sums, h.Sum())
	}
	return sums
}

// Reset begins new checksums of all kinds.
func (m *Multi) Reset() {
	for _, h := range m.hashers {
		h.Reset()
	}
}
