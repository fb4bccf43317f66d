package direct

import "time"

// Bounds of the bytes that a reader has in flight, and of one read.
const (
	windowFirst, windowLeast = 1 << 20, 512 << 10
	windowGood               = 16 << 20 // as for a sequential stream of package xrootd
	windowMost               = 64 << 20
	chunkSmall, chunkLarge   = 256 << 10, 1 << 20
	chunkLargeFrom           = 2 << 20 // window
)

// Reads may take this much longer than the fastest so far before the window stops growing, or becomes smaller.
const (
	growBelow, shrinkAbove = 200 * time.Millisecond, 400 * time.Millisecond
	// growNever and shrinkAlways are well below the time after which a read counts as slow.
	growNever, shrinkAlways = time.Second, 2 * time.Second
)

// window decides how many bytes a reader has in flight: enough to keep all nodes busy, but not so many that they wait for
// each other. A read that waits long behind others of the same reader would look like a slow node, and its bytes would be
// computed from even more reads. window is pure; the caller passes times.
type window struct {
	size, most int64
	fastest    time.Duration // read so far
	settle     int64         // bytes that were in flight when it became smaller: they do not show the effect of the new size
}

// newWindow returns a window for files with rows of that many bytes. Two rows keep all data pieces busy while the first
// of them is used.
func newWindow(row int64) window {
	return window{size: windowFirst, most: min(max(2*row, windowGood), windowMost)}
}

// took records a read of n bytes.
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

// next returns the number of bytes of the next read, at off of a file with blocks of the size. A read never covers two
// pieces.
func (w *window) next(off, end, block int64) int64 {
	chunk := int64(chunkLarge)
	if w.size < chunkLargeFrom {
		chunk = chunkSmall
	}
	in := off % block
	return min(chunk-in%chunk, block-in, end-off)
}
