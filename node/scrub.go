package node

import (
	"context"
	"time"

	"hemera/disk"
	"hemera/words/hemera"
)

// scrubLook is the interval at which the node starts scrubs of disks without one.
const scrubLook = 10 * time.Second

// scrubber is a disk that reads and verifies all of its data in the background.
type scrubber interface {
	Scrub(ctx context.Context, o disk.ScrubOptions)
}

// SetScrubRate sets the greatest number of bytes of each disk that are read and verified per second; no scrub if 0.
func (n *Node) SetScrubRate(rate int64) { n.scrubRate.Store(rate) }

// scrub keeps a scrub running on every open disk.
func (n *Node) scrub(ctx context.Context) {
	tick := time.NewTicker(scrubLook)
	defer tick.Stop()
	for {
		for _, s := range n.disks.stores() {
			scrubs, ok := s.(scrubber)
			if !ok {
				continue
			}
			// A scrub ends with its disk, or with the node. A disk that is opened again gets another.
			if _, busy := n.scrubbing.LoadOrStore(s, true); !busy {
				n.panics.Go(&n.working, "node.Scrub", "", func() {
					defer n.scrubbing.Delete(s)
					scrubs.Scrub(ctx, disk.ScrubOptions{Rate: n.scrubRate.Load, Panics: n.panics, Bad: func(p hemera.PieceID) {
						if id := n.disks.idOf(s); id != 0 { // the manager knows no pieces of a disk that it has not named
							n.bad.add(hemera.BadPiece{Disk: id, Piece: p})
						}
					}})
				})
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// idOf returns the id of an open disk; zero if it has none.
func (d *disks) idOf(s disk.Store) hemera.DiskID {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for id, other := range d.byID {
		if other == s {
			return id
		}
	}
	return 0
}
