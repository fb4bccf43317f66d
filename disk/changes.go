package disk

import (
	"sync/atomic"
	"time"
)

const (
	// changesFirst is the time after an open in which the number of changes stays as it was found: the manager compares
	// it with what it knows when the node registers, and an older copy of the disk must not have caught up by then.
	changesFirst = time.Minute
	// changesEvery is the interval at which the number grows while the disk changes. A copy that is older by less cannot
	// be told from the disk. Each time costs one seal two syncs of a small file.
	changesEvery = 10 * time.Minute
)

// changes is a number in the disk's label that grows while the disk changes. A disk with a lower number than it once had is an
// older copy of itself.
type changes struct {
	number atomic.Uint64
	next   atomic.Int64 // when the number may grow again, in Unix nanoseconds; who moves it makes the number grow
}

// init takes the number that was found in the label.
func (c *changes) init(found uint64, now time.Time) {
	c.number.Store(found)
	c.next.Store(now.Add(changesFirst).UnixNano())
}
