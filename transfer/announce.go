package transfer

import (
	"time"

	"hemera/words/hemera"
)

// A manager has locks and claims in memory. One that was started since the open of a write does not have those of the write, so its head announces
// it: with each new lease, and when a client comes so late that its grant is older than the lease.

// UnderWay counts the writes that are to be announced with the next lease.
func (t *Pending) UnderWay() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		if w, ok := e.work.(*Writer); ok && e.announces(w) {
			n++
		}
	}
	return n
}

// Unannounced returns the writes that were granted before the lease of the epoch, and that no earlier call with it has returned. It reads
// memory only.
func (t *Pending) Unannounced(epoch hemera.Epoch) (list []hemera.OpenWrite) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lease = epoch
	for _, e := range t.entries {
		w, ok := e.work.(*Writer)
		if !ok || e.announced >= epoch || !e.announces(w) || !olderThan(w.head.cap, epoch) {
			continue
		}
		e.announced = epoch
		s := w.snapshot()
		// The first permit has the time until which the lock was held. It is not renewed.
		list = append(list, hemera.OpenWrite{Permit: w.head.granted, Age: time.Since(w.opened), Size: s.size, Idle: time.Since(s.at), Attached: e.refs > 0})
	}
	return list
}

// LateBegin returns the channel that gets a value when [Pending.Unannounced] has one more: a write began whose grant is older than
// the lease of its last call.
func (t *Pending) LateBegin() <-chan struct{} { return t.late }

// announces reports whether a write is one that holds a lock at the manager. One that is kept for a person does not, and neither does a
// conversion. The caller holds mu of the table.
func (e *entry) announces(w *Writer) bool { return !e.kept && !w.awaits() && !w.head.cap.Convert }

// olderThan reports whether a capability was granted before its head had the lease of the epoch.
func olderThan(c *hemera.Capability, epoch hemera.Epoch) bool { return c.Epoch < epoch }

// noteLate wakes the receiver of LateBegin if a write that began is to be announced. The caller holds mu.
func (t *Pending) noteLate(w *Writer) {
	if t.lease == 0 || !olderThan(w.head.cap, t.lease) {
		return
	}
	select {
	case t.late <- struct{}{}:
	default: // it says so already
	}
}
