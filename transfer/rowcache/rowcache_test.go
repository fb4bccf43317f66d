package rowcache

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"hemera/rules/erasure"
)

const size = 1 << 20

// filled returns a fetch that counts its calls.
func filled(calls *atomic.Int64, with byte) func([]byte) error {
	return func(b []byte) error {
		calls.Add(1)
		for i := range b {
			b[i] = with
		}
		return nil
	}
}

func mustBlock(t *testing.T, c *Cache, at int64, piece int, calls *atomic.Int64) {
	t.Helper()
	b, err := c.Block(at, piece, size, filled(calls, byte(piece)))
	if err != nil || len(b) != size || b[0] != byte(piece) || b[size-1] != byte(piece) {
		t.Fatalf("block %d of %d: %d bytes, %v", piece, at, len(b), err)
	}
}

func TestABlockIsReadOnce(t *testing.T) {
	var room Room
	c := New(&room)
	var calls atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		for piece := range 3 {
			group.Go(func() { mustBlock(t, c, 0, piece, &calls) })
		}
	}
	group.Wait()
	if calls.Load() != 3 || room.Used() != 3*size {
		t.Errorf("%d reads, %d bytes kept", calls.Load(), room.Used())
	}
	c.Close()
	if room.Used() != 0 {
		t.Errorf("%d bytes kept after the end", room.Used())
	}
	mustBlock(t, c, 0, 0, &calls)
	if calls.Load() != 4 || room.Used() != 0 {
		t.Errorf("after the end: %d reads, %d bytes kept", calls.Load(), room.Used())
	}
}

func TestAStripGoesWhenItWasTaken(t *testing.T) {
	var room Room
	c := New(&room)
	var calls atomic.Int64
	for _, at := range []int64{0, size} {
		for piece := range 3 {
			mustBlock(t, c, at, piece, &calls)
		}
	}
	c.Take(0, 0, erasure.SetOf(0, 2))
	if room.Used() != 6*size {
		t.Errorf("%d bytes kept while a piece is to be taken", room.Used())
	}
	c.Take(0, 2, erasure.SetOf(0, 2))
	if room.Used() != 3*size {
		t.Errorf("%d bytes kept, want those of the other strip", room.Used())
	}
	c.Take(0, 2, erasure.SetOf(0, 2)) // of a strip that is gone
}

func TestAFailureIsForgotten(t *testing.T) {
	var room Room
	c := New(&room)
	wrong := errors.New("wrong")
	var calls atomic.Int64
	for range 2 {
		_, err := c.Block(0, 1, size, func([]byte) error { calls.Add(1); return wrong })
		if !errors.Is(err, wrong) || room.Used() != 0 {
			t.Errorf("%v, %d bytes kept", err, room.Used())
		}
	}
	if mustBlock(t, c, 0, 1, &calls); calls.Load() != 3 {
		t.Errorf("%d calls", calls.Load())
	}
}

// TestRoomIsBounded: the oldest strips of the same cache go, never another's; without room everything is read as it is
// asked for.
func TestRoomIsBounded(t *testing.T) {
	var room Room
	var caches []*Cache
	var calls atomic.Int64
	for range roomBytes/cacheBytes + 1 {
		c := New(&room)
		caches = append(caches, c)
		for at := range int64(cacheBytes/size + 3) {
			mustBlock(t, c, at, 0, &calls)
		}
		if room.Used() > roomBytes {
			t.Fatalf("%d bytes kept", room.Used())
		}
	}
	before := calls.Load()
	mustBlock(t, caches[0], cacheBytes/size+2, 0, &calls) // the newest
	if calls.Load() != before {
		t.Error("the newest strip is gone")
	}
	mustBlock(t, caches[0], 0, 0, &calls)
	last := caches[len(caches)-1]
	mustBlock(t, last, 0, 0, &calls)
	mustBlock(t, last, 0, 0, &calls)
	if calls.Load() != before+3 {
		t.Errorf("%d reads of strips that cannot be here", calls.Load()-before)
	}
	for _, c := range caches {
		c.Close()
	}
	if room.Used() != 0 {
		t.Errorf("%d bytes kept after the end", room.Used())
	}
}

// TestAWaiterOfADroppedStripIsServed: room may be made for others while a block is being read.
func TestAWaiterOfADroppedStripIsServed(t *testing.T) {
	var room Room
	c := New(&room)
	var calls atomic.Int64
	b, err := c.Block(0, 0, size, func(b []byte) error {
		c.Take(0, 0, erasure.SetOf(0)) // the strip goes
		mustBlock(t, c, 0, 0, &calls)  // and is there again
		b[0] = 7
		return nil
	})
	if err != nil || b[0] != 7 || room.Used() != size {
		t.Errorf("%v, %d bytes kept", err, room.Used())
	}
	c.Close()
	if room.Used() != 0 {
		t.Errorf("%d bytes kept after the end", room.Used())
	}
}
