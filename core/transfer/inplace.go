package transfer

import (
	"sync/atomic"
	"time"

	"hemera"
	"hemera/errs"
)

// inPlace is the call that a write with one piece makes to its disk on its caller's goroutine, which
// may never come back from it. Others look at it without the write's lock, which that goroutine holds.
type inPlace struct {
	began atomic.Int64 // since the write's beginning, in nanoseconds; 0 between calls
	disk  atomic.Uint32
	over  atomic.Bool // one took too long
}

// do makes one call to a disk.
func (i *inPlace) do(d hemera.DiskID, since time.Time, call func() error) error {
	i.disk.Store(uint32(d))
	i.began.Store(max(1, int64(time.Since(since))))
	err := call()
	i.began.Store(0)
	if i.over.Load() {
		return i.silent()
	}
	return err
}

func (i *inPlace) silent() error {
	return notAnswered(errs.IO, hemera.DiskID(i.disk.Load()), diskPatience)
}

// Stalled implements hemera.Staller. It is I/O and no timeout: asking again is of no use, and stock
// clients begin a copy anew for it, at another disk.
func (w *Writer) Stalled() error {
	if !w.inPlace.over.Load() {
		began := w.inPlace.began.Load()
		if began == 0 || time.Since(w.opened)-time.Duration(began) < diskPatience {
			return nil
		}
		w.inPlace.over.Store(true)
	}
	return w.inPlace.silent()
}

// enter takes the write's lock, unless who has it may never give it back.
func (w *Writer) enter() error {
	if err := w.Stalled(); err != nil {
		return err
	}
	w.mu.Lock()
	err := w.Stalled()
	if err != nil {
		w.mu.Unlock()
	}
	return err
}
