package disk

import (
	"errors"
	"sync"
	"syscall"

	"hemera"
	"hemera/vfs"
)

const (
	// directFrom is how much of a piece is written through the page cache: what is short may be read
	// again soon, and is too little to gain much.
	directFrom = 16 << 20
	// directStep is how much goes to the device at once: enough for a disk that has to move its heads.
	directStep = 4 << 20
	// directPieces is how many pieces of a disk may be written so at a time, with two steps of memory
	// each; further ones go through the page cache.
	directPieces = 4
)

// behind writes the rest of a long piece past the page cache, a step behind the client: one step is
// filled while the one before is on its way to the device. The data of a durable piece has to reach the
// device before its close is answered anyway, and this way costs the processor a fifth.
//
// It ends with the first call that does not go on where the last one ended, or that asks for what was
// written; the piece is then as if it had been written the usual way.
type behind struct {
	disk  *Disk
	whole vfs.File // the piece's file
	file  vfs.File // the same, opened for direct writes

	mu     sync.Mutex
	steps  *steps
	n      int        // bytes in the step that is being filled
	off    int64      // of that step
	flying chan error // of the other step; nil if there is none
	ended  bool
}

// steps are the two parts of a behind's memory: the one being filled, and the one on its way. Memory of
// this size begins at a page border, as direct writes want it.
type steps struct{ fill, fly *[directStep]byte }

var spareSteps = sync.Pool{New: func() any { return &steps{new([directStep]byte), new([directStep]byte)} }}

// newBehind begins at off, a page border. It is nil when the file cannot be written so, or when enough
// of the disk's pieces are.
func newBehind(d *Disk, f vfs.File, off int64) *behind {
	again, ok := f.(vfs.Directable)
	if !ok {
		return nil
	}
	select {
	case d.directs <- struct{}{}:
	default:
		return nil
	}
	file, err := again.OpenDirect()
	if err != nil {
		<-d.directs
		return nil
	}
	return &behind{disk: d, whole: f, file: file, steps: spareSteps.Get().(*steps), off: off}
}

// write takes p, if it goes on where the last one ended. An error may be that of an earlier write.
func (b *behind) write(p []byte, off int64) (taken bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return false, nil
	}
	if off != b.off+int64(b.n) {
		return false, b.end(true)
	}
	for len(p) > 0 {
		k := copy(b.steps.fill[b.n:], p)
		b.n, p = b.n+k, p[k:]
		if b.n == directStep {
			if err := b.send(); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// send puts the full step on its way, when the one before has arrived. It is called with mu held.
func (b *behind) send() error {
	if err := b.settle(); err != nil {
		return err
	}
	s, off, flying := b.steps, b.off, make(chan error, 1)
	s.fill, s.fly = s.fly, s.fill
	step := s.fly
	b.flying, b.n, b.off = flying, 0, off+directStep
	go func() { flying <- b.put(step[:], off) }()
	return nil
}

// put writes a step. What the file does not take directly, for its alignment, it takes the usual way.
func (b *behind) put(p []byte, off int64) error {
	start := b.disk.gauge.start()
	_, err := b.file.WriteAt(p, off)
	if errors.Is(err, syscall.EINVAL) {
		_, err = b.whole.WriteAt(p, off)
	}
	b.disk.gauge.wrote(start, len(p))
	return err
}

// settle waits for what is on its way. It is called with mu held.
func (b *behind) settle() error {
	if b.flying == nil {
		return nil
	}
	err := <-b.flying
	b.flying = nil
	return err
}

// finish brings all that was taken into the file, and is the end.
func (b *behind) finish() error { return b.stop(true) }

// abandon waits for the device and drops what is in memory.
func (b *behind) abandon() { _ = b.stop(false) }

func (b *behind) stop(keep bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.end(keep)
}

// end is called with mu held.
func (b *behind) end(keep bool) error {
	if b.ended {
		return nil
	}
	b.ended = true
	err := b.settle()
	if err == nil && keep && b.n > 0 {
		start := b.disk.gauge.start()
		_, err = b.whole.WriteAt(b.steps.fill[:b.n], b.off)
		b.disk.gauge.wrote(start, b.n)
	}
	spareSteps.Put(b.steps)
	b.steps = nil
	_ = b.file.Close()
	<-b.disk.directs
	return err
}

// goesPast reports whether a durable piece may leave the page cache at off.
func (d *Disk) goesPast(off int64) bool {
	return d.opt.DirectFrom >= 0 && off >= d.opt.DirectFrom && off%hemera.PageSize == 0
}

// past is the way past the page cache for a write at off, if the piece is or can now be written so.
func (w *writer) past(off int64) *behind {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opt.Durable && !w.tried && off == w.run && w.disk.goesPast(off) {
		w.tried = true
		w.behind = newBehind(w.disk, w.file, off)
		if w.behind != nil && w.hint != nil {
			w.hint.StartWriteback(w.begun, off-w.begun)
			w.begun, w.written = off, 0
		}
	}
	return w.behind
}

// put writes data, one way or the other, and reports whether it is in the page cache.
func (w *writer) put(p []byte, off int64) (cached bool, err error) {
	if b := w.past(off); b != nil {
		if taken, err := b.write(p, off); taken || err != nil {
			return false, err
		}
	}
	start := w.disk.gauge.start()
	_, err = w.file.WriteAt(p, off)
	w.disk.gauge.wrote(start, len(p))
	return true, err
}

// settled is usable for calls that need the data in the file.
func (w *writer) settled(op string) error {
	if err := w.usable(op); err != nil {
		return err
	}
	w.mu.Lock()
	b := w.behind
	w.mu.Unlock()
	if b == nil {
		return nil
	}
	err := b.finish()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		return w.fail(err, op)
	}
	return w.failure
}
