package node

import (
	"context"
	"time"

	"hemera/disk"
	"hemera/words/hemera"
)

// scrubLook is how often the node looks for disks that are not scrubbed yet.
const scrubLook = 10 * time.Second

// scrubber is a disk that reads and verifies all of its data in the background.
type scrubber interface {
	Scrub(ctx context.Context, o disk.ScrubOptions)
}

// SetScrubRate sets how many bytes of each disk are read and verified a second at most, from now on; none if 0.
func (n *Node) SetScrubRate(rate int64) { n.scrubRate.Store(rate) }

// scrub keeps a scrub at work on every disk that is there.
func (n *Node) scrub(ctx context.Context) {
	tick := time.NewTicker(scrubLook)
	defer tick.Stop()
	for {
		for _, s := range n.disks.stores() {
			scrubs, ok := s.(scrubber)
			if !ok {
				continue
			}
			// A scrub ends with its disk, or with the node: one that is opened again gets another.
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

// idOf is the id of a disk that is there; zero when it has none.
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
