package checksum

import (
	"math/rand/v2"
	"testing"

	"hemera/words/hemera"
)

// addTo adds bytes to the parts and to the slow twin, a slice of all bytes.
func addTo(p *Parts, whole, b []byte, off int64) []byte {
	sums := make([]uint32, Fragments(off, len(b)))
	PageSums(b, off, sums)
	p.Add(off, len(b), sums)
	if end := off + int64(len(b)); end > int64(len(whole)) {
		whole = append(whole, make([]byte, end-int64(len(whole)))...)
	}
	copy(whole[off:], b)
	return whole
}

func TestPartsInAnyOrder(t *testing.T) {
	b := randomBytes(1, 40*hemera.PageSize+77)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var ends []int
		for at := 0; at < len(b); {
			at = min(len(b), at+1+r.IntN(3*hemera.PageSize))
			ends = append(ends, at)
		}
		var p Parts
		var whole []byte
		hole := r.IntN(2*len(ends)) - len(ends) // a part that is missing, in half of the cases
		for _, i := range r.Perm(len(ends)) {
			from := 0
			if i > 0 {
				from = ends[i-1]
			}
			if i != hole {
				whole = addTo(&p, whole, b[from:ends[i]], int64(from))
			}
		}
		whole = append(whole, make([]byte, len(b)+1000-len(whole))...)
		got, ok := p.Sum(int64(len(whole)))
		if !ok || got != CRC32C(whole) {
			t.Fatalf("seed %d: sum %08x, known %v, want %08x", seed, got, ok, CRC32C(whole))
		}
	}
}

func TestPartsThatAreNotKnown(t *testing.T) {
	b := randomBytes(2, 3*hemera.PageSize)
	for name, do := range map[string]func(p *Parts){
		"begins in another":  func(p *Parts) { addTo(p, nil, b[:100], 50); addTo(p, nil, b[:100], 149) },
		"ends in another":    func(p *Parts) { addTo(p, nil, b[:100], 50); addTo(p, nil, b[:100], 0) },
		"covers another":     func(p *Parts) { addTo(p, nil, b[:10], 50); addTo(p, nil, b[:100], 0) },
		"the same":           func(p *Parts) { addTo(p, nil, b[:10], 50); addTo(p, nil, b[:10], 50) },
		"between two, wider": func(p *Parts) { addTo(p, nil, b[:10], 0); addTo(p, nil, b[:10], 20); addTo(p, nil, b[:11], 10) },
		"is cut in two":      func(p *Parts) { addTo(p, nil, b[:100], 0); p.Cut(99) },
		"ends later":         func(p *Parts) { addTo(p, nil, b, 0); addTo(p, nil, b, 1<<20) },
		"was forgotten":      func(p *Parts) { p.Forget(); addTo(p, nil, b, 0) },
	} {
		var p Parts
		do(&p)
		if sum, ok := p.Sum(int64(len(b))); ok {
			t.Errorf("%s: sum %08x is told", name, sum)
		}
		p.Cut(0)
		whole := addTo(&p, nil, b, 0)
		if sum, ok := p.Sum(int64(len(whole))); !ok || sum != CRC32C(whole) {
			t.Errorf("%s: once it is empty again, sum %08x, known %v", name, sum, ok)
		}
	}
}

func TestPartsAreBounded(t *testing.T) {
	var p Parts
	for i := range int64(PartsMax) {
		addTo(&p, nil, []byte{1}, 2*i)
	}
	if _, ok := p.Sum(2 * PartsMax); !ok {
		t.Error("as many ranges as allowed, and no sum")
	}
	addTo(&p, nil, []byte{1}, 2*PartsMax)
	if _, ok := p.Sum(1 << 20); ok || len(p.list) > 0 {
		t.Errorf("%d ranges are kept", len(p.list))
	}
}

func FuzzParts(f *testing.F) {
	f.Add(uint64(1), []byte{0, 10, 3, 200, 9, 9})
	f.Add(uint64(2), []byte{255, 255, 0, 255, 128, 1})
	f.Fuzz(func(t *testing.T, seed uint64, moves []byte) {
		var p Parts
		var whole []byte
		for i := 0; i+1 < len(moves); i += 2 {
			off, n := int64(moves[i])*700, int(moves[i+1])*60
			if moves[i+1] < 8 {
				p.Cut(off)
				whole = append(whole[:min(off, int64(len(whole)))], make([]byte, max(0, off-int64(len(whole))))...)
				continue
			}
			whole = addTo(&p, whole, randomBytes(seed+uint64(i), n), off)
		}
		if sum, ok := p.Sum(int64(len(whole))); ok && sum != CRC32C(whole) {
			t.Fatalf("sum %08x, want %08x", sum, CRC32C(whole))
		}
	})
}
