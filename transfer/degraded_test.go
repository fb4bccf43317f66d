package transfer_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hemera/rules/layout"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// counting are peers that count the bytes of pieces that are read.
type counting struct {
	piece.Peers
	bytes *atomic.Int64
}

// Open implements piece.Peers.
func (p counting) Open(ctx context.Context, at piece.Remote, token string) (piece.Reader, error) {
	r, err := p.Peers.Open(ctx, at, token)
	return countingReader{r, p.bytes}, err
}

type countingReader struct {
	piece.Reader
	bytes *atomic.Int64
}

// ReadPages implements piece.Reader.
func (r countingReader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	n, err := r.Reader.ReadPages(p, sums, off)
	r.bytes.Add(int64(n))
	return n, err
}

// TestADegradedReadAsksForEachByteOnce: a reader that lacks data pieces and reads the file in order, by windows as doors
// read, in one or several streams, gets from other nodes no more bytes than the file has. So it is whether the first or the
// last data pieces are lost, and at the end of a file that fills no row.
func TestADegradedReadAsksForEachByteOnce(t *testing.T) {
	for _, x := range []struct {
		layout  hemera.Layout
		size    int
		lost    []int // pieces
		windows int   // bytes of one read
		streams int
	}{
		{hemera.ReedSolomon(4, 2), 16 << 20, []int{0, 1}, 512 << 10, 1},
		{hemera.ReedSolomon(4, 2), 16 << 20, []int{2, 3}, 512 << 10, 1},
		{hemera.ReedSolomon(4, 2), 16<<20 + 12345, []int{1, 3}, 512 << 10, 1},
		{hemera.ReedSolomon(4, 2), 18<<20 - 1, []int{0, 3}, 5 << 20, 1},
		{hemera.ReedSolomon(4, 2).WithBlockSize(64 << 10), 4<<20 + 70_000, []int{0, 2}, 512 << 10, 1},
		{hemera.ReedSolomon(2, 1), 32 << 20, []int{1}, 1 << 20, 4},
		{hemera.Local(4, 2, 1), 16 << 20, []int{3}, 512 << 10, 1},
	} {
		t.Run(fmt.Sprintf("%s/%v/%d/%d", x.layout, x.lost, x.size, x.streams), func(t *testing.T) {
			pieces := int(x.layout.Pieces)
			b := newMemoryBench(t, pieces+1)
			b.layout = x.layout
			want := content(x.size)
			// The reader is on a node that has no piece, so all it reads crosses the network.
			on := make([]int, pieces)
			for i := range on {
				on[i] = i + 2
			}
			c := b.put(70, want, on...)
			for _, i := range x.lost {
				if err := b.hosts[i+1].disk.Remove(hemera.PieceID{File: c.File, Gen: c.Gen, Index: uint8(i)}); err != nil {
					t.Fatal(err)
				}
			}
			var moved atomic.Int64
			h := b.hosts[0].host
			h.Peers = counting{h.Peers, &moved}
			token, _ := b.read(c)
			f := b.open(1, token, hemera.NodeOpen{})
			got := make([]byte, len(want))
			// The reader finds out what is lost.
			for _, i := range x.lost {
				if _, err := f.ReadPages(got[:1], nil, int64(i)*int64(x.layout.BlockSize)); err != nil {
					t.Fatal(err)
				}
			}
			moved.Store(0)
			part := (len(want)/x.streams + 4095) / 4096 * 4096
			var group sync.WaitGroup
			for s := range x.streams {
				group.Go(func() {
					for off := s * part; off < min((s+1)*part, len(want)); off += x.windows {
						if _, err := f.ReadPages(got[off:min(off+x.windows, (s+1)*part, len(want))], nil, int64(off)); err != nil {
							t.Errorf("at %d: %v", off, err)
							return
						}
					}
				})
			}
			group.Wait()
			if !bytes.Equal(got, want) {
				t.Error("it was read wrong")
			}
			// The last row may be short, and is decoded with all of its parity; a local code needs its other group as well.
			most := int64(len(want)) + int64(x.layout.BlockSize)*int64(layout.Count(x.layout, int64(len(want))))
			if x.layout.Local > 0 {
				most = most * 5 / 4
			}
			if moved.Load() > most {
				t.Errorf("%d bytes from other nodes for a file of %d", moved.Load(), len(want))
			}
			if h.Counters.Rebuilt.Load() == 0 {
				t.Error("nothing was rebuilt")
			}
			if err := f.End(t.Context(), hemera.EndClose); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSlowPiecesAreStillPieces: a file has lost a piece and has one to spare, and two of the others are slow at the same
// time, each longer than a read is waited for. That is a slow read, and no error; so it is when they are slow in turn.
func TestSlowPiecesAreStillPieces(t *testing.T) {
	for _, takes := range []map[uint8]time.Duration{
		{1: 5 * time.Second, 2: 5 * time.Second},
		{1: 5 * time.Second, 2: 8 * time.Second, 4: 6 * time.Second},
		{1: 4 * time.Second, 2: 4 * time.Second, 3: 4 * time.Second, 4: 4 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newMemoryBench(t, 6)
			b.layout = small(hemera.ReedSolomon(3, 2))
			b.noSmall()
			want := content(200_000)
			c := b.put(70, want, 2, 3, 4, 5, 6)
			if err := b.hosts[1].disk.Remove(hemera.PieceID{File: c.File, Gen: c.Gen, Index: 0}); err != nil {
				t.Fatal(err)
			}
			h := b.hosts[0].host
			h.Peers = delayed{h.Peers, takes}
			token, _ := b.read(c)
			f := b.open(1, token, hemera.NodeOpen{})
			var group sync.WaitGroup
			for off := 0; off < len(want); off += 40_960 {
				group.Go(func() {
					for tries := 0; ; tries++ {
						got := make([]byte, min(40_960, len(want)-off))
						n, err := f.ReadPages(got, nil, int64(off))
						if hemera.KeepsBuffers(err) && tries < 3 { // as doors do
							continue
						}
						if err != nil || !bytes.Equal(got[:n], want[off:off+n]) {
							t.Errorf("%v: at %d: %d bytes, %v", takes, off, n, err)
						}
						return
					}
				})
			}
			group.Wait()
			if err := f.End(t.Context(), hemera.EndClose); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		})
	}
}
