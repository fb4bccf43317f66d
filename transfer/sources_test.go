package transfer_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// openings are peers that remember which pieces are opened.
type openings struct {
	piece.Peers

	mu     sync.Mutex
	pieces []uint8 // in order; guarded by mu
}

// Open implements piece.Peers.
func (p *openings) Open(ctx context.Context, at piece.Remote, token string) (piece.Reader, error) {
	p.mu.Lock()
	p.pieces = append(p.pieces, at.Index)
	slices.Sort(p.pieces)
	p.mu.Unlock()
	return p.Peers.Open(ctx, at, token)
}

// TestACopyReadsWhatComesFirst: the manager puts the sources first that are to be read; others are read if one of these fails.
func TestACopyReadsWhatComesFirst(t *testing.T) {
	b := newMemoryBench(t, 7)
	b.layout = small(hemera.ReedSolomon(4, 2))
	file := b.put(70, content(3<<20), 2, 3, 4, 5, 6, 7)
	h := b.hosts[0].host
	peers := &openings{Peers: h.Peers}
	h.Peers = peers
	j := b.job(file, 1, 2)
	for _, i := range []uint8{5, 3, 1, 4, 0} {
		j.Sources = append(j.Sources, target(int(i)+2, i))
	}
	for _, want := range [][]uint8{{1, 3, 4, 5}, {0, 1, 3, 4, 5}} {
		peers.pieces = nil
		if n, err := h.Jobs().Copy(t.Context(), j); n == 0 || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
		if !slices.Equal(peers.pieces, want) {
			t.Errorf("pieces %v were opened, want %v", peers.pieces, want)
		}
		// The second copy finds neither the first nor piece 3.
		for at, index := range map[int]uint8{0: 2, 4: 3} {
			if err := b.hosts[at].disk.Remove(hemera.PieceID{File: file.File, Gen: file.Gen, Index: index}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
