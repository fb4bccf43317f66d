package bounded

import (
	"os"
	"sync"

	"hemera"
	"hemera/core/disk"
	"hemera/errs"
	"hemera/platform/vfs"
)

// reader is an open piece. A stuck call of it does not keep others from being made. The reader is closed when the last
// stuck one has returned.
type reader struct {
	store *Store
	name  string // the id in words
	inner disk.Reader

	mu     sync.Mutex
	calls  int // in progress, stuck ones too
	closed bool
}

func newReader(s *Store, inner disk.Reader) *reader {
	return &reader{store: s, name: inner.Stat().ID.String(), inner: inner}
}

// acquire keeps the piece open for a call.
func (r *reader) acquire(op string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errs.New(errs.BadHandle, op, r.name, "the reader is closed")
	}
	r.calls++
	return nil
}

// release ends a call, and closes the piece if that was the last one of a reader that is closed.
func (r *reader) release() error {
	r.mu.Lock()
	r.calls--
	last := r.closed && r.calls == 0
	r.mu.Unlock()
	if !last {
		return nil
	}
	return r.inner.Close()
}

// releaseLate ends a call whose caller has been answered.
func releaseLate(c *call) { _ = c.reader.release() }

// made makes the call.
func (r *reader) made(c *call) (int, error) {
	err := r.store.device.do(c)
	if err != nil {
		if !c.stalled { // the call was not made
			_ = r.release()
		}
		return 0, err
	}
	n, err := c.n, c.err
	r.store.device.free(c)
	_ = r.release()
	return n, err
}

// ReadPages implements [disk.Reader].
func (r *reader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	const op = "disk.Read"
	if err := r.acquire(op); err != nil {
		return 0, err
	}
	c := r.store.device.newCall(kind{op, use, callLimit}, r.name)
	c.reader, c.run, c.late = r, readPages, releaseLate
	c.p, c.sums, c.off = p, sums, off
	return r.made(c)
}

func readPages(c *call) { c.n, c.err = c.reader.inner.ReadPages(c.p, c.sums, c.off) }

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
func (r *reader) Verified(off, n int64) (*os.File, bool) { return r.inner.Verified(off, n) }

// Splice implements [disk.Reader], from memory.
func (r *reader) Splice(pipe *vfs.Pipe, off, n int64) int64 { return r.inner.Splice(pipe, off, n) }

// Verify implements [disk.Reader]: it is as long as the piece, so each of its reads is a call.
func (r *reader) Verify() (bad []int64, err error) { return disk.VerifyPages(r) }

// Close implements [disk.Reader]. If calls of the reader are stuck, the last of them closes it.
func (r *reader) Close() error {
	r.mu.Lock()
	last := !r.closed && r.calls == 0
	r.closed = true
	r.mu.Unlock()
	if !last {
		return nil
	}
	return r.inner.Close()
}
