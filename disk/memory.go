package disk

import (
	"os"

	"hemera/platform/zerocopy"
	"hemera/words/hemera"
)

// Waiter makes the steps of a call that may wait for the device, for a caller that must not.
type Waiter interface {
	// Wait makes the step, and reports whether it has ended. If not, it may end later: it has no buffers of the
	// caller.
	Wait(step func()) (ended bool)
}

// MemoryReader is a Reader that tells apart what memory answers from what may wait for the device. The first is done
// on the caller's goroutine, the second by the Waiter; a nil one does it at once.
type MemoryReader interface {
	// ReadCached is ReadPages as far as memory has the pages and their checksums. Unless all, the rest must be
	// read otherwise, from off+n on.
	ReadCached(wait Waiter, p []byte, sums []uint32, off int64) (n int, err error, all bool)
	// VerifiedBy is Verified; pages that are not verified yet are verified by the Waiter.
	VerifiedBy(wait Waiter, off, n int64) (f *os.File, ok bool)
	// SpliceBy is Splice; pages that are not verified yet are verified by the Waiter.
	SpliceBy(wait Waiter, pipe *zerocopy.Pipe, off, n int64) int64
	// CloseBy is Close; files are closed by the Waiter.
	CloseBy(wait Waiter)
}

// MemoryStore is a Store that keeps pieces open.
type MemoryStore interface {
	// OpenHeld is Open if the piece is open already, and false otherwise. It answers from memory.
	OpenHeld(id hemera.PieceID) (Reader, bool)
}

// Holds reports whether a store has a piece open now, so that another open of it waits for no device.
func Holds(store Store, id hemera.PieceID) bool {
	if memory, ok := store.(MemoryStore); ok {
		if held, ok := memory.OpenHeld(id); ok {
			return held.Close() == nil
		}
	}
	return false
}
