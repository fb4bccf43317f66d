package direct

import (
	"testing"
	"time"
)

// line simulates a path with a rate in bytes a second and a round trip. Answers come in the order of the requests.
type line struct {
	rate float64
	trip time.Duration
}

// run reads size bytes with a window over the line, on a simulated clock. It returns the total time, and the longest time
// of one read after the first warm bytes.
func (l line) run(w *window, size, block, warm int64) (all, longest time.Duration) {
	type inFlight struct {
		n        int64
		sent, at time.Duration
	}
	var queue []inFlight
	var now, busy time.Duration // busy: time until which the line transfers
	var off, flying, got int64
	for got < size {
		for off < size && (len(queue) == 0 || flying < w.size) {
			n := w.next(off, size, block)
			busy = max(busy, now+l.trip) + time.Duration(float64(n)/l.rate*1e9)
			queue = append(queue, inFlight{n, now, busy})
			off += n
			flying += n
		}
		first := queue[0]
		queue = queue[1:]
		now = max(now, first.at)
		took := first.at - first.sent
		w.took(first.n, took)
		flying -= first.n
		if got += first.n; got > warm {
			longest = max(longest, took)
		}
	}
	return now, longest
}

// TestWindowFillsEveryLine checks that a line is busy nearly all the time, whatever its rate and round trip, and that no
// read takes so long that its node counts as slow (3 s for reads that usually take long).
func TestWindowFillsEveryLine(t *testing.T) {
	for name, c := range map[string]struct {
		line
		size  int64
		least float64 // fraction of the rate
	}{
		"a modem":               {line{300e3, 50 * time.Millisecond}, 20 << 20, 0.95},
		"a home":                {line{6e6, 20 * time.Millisecond}, 200 << 20, 0.95},
		"100 Mbit/s":            {line{12e6, time.Millisecond}, 400 << 20, 0.95},
		"10 Gbit/s":             {line{1.2e9, 200 * time.Microsecond}, 10 << 30, 0.95},
		"across the ocean":      {line{125e6, 90 * time.Millisecond}, 4 << 30, 0.9},
		"around half the world": {line{60e6, 200 * time.Millisecond}, 4 << 30, 0.9},
	} {
		w := newWindow(4 << 20)
		took, longest := c.run(&w, c.size, 1<<20, c.size/4)
		if share := float64(c.size) / c.rate / took.Seconds(); share < c.least {
			t.Errorf("%s: %.2f of the rate, window %d", name, share, w.size)
		}
		if longest > 2100*time.Millisecond {
			t.Errorf("%s: a read takes %v", name, longest)
		}
	}
}

func TestWindowIsBounded(t *testing.T) {
	for row, most := range map[int64]int64{256 << 10: windowGood, 10 << 20: 20 << 20, 160 << 20: windowMost} {
		w := newWindow(row)
		for range 1000 {
			w.took(chunkLarge, time.Millisecond)
		}
		if w.size != most {
			t.Errorf("rows of %d: %d in flight, want %d", row, w.size, most)
		}
		for range 1000 {
			w.took(chunkLarge, time.Minute)
		}
		if w.size != windowLeast {
			t.Errorf("rows of %d: %d in flight at least", row, w.size)
		}
	}
}

// TestReadsAreOfOnePiece checks that reads follow each other without a gap, and that none crosses the end of a block.
func TestReadsAreOfOnePiece(t *testing.T) {
	for _, block := range []int64{64 << 10, 68 << 10, 1 << 20, 3<<20 + 4096, 16 << 20} {
		for _, size := range []int64{windowLeast, chunkLargeFrom} {
			w := window{size: size}
			const begin, end = 12_345, 40<<20 + 1
			off := int64(begin)
			for off < end {
				n := w.next(off, end, block)
				if n <= 0 || n > chunkLarge || off/block != (off+n-1)/block {
					t.Fatalf("blocks of %d: %d bytes at %d", block, n, off)
				}
				off += n
			}
			if off != end {
				t.Errorf("blocks of %d: the reads end at %d", block, off)
			}
		}
	}
}
