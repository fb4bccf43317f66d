package cluster

import (
	"sync/atomic"
	"time"
)

// A manager whose state is lost with all backups begins with an empty store, and its namespace is made again from the
// pieces on disks. Until an admin says that this is done, the cluster is being rebuilt: clients change nothing, as what
// they would write may be there already, and nodes and disks come back under the ids that they had.

// rebuildRecord is there while the namespace is being rebuilt.
type rebuildRecord struct{ Begun time.Time }

func (rebuildRecord) key() string { return "rebuild" }

// rebuildTable owns the record of a rebuild of the namespace.
type rebuildTable struct {
	begun atomic.Pointer[time.Time] // nil if the namespace is not being rebuilt; read without mu
}

// now reports whether the namespace is being rebuilt. It does not block.
func (t *rebuildTable) now() bool { return t.begun.Load() != nil }
