package disk

import (
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"sync"

	"hemera/platform/contain"
	"hemera/platform/turn"
	"hemera/platform/vfs"
	"hemera/words/hemera"
)

// sealedPieces makes, moves and removes the names of sealed pieces, and knows how many there are. It counts the names
// in the background after the disk was opened, directory by directory; a change in a directory that was counted changes
// the number, one in a directory still to come does not. Until the end the number is too low.
type sealedPieces struct {
	tree    *tree
	log     *slog.Logger
	panics  *contain.Panics
	listing turn.Shared // held alone while a directory is counted, shared while names change
	halt    chan struct{}
	counts  sync.WaitGroup

	mu     sync.Mutex
	pieces int64
	upTo   uint64 // directories below were counted
}

func (c *sealedPieces) init(t *tree, log *slog.Logger, panics *contain.Panics) {
	c.tree, c.log, c.panics, c.listing, c.halt = t, log, panics, turn.NewShared(), make(chan struct{})
}

// start begins to count.
func (c *sealedPieces) start() { c.panics.Go(&c.counts, "disk.Count", c.tree.path, c.run) }

func (c *sealedPieces) run() {
	dirs, err := c.tree.pieceDirs()
	if err != nil {
		c.log.Warn("pieces cannot be counted", "disk", c.tree.path, "error", err)
		return
	}
	for _, dir := range dirs {
		select {
		case <-c.halt:
			return
		default:
		}
		if err := c.countIn(dir); err != nil {
			c.log.Warn("pieces cannot be counted", "disk", c.tree.path, "error", err)
		}
	}
	// From now on every change counts, also in directories that are made later.
	c.listing.Wait()
	defer c.listing.Release()
	c.counted(0, math.MaxUint64)
}

// countIn counts one directory, in which no name changes meanwhile.
func (c *sealedPieces) countIn(dir uint64) error {
	c.listing.Wait()
	defer c.listing.Release()
	ids, err := c.tree.piecesIn(dir)
	c.counted(int64(len(ids)), dir+1)
	return err
}

// counted adds n pieces; all directories below upTo are counted now.
func (c *sealedPieces) counted(n int64, upTo uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pieces += n
	c.upTo = upTo
}

// stop ends the counting, and waits for the directory that is being counted.
func (c *sealedPieces) stop() {
	close(c.halt)
	c.counts.Wait()
}

// change notes that pieces came or went, unless their directory is still to be counted.
func (c *sealedPieces) change(id hemera.PieceID, by int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if uint64(id.File)/perDirectory < c.upTo {
		c.pieces += by
	}
}

// now returns the number of sealed pieces, as far as they are counted.
func (c *sealedPieces) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pieces
}

// move moves a piece from the pending directory to its place, and makes the directory for it. With replace it may take
// the place of another, which it reports; else fs.ErrExist if one is there.
func (c *sealedPieces) move(id hemera.PieceID, replace bool) (replaced bool, err error) {
	replaced, err = c.rename(id, replace)
	if !errors.Is(err, fs.ErrNotExist) {
		return replaced, err
	}
	// The directory is of the first piece in it; another may make it at the same time.
	if err := c.tree.fs.Mkdir(c.tree.sealedDir(id.File)); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return c.rename(id, replace)
}

// rename makes one attempt of move. It fails with fs.ErrNotExist if the piece's directory does not exist.
func (c *sealedPieces) rename(id hemera.PieceID, replace bool) (replaced bool, err error) {
	c.listing.WaitShare()
	defer c.listing.ReleaseShare()
	from, to := c.tree.pendingPath(id), c.tree.sealedPath(id)
	if replace { // a removal between both calls leaves the number one too low, until the next open
		_, missing := c.tree.fs.Stat(to)
		replaced = missing == nil
		err = c.tree.fs.Rename(from, to)
	} else {
		err = vfs.Move(c.tree.fs, from, to)
	}
	if err != nil {
		return false, err
	}
	if !replaced {
		c.change(id, 1)
	}
	return replaced, nil
}

// remove removes a piece; one that is not there is no error.
func (c *sealedPieces) remove(id hemera.PieceID) error {
	c.listing.WaitShare()
	defer c.listing.ReleaseShare()
	err := c.tree.fs.Remove(c.tree.sealedPath(id))
	if err == nil {
		c.change(id, -1)
	}
	return ignoreMissing(err)
}
