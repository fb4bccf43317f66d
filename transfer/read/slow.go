package read

import (
	"sync"
	"sync/atomic"

	"hemera/rules/layout"
	"hemera/words/hemera"
)

// slowDisks counts the hedged reads of each disk that have not returned. The zero value is ready; methods may be called concurrently.
type slowDisks struct {
	reads atomic.Int32 // of all disks, so that a reader takes no lock while nothing is slow

	mu    sync.Mutex
	waits map[hemera.DiskID]int // none is zero
}

// Hedged records that a read of the piece with the index is not waited for. Returned must follow when the read has returned.
func (d *slowDisks) Hedged(targets []hemera.Target, index int) { d.add(targets, index, 1) }

// Returned records that such a read has returned.
func (d *slowDisks) Returned(targets []hemera.Target, index int) { d.add(targets, index, -1) }

func (d *slowDisks) add(targets []hemera.Target, index, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waits == nil {
		d.waits = map[hemera.DiskID]int{}
	}
	for _, t := range targets {
		if int(t.Index) != index {
			continue
		}
		d.reads.Add(int32(n))
		if d.waits[t.Disk] += n; d.waits[t.Disk] == 0 {
			delete(d.waits, t.Disk)
		}
	}
}

// Of returns the set of the pieces that are on disks which owe an answer.
func (d *slowDisks) Of(targets []hemera.Target) (set layout.Set) {
	if d.reads.Load() == 0 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range targets {
		if d.waits[t.Disk] > 0 {
			set = set.With(int(t.Index))
		}
	}
	return set
}
