package disk

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// turn serializes calls to the device that must not run side by side. It is no mutex: it is held while the device
// works, so a caller that waits for it waits for the device, and must be one that may. Turns are first come, first
// served.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// begin blocks until nobody else has the turn; end gives it back.
func (t turn) begin() { t <- struct{}{} }
func (t turn) end()   { <-t }

// sharedTurn is a turn that many may have together, or one alone. One that waits to be alone comes before those that ask later.
type sharedTurn struct{ places *semaphore.Weighted }

// sharedMax bounds the callers that have a sharedTurn together.
const sharedMax = 1 << 30

func newSharedTurn() sharedTurn { return sharedTurn{semaphore.NewWeighted(sharedMax)} }

// begin blocks until nobody else has the turn, beginShare until nobody has it alone.
func (t sharedTurn) begin()      { _ = t.places.Acquire(context.Background(), sharedMax) } // it cannot fail
func (t sharedTurn) end()        { t.places.Release(sharedMax) }
func (t sharedTurn) beginShare() { _ = t.places.Acquire(context.Background(), 1) }
func (t sharedTurn) endShare()   { t.places.Release(1) }
