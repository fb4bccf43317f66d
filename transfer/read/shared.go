package read

import (
	"sync/atomic"

	"hemera/transfer/ahead"
	"hemera/transfer/piece"
	"hemera/transfer/rowcache"
)

// Shared has the state that all readers of one node share: memory, limits, and what they found out about slow disks. The
// zero value reads nothing ahead.
type Shared struct {
	// Ahead bounds what is read ahead of callers that read coded files in order. Without it nothing is. It is set before the
	// first reader and not changed after.
	Ahead ahead.Budget

	pace      pace
	copyReads readLimiter   // of coded files
	hedges    atomic.Int32  // reads that were hedged and have not returned
	slow      slowDisks     // where they went
	spare     piece.Buffers // for what is read to be decoded
	rows      rowcache.Room
}
