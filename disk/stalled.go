package disk

import (
	"errors"
	"time"
)

// StalledError says that a device did not answer. Package bounded makes it: the kind of the error around it is
// Timeout if this very call reached its deadline, and Unavailable if the disk was stalled before and the call was
// not made.
//
// After Timeout the call may still run. The buffers that it was given (pages and checksums) belong to it for good:
// the caller must drop them. It must not write to them, reuse them, or put them back into a pool.
type StalledError struct {
	// After is the deadline of the call; zero if the call was not made.
	After time.Duration
	// Since is the beginning of the oldest call that has not returned.
	Since time.Time
}

func (e *StalledError) Error() string {
	if e.After > 0 {
		return "the disk has not answered for " + e.After.String()
	}
	return NotAnswered(e.Since)
}

// KeepsBuffers says that the call may still use the buffers that it was given; see [hemera.KeepsBuffers].
func (e *StalledError) KeepsBuffers() bool { return e.After > 0 }

// IsStalled reports whether err says that a device did not answer. If so, buffers of the call must be dropped; see
// [StalledError].
func IsStalled(err error) bool {
	_, ok := errors.AsType[*StalledError](err)
	return ok
}

// StallReporter is a Store that knows whether its device answers. It answers from memory.
type StallReporter interface {
	// Stalled reports whether calls to the device do not return, as far as is known.
	Stalled() bool
}

// Stalled reports whether the store says that its device does not answer.
func Stalled(store Store) bool {
	s, ok := store.(StallReporter)
	return ok && s.Stalled()
}
