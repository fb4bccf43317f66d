package bounded

import (
	"math"
	"os"
	"sync/atomic"

	"hemera/disk"
	"hemera/platform/zerocopy"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// reader is an open piece. A stuck call of it does not keep others from being made. The reader is closed when the last
// stuck one has returned.
type reader struct {
	store *Store
	name  string // the id in words
	inner disk.Reader
	// memory is inner, if it tells what memory answers; else nil.
	memory disk.MemoryReader

	calls atomic.Int64 // in progress, stuck ones too; once the reader is closed, math.MinInt64 plus that
}

func newReader(s *Store, inner disk.Reader) *reader {
	r := &reader{store: s, name: inner.Stat().ID.String(), inner: inner}
	r.memory, _ = inner.(disk.MemoryReader)
	return r
}

// Wait implements [disk.Waiter]: it makes a step of a call by a worker. The reader stays open meanwhile.
func (r *reader) Wait(step func()) (ended bool) {
	_, err := r.number("disk.Read", func() (int64, error) {
		step()
		return 0, nil
	})
	return err == nil
}

// acquire keeps the piece open for a call.
func (r *reader) acquire(op string) error {
	for {
		n := r.calls.Load()
		if n < 0 {
			return errs.New(errs.BadHandle, op, r.name, "the reader is closed")
		}
		if r.calls.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

// release ends a call. The last one of a reader that is closed closes the piece.
func (r *reader) release() {
	if r.ends() {
		r.closeInner()
	}
}

// ends reports whether the call that ends was the last one of a reader that is closed.
func (r *reader) ends() bool { return r.calls.Add(-1) == math.MinInt64 }

// closeInner closes the piece, by a worker as far as that may wait for the device.
func (r *reader) closeInner() {
	last := closer{r.store, r.name}
	if r.memory != nil {
		r.memory.CloseBy(last)
		return
	}
	last.Wait(func() { _ = r.inner.Close() })
}

// closer makes the last call of a reader.
type closer struct {
	store *Store
	name  string // of the reader
}

// Wait implements [disk.Waiter].
func (c closer) Wait(step func()) (ended bool) {
	err := c.store.call(kind{"disk.Close", final, closeLimit}, c.name, func() error {
		step()
		return nil
	}, nil)
	return err == nil
}

// releaseLate ends a call whose caller has been answered.
func releaseLate(c *call) {
	if c.reader.ends() {
		_ = c.reader.inner.Close() // this is a worker
	}
}

// made makes the call.
func (r *reader) made(c *call) (int, error) {
	err := r.store.device.do(c)
	if err != nil {
		if !c.stalled { // the call was not made
			r.release()
		}
		return 0, err
	}
	n, err := c.n, c.err
	r.store.device.free(c)
	r.release()
	return n, err
}

// ReadPages implements [disk.Reader]. Pages in memory are read on the caller's goroutine.
func (r *reader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	const op = "disk.Read"
	if r.memory == nil {
		return r.readPages(op, p, sums, off)
	}
	if err := r.acquire(op); err != nil {
		return 0, err
	}
	n, err, all := r.memory.ReadCached(r, p, sums, off)
	r.release()
	if all {
		return n, err
	}
	if n > 0 && sums != nil {
		sums = sums[checksum.Fragments(off, n):]
	}
	more, err := r.readPages(op, p[n:], sums, off+int64(n))
	return n + more, err
}

// Cached does what ReadPages does, as far as memory has the pages: it does not wait for the device. It reports whether
// memory had all; else the contents of p and sums mean nothing.
func (r *reader) Cached(p []byte, sums []uint32, off int64) (n int, err error, all bool) {
	if r.memory == nil || r.acquire("disk.Read") != nil {
		return 0, nil, false
	}
	defer r.release()
	return r.memory.ReadCached(r, p, sums, off)
}

// readPages reads by a worker.
func (r *reader) readPages(op string, p []byte, sums []uint32, off int64) (int, error) {
	if err := r.acquire(op); err != nil {
		return 0, err
	}
	c := r.store.device.newCall(kind{op, use, callLimit}, r.name)
	c.reader, c.run, c.late = r, readByWorker, releaseLate
	c.p, c.sums, c.off = p, sums, off
	return r.made(c)
}

func readByWorker(c *call) { c.n, c.err = c.reader.inner.ReadPages(c.p, c.sums, c.off) }

// number makes a call that returns one number.
func (r *reader) number(op string, ask func() (int64, error)) (int64, error) {
	if err := r.acquire(op); err != nil {
		return 0, err
	}
	answer := new(int64)
	c := r.store.device.newCall(kind{op, use, callLimit}, r.name)
	c.reader, c.late = r, releaseLate
	c.run = func(c *call) { *answer, c.err = ask() }
	if _, err := r.made(c); err != nil {
		return 0, err
	}
	return *answer, nil
}

// NextData implements [disk.Reader].
func (r *reader) NextData(off int64) (int64, error) {
	return r.number("disk.NextData", func() (int64, error) { return r.inner.NextData(off) })
}

// Allocated implements [disk.Reader].
func (r *reader) Allocated() (int64, error) { return r.number("disk.Allocated", r.inner.Allocated) }

// Stat implements [disk.Reader], from memory.
func (r *reader) Stat() hemera.PieceStat { return r.inner.Stat() }

// Verified implements [disk.Reader], from memory.
func (r *reader) Verified(off, n int64) (*os.File, bool) {
	if r.memory != nil {
		return r.memory.VerifiedBy(r, off, n)
	}
	return r.inner.Verified(off, n)
}

// Splice implements [disk.Reader], from memory.
func (r *reader) Splice(pipe *zerocopy.Pipe, off, n int64) int64 {
	if r.memory != nil {
		return r.memory.SpliceBy(r, pipe, off, n)
	}
	return r.inner.Splice(pipe, off, n)
}

// Verify implements [disk.Reader]: it is as long as the piece, so each of its reads is a call.
func (r *reader) Verify() (bad []int64, err error) { return disk.VerifyPages(r) }

// Close implements [disk.Reader]. If calls of the reader are stuck, the last of them closes it.
func (r *reader) Close() error {
	for {
		n := r.calls.Load()
		if n < 0 {
			return nil // closed before
		}
		if r.calls.CompareAndSwap(n, n+math.MinInt64) {
			if n == 0 {
				r.closeInner()
			}
			return nil
		}
	}
}
