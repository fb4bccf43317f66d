package transfer_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"hemera"
	"hemera/core/transfer"
)

// openings are peers that remember which pieces are opened.
type openings struct {
	transfer.Peers

	mu     sync.Mutex
	pieces []uint8 // in order; guarded by mu
}

// Open implements transfer.Peers.
func (p *openings) Open(ctx context.Context, at transfer.RemotePiece, token string) (transfer.PeerReader, error) {
	p.mu.Lock()
	p.pieces = append(p.pieces, at.Index)
	slices.Sort(p.pieces)
	p.mu.Unlock()
	return p.Peers.Open(ctx, at, token)
}

// TestACopyReadsWhatComesFirst: the manager puts the sources first that are to be read. Others are read if one of these fails, or
// if fewer of them are enough.
func TestACopyReadsWhatComesFirst(t *testing.T) {
	for _, c := range []struct {
		name    string
		layout  hemera.Layout
		index   uint8   // of the piece to make
		sources []uint8 // as the manager orders them
		gone    []uint8 // pieces that are not there
		want    []uint8 // pieces that are asked for
	}{
		{"parity first", hemera.ReedSolomon(4, 2), 2, []uint8{5, 3, 1, 4, 0}, nil, []uint8{1, 3, 4, 5}},
		{"data first", hemera.ReedSolomon(4, 2), 5, []uint8{0, 3, 1, 2, 4}, nil, []uint8{0, 1, 2, 3}},
		{"one is gone", hemera.ReedSolomon(4, 2), 2, []uint8{5, 3, 1, 4, 0}, []uint8{3}, []uint8{0, 1, 3, 4, 5}},
		{"a group is fewer", hemera.Local(4, 2, 2), 0, []uint8{7, 6, 5, 3, 2, 1, 4}, nil, []uint8{1, 4}},
		{"the piece itself", hemera.ReedSolomon(4, 2), 2, []uint8{5, 3, 1, 4, 0, 2}, nil, []uint8{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pieces := int(c.layout.Pieces)
			b := newMemoryBench(t, pieces+1)
			b.layout = small(c.layout)
			on := make([]int, pieces)
			for i := range on {
				on[i] = i + 2
			}
			file := b.put(70, content(3<<20), on...)
			for _, i := range c.gone {
				if err := b.hosts[i+1].disk.Remove(hemera.PieceID{File: file.File, Gen: file.Gen, Index: i}); err != nil {
					t.Fatal(err)
				}
			}
			h := b.hosts[0].host
			peers := &openings{Peers: h.Peers}
			h.Peers = peers
			j := b.job(file, 1, c.index)
			for _, i := range c.sources {
				j.Sources = append(j.Sources, target(int(i)+2, i))
			}
			if n, err := h.Copy(t.Context(), j); n == 0 || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
			if !slices.Equal(peers.pieces, c.want) {
				t.Errorf("pieces %v were opened, want %v", peers.pieces, c.want)
			}
		})
	}
}
