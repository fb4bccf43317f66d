package bounded

import (
	"sync/atomic"
	"time"

	"hemera/disk"
	"hemera/words/hemera"
)

// writer is a pending piece. A call of it that is stalled is its end: the calls that follow fail with the same error
// at once, and the piece is aborted when the stuck call returns.
type writer struct {
	store   *Store
	id      hemera.PieceID
	name    string // the id in words
	options disk.CreateOptions
	inner   disk.Writer
	stays   bool                  // an earlier process left the piece: a stuck call does not end it
	stalled atomic.Pointer[error] // of the first call that was stalled
}

func newWriter(s *Store, id hemera.PieceID, o disk.CreateOptions, inner disk.Writer) *writer {
	return &writer{store: s, id: id, name: id.String(), options: o, inner: inner}
}

// failed returns the reason for which the writer refuses calls; nil while it takes them.
func (w *writer) failed() error {
	if err := w.stalled.Load(); err != nil {
		return *err
	}
	return nil
}

// call returns a call to be filled in with what it runs.
func (w *writer) call(op string, limit time.Duration, run func(*call)) *call {
	c := w.store.device.newCall(kind{op, use, limit}, w.name)
	c.writer, c.run, c.late = w, run, abortLate
	if w.stays {
		c.late = nil
	}
	return c
}

// abortLate removes the piece of a call whose caller has been answered.
func abortLate(c *call) { _ = c.writer.inner.Abort() }

// make makes a call, and returns how many bytes it read.
func (w *writer) make(c *call) (int, error) {
	err := w.failed()
	if err == nil {
		err = w.store.device.do(c)
	}
	if err != nil {
		if disk.IsStalled(err) && c.stalled {
			w.stalled.CompareAndSwap(nil, &err)
		}
		return 0, err
	}
	n, err := c.n, c.err
	w.store.device.free(c)
	return n, err
}

// WritePages implements [disk.Writer].
func (w *writer) WritePages(p []byte, sums []uint32, off int64) error {
	c := w.call("disk.Write", callLimit, writePages)
	c.p, c.sums, c.off = p, sums, off
	_, err := w.make(c)
	return err
}

func writePages(c *call) { c.err = c.writer.inner.WritePages(c.p, c.sums, c.off) }

// ReadPages implements [disk.Writer].
func (w *writer) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	c := w.call("disk.Read", callLimit, readBack)
	c.p, c.sums, c.off = p, sums, off
	return w.make(c)
}

func readBack(c *call) { c.n, c.err = c.writer.inner.ReadPages(c.p, c.sums, c.off) }

// NextData implements [disk.Writer].
func (w *writer) NextData(off int64) (int64, error) {
	next := new(int64)
	_, err := w.make(w.call("disk.NextData", callLimit, func(c *call) { *next, c.err = c.writer.inner.NextData(off) }))
	if err != nil {
		return 0, err
	}
	return *next, nil
}

// Truncate implements [disk.Writer].
func (w *writer) Truncate(size int64) error {
	_, err := w.make(w.call("disk.Truncate", callLimit, func(c *call) { c.err = c.writer.inner.Truncate(size) }))
	return err
}

// Clone implements [disk.Cloner]. A copy takes as long as the device gets on with it.
func (w *writer) Clone(base hemera.PieceID, size int64) error {
	_, err := w.make(w.call("disk.Clone", longLimit, func(c *call) { c.err = disk.Clone(c.writer.inner, base, size) }))
	return err
}

// Prove implements [disk.Prover]. A piece that cannot be proved in time stays as it is.
func (w *writer) Prove() (unproved int64, done bool, err error) {
	type result struct {
		unproved int64
		done     bool
	}
	r := new(result)
	c := w.call(opProve, callLimit, func(c *call) {
		p, ok := c.writer.inner.(disk.Prover)
		if r.done = !ok; ok {
			r.unproved, r.done, c.err = p.Prove()
		}
	})
	c.late = nil
	if _, err := w.make(c); err != nil {
		return 0, false, err
	}
	return r.unproved, r.done, nil
}

// Leave implements [disk.Prover].
func (w *writer) Leave() error {
	c := w.call("disk.Leave", callLimit, func(c *call) {
		if p, ok := c.writer.inner.(disk.Prover); ok {
			c.err = p.Leave()
		}
	})
	c.late = nil
	_, err := w.make(c)
	return err
}

// opProve names a proof.
const opProve = "disk.Prove"

// Size implements [disk.Writer], from memory.
func (w *writer) Size() int64 { return w.inner.Size() }

// Sync implements [disk.Writer].
func (w *writer) Sync() error {
	_, err := w.make(w.call("disk.Sync", syncLimit, func(c *call) { c.err = c.writer.inner.Sync() }))
	return err
}

// Seal implements [disk.Writer]. A piece that is sealed late is removed.
func (w *writer) Seal(info hemera.SealInfo) (hemera.PieceStat, error) {
	stat := new(hemera.PieceStat)
	c := w.call("disk.Seal", syncLimit, func(c *call) { *stat, c.err = c.writer.inner.Seal(info) })
	c.late = func(c *call) { w.store.unseal(w.id, w.options, c.err) } // not if it stays
	if _, err := w.make(c); err != nil {
		return hemera.PieceStat{}, err
	}
	return *stat, nil
}

// Abort implements [disk.Writer]. If a call of the writer is stuck, Abort returns its error, and the piece is removed
// when that call returns.
func (w *writer) Abort() error {
	c := w.call("disk.Abort", callLimit, func(c *call) { c.err = c.writer.inner.Abort() })
	c.late = nil
	_, err := w.make(c)
	return err
}
