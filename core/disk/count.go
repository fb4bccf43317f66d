package disk

import (
	"math"
	"sync"

	"hemera"
	"hemera/platform/vfs"
)

// counter knows how many sealed pieces the disk holds. It counts the names in the background after
// the disk was opened, directory by directory; a change in a directory that was counted changes
// the number, one in a directory still to come does not. Until the end the number is too low.
type counter struct {
	names   sync.RWMutex // held alone while a directory is counted, shared while names change
	mu      sync.Mutex
	pieces  int64
	upTo    uint64 // directories below were counted
	halt    chan struct{}
	stopped sync.WaitGroup
}

// start begins to count.
func (c *counter) start(d *Disk) {
	c.halt = make(chan struct{})
	c.stopped.Go(func() { c.run(d) })
}

func (c *counter) run(d *Disk) {
	dirs, err := d.pieceDirs()
	if err != nil {
		d.opt.Log.Warn("pieces cannot be counted", "disk", d.path, "cause", err)
		return
	}
	for _, dir := range dirs {
		select {
		case <-c.halt:
			return
		default:
		}
		c.names.Lock()
		ids, err := d.piecesIn(dir)
		c.mu.Lock()
		c.pieces += int64(len(ids))
		c.upTo = dir + 1
		c.mu.Unlock()
		c.names.Unlock()
		if err != nil {
			d.opt.Log.Warn("pieces cannot be counted", "disk", d.path, "cause", err)
		}
	}
	c.names.Lock()
	c.mu.Lock()
	c.upTo = math.MaxUint64
	c.mu.Unlock()
	c.names.Unlock()
}

func (c *counter) stop() {
	close(c.halt)
	c.stopped.Wait()
}

func (c *counter) change(id hemera.PieceID, by int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if uint64(id.File)/perDirectory < c.upTo {
		c.pieces += by
	}
}

func (c *counter) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pieces
}

// add moves a piece to its place, and reports whether it replaced another, which changes no number.
func (c *counter) add(fsys vfs.FS, from, to string, id hemera.PieceID) (replaced bool, err error) {
	c.names.RLock()
	defer c.names.RUnlock()
	_, missing := fsys.Stat(to)
	if err := fsys.Rename(from, to); err != nil {
		return false, err
	}
	if missing != nil {
		c.change(id, 1)
	}
	return missing == nil, nil
}

// addNew moves a piece to its place; fs.ErrExist if one is there.
func (c *counter) addNew(fsys vfs.FS, from, to string, id hemera.PieceID) (replaced bool, err error) {
	c.names.RLock()
	defer c.names.RUnlock()
	if err := vfs.Move(fsys, from, to); err != nil {
		return false, err
	}
	c.change(id, 1)
	return false, nil
}

// remove removes a piece; one that is not there is no error.
func (c *counter) remove(fsys vfs.FS, name string, id hemera.PieceID) error {
	c.names.RLock()
	defer c.names.RUnlock()
	err := fsys.Remove(name)
	if err == nil {
		c.change(id, -1)
	}
	return ignoreMissing(err)
}
