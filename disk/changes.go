package disk

import (
	"fmt"
	"sync/atomic"
	"time"

	"hemera/words/errs"
)

const (
	// changesFirst is how long after an open the number of changes stays as it was found: the manager compares it with what it
	// knows when the node registers, and an older copy of the disk must not have caught up by then.
	changesFirst = time.Minute
	// changesEvery is how often the number grows while the disk changes. It bounds how much older a copy may be and not be
	// told from the disk. Each time costs one seal two syncs of a small file.
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

// changed says that the disk has another piece, or one less: it makes the number grow, durably, when it is time. The piece does not depend on
// it, so a failure is only logged, and counted.
func (d *Disk) changed() {
	c, now := &d.changes, d.opt.Now()
	next := c.next.Load()
	if now.UnixNano() < next || !c.next.CompareAndSwap(next, now.Add(changesEvery).UnixNano()) { // another one does it
		return
	}
	if err := d.count(); err != nil {
		d.opt.Log.Error("that the disk changes is not in its label", "disk", d.path, "error", err)
	}
}

// count makes the number grow by one.
func (d *Disk) count() error {
	const op = "disk.Count"
	l, err := readLabel(d.fs, d.path)
	if err != nil {
		return errs.Wrap(err, op, d.path)
	}
	// The mount may have been exchanged under the process.
	if l.uuid != d.uuid || l.changes != d.changes.number.Load() {
		return errs.New(errs.Conflict, op, d.path, fmt.Sprintf("its label is another one: disk %s, changes %d", l.uuid, l.changes))
	}
	l.changes++
	if err := replaceLabel(d.fs, d.path, l); err != nil {
		return errs.Wrap(err, op, d.path)
	}
	d.changes.number.Store(l.changes)
	return nil
}
