package direct

import "time"

// Bounds of what a reader has in flight, in bytes, and of one read.
const (
	windowFirst, windowLeast = 1 << 20, 512 << 10
	windowGood               = 16 << 20 // as much as a sequential stream of package xrootd has
	windowMost               = 64 << 20
	chunkSmall, chunkLarge   = 256 << 10, 1 << 20
	chunkLargeFrom           = 2 << 20 // window
)

// Reads may take this much longer than the fastest did before the window grows no more, or becomes smaller.
const (
	growBelow, shrinkAbove = 200 * time.Millisecond, 400 * time.Millisecond
	// growNever and shrinkAlways are well below the time after which a read counts as slow.
	growNever, shrinkAlways = time.Second, 2 * time.Second
)

// window decides how many bytes a reader has in flight: as many as keep all nodes busy, but not so many that they wait for
// each other. A read that waits long behind others of the same reader would look like one of a node that is slow, and its
// bytes be computed from even more reads. window is pure; times come in.
type window struct {
	size, most int64
	fastest    time.Duration // read so far
	settle     int64         // bytes that were in flight when it became smaller: they tell nothing of the new size
}

// newWindow is for files with rows of so many bytes. Two rows keep all data pieces busy while the first of them is used.
func newWindow(row int64) window {
	return window{size: windowFirst, most: min(max(2*row, windowGood), windowMost)}
}

// took takes note of a read of n bytes.
func (w *window) took(n int64, d time.Duration) {
	if w.fastest == 0 || d < w.fastest {
		w.fastest = d
	}
	w.settle = max(w.settle-n, 0)
	switch {
	case d > min(4*w.fastest+shrinkAbove, shrinkAlways):
		if w.settle == 0 {
			w.settle = w.size
			w.size = max(w.size/2, windowLeast)
		}
	case d < min(2*w.fastest+growBelow, growNever):
		w.size = min(w.size+n, w.most) // doubled once all of it was read
	}
}

// next is how many bytes the next read has, at off of a file with blocks of the size. No read is of two pieces.
func (w *window) next(off, end, block int64) int64 {
	chunk := int64(chunkLarge)
	if w.size < chunkLargeFrom {
		chunk = chunkSmall
	}
	in := off % block
	return min(chunk-in%chunk, block-in, end-off)
}
