package cluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"hemera/words/hemera"
)

// removedRecord names a node that was removed a short time ago.
type removedRecord struct {
	ID hemera.NodeID
	At time.Time
}

func (r removedRecord) key() string { return fmt.Sprintf("removed/%08x", uint32(r.ID)) }

// removedTable owns the records of nodes that were removed a short time ago.
type removedTable struct {
	all    map[hemera.NodeID]removedRecord
	barred []hemera.NodeID // of all, as nodes are told; not changed in place
}

// put makes a record true in memory.
func (t *removedTable) put(r removedRecord) {
	t.all[r.ID] = r
	t.barred = slices.Sorted(maps.Keys(t.all))
}

// forget removes a record from memory.
func (t *removedTable) forget(r removedRecord) {
	delete(t.all, r.ID)
	t.barred = slices.Sorted(maps.Keys(t.all))
}
