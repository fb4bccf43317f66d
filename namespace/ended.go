package namespace

import (
	"sync/atomic"
	"time"

	"hemera/words/hemera"
)

// Nearly all writes end without a trace. These figures in memory spare commits the look for records that are not there;
// tombstones.go keeps the records.

// endedWrites has the records, in memory, of writes that are over, or must not be committed as they were opened.
type endedWrites struct {
	first uint64 // all numbers of earlier lives are smaller; set by begin
	// refused counts the writes that this life refused for good, or barred: while there are none, a commit need not look.
	refused atomic.Int64
	barred  expiring // records of schema.TableBarred
	renamed expiring // records of schema.TableRenamed

	// The leader's own: where the tombstones begin that may be old, and when the first of them may be.
	purgeFrom hemera.FileID
	purgeAt   time.Time
}

// begin begins a life: all numbers before first were handed out by earlier ones.
func (e *endedWrites) begin(now time.Time, first uint64) {
	e.first = first
	e.barred.mark(now, first)
}
