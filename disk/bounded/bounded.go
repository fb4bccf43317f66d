// Package bounded makes every call to a disk return. A device may never answer: a drive that resets for minutes, a
// controller that is gone, a filesystem whose journal waits for either. The kernel keeps the thread that asked, and
// nothing ends such a call. This package is the one place that deals with that. It wraps a [disk.Store], with the
// Writers and Readers that come from it. A caller of the wrapped one may wait for its calls: it needs no goroutine of its
// own for them, and no timer.
//
// # What a caller sees
//
// A call that can block on the device is made by a worker of that disk, while the caller waits. It has a deadline:
// callLimit, or syncLimit if it makes something durable. What takes many steps (Scan, Expire, Scrub, Verify) may last
// as long as its steps return.
//
//   - At its deadline a call fails with [errs.Timeout], and [disk.IsStalled] recognises the error. It may have had its
//     effect, or have it later.
//   - Then the disk is stalled until every such call has returned: its Status says failing, and why. It is so too when
//     calls wait for the device and none has returned for silence.
//   - While a disk is stalled, a call that makes or removes a name fails at once with [errs.Unavailable], which
//     disk.IsStalled recognises too. Calls to open pieces, and opens, are made as long as fewer than probesMax calls are
//     in progress: one bad sector does not take the rest of a disk from its readers.
//
// # Ownership
//
// After a stalled error, the buffers that were given to the call belong to it for good. The caller drops them: it does
// not write to them, does not reuse them, and does not put them into a pool. Nothing that the call returns late is seen
// by anybody. An error of another kind means that the call has ended, and buffers are the caller's again.
//
// # Late results
//
// The worker undoes what comes late: a piece that was begun is aborted, one that was sealed is removed (unless it
// replaced another), one that was opened is closed. After one stalled call a Writer is at its end: its calls fail
// with the same error, and the piece is aborted when the stuck call returns. A Reader goes on.
//
// # Goroutines and locks
//
// A device has at most workersMax workers. They are reused, the last one first, so that their stacks are warm, and end
// when the disk was idle for a while. If all are busy, calls wait in order of arrival; their deadlines run. One watchdog
// a device looks at the calls in progress every watchInterval, so a call needs no timer; it rests while there are none.
// device.mu guards memory only and is never held while a call is made.
//
// # What costs nothing
//
// What memory answers is answered on the caller's goroutine, if the store tells it apart ([disk.MemoryReader],
// [disk.MemoryStore]): Stat, Size, the open of a piece that is open, reads of pages that the page cache has, and the pages
// that Verified and Splice offer. Only what may wait for the device goes to a worker, such as the verification of a window
// before its first splice. One gap remains, in which the caller's goroutine waits as it did before: a mapped page may be reclaimed
// before it is spliced.
//
// A call by a worker costs its caller two switches between goroutines, 1 to 15 microseconds of CPU, most of it for waking an
// idle processor; disk/DESIGN.md has the measurements.
package bounded

import (
	"time"

	"hemera/words/hemera"
)

const (
	// callLimit bounds a call; syncLimit one that makes something durable, and lookLimit a look at label and room.
	callLimit = 30 * time.Second
	syncLimit = 2 * callLimit
	lookLimit = 2 * time.Second
	// longLimit bounds what takes many steps, whatever the steps do.
	longLimit = 10 * time.Minute
	// closeLimit bounds the wait for the end of a disk.
	closeLimit = 5 * time.Second
	// scrubGrace bounds the wait at the end of a scrub for the call that it makes.
	scrubGrace = time.Second
	// silence is the time in which calls wait and none returns, after which the disk is stalled.
	silence = 30 * time.Second
	// watchInterval is the interval at which the watchdog looks at the calls in progress: deadlines are late by up to
	// that.
	watchInterval = 500 * time.Millisecond
	// workersMax bounds the calls in progress: more than any device has in its queue.
	workersMax = 256
	// probesMax bounds the calls in progress on a disk that is stalled.
	probesMax = 16
)

// limitOf returns the limit of a call that seals a piece.
func limitOf(s hemera.SealInfo) time.Duration {
	if s.Sync {
		return syncLimit
	}
	return callLimit
}
