package maint

import (
	"context"
	"time"

	"hemera/maint/move"
	"hemera/words/hemera"
)

// spreadAll goes over all files of the space's disks and moves pieces apart that share a node or a zone while others are
// free, until a pass moves none. It returns false if it was cancelled or failed.
func (m *balanceMoves) spreadAll(ctx context.Context) bool {
	for {
		before := m.moves()
		// Also those of disks that are away: another piece of such a file can be moved.
		for _, d := range m.base.Cluster.View().Disks {
			if d.Space != m.space {
				continue
			}
			if err := m.spreadDisk(ctx, d.ID); err != nil || ctx.Err() != nil {
				m.group.Wait()
				if ctx.Err() == nil {
					m.failed(err)
				}
				return false
			}
		}
		// Before the count: moves of this pass may still be under way.
		m.group.Wait()
		// A file with several pieces in one place gets one of them moved in a pass.
		if m.moves() == before {
			return true
		}
	}
}

// spreadDisk looks at the files whose first piece is on the disk: each file once.
func (m *balanceMoves) spreadDisk(ctx context.Context, disk hemera.DiskID) error {
	var after hemera.FileID
	for ctx.Err() == nil {
		began := time.Now() // it measures the processor's work
		view := m.base.Cluster.View()
		if s, ok := view.Space(m.space); !ok || s.Balancer.Off {
			return nil
		}
		entries, err := m.base.Files.DiskFiles(ctx, disk, after, pageFiles)
		if err != nil || len(entries) == 0 {
			return err
		}
		var moves []candidate
		// Most files share nothing. Those are done here, without a plan.
		for _, e := range entries {
			after = e.ID
			if len(e.Pieces) > 1 && e.Pieces[0].Disk == disk && move.SpreadOf(view, e, move.DisksOf(e.Pieces)).Shares() {
				moves = append(moves, candidate{entry: e, shares: true})
			}
		}
		// Without the time that moves wait, which costs no processor time.
		took := time.Since(began)
		for _, c := range moves {
			m.moveApart(ctx, view, c.entry)
		}
		// A look at very many files shall not take a processor.
		pause(ctx, wakeShare*took)
	}
	return nil
}

// moveApart begins the move of one piece of the file if the pieces lie better then. One at a time: where the next goes depends on
// where this went, and the next pass moves it.
func (m *balanceMoves) moveApart(ctx context.Context, view *hemera.View, e hemera.Entry) {
	for _, p := range e.Pieces {
		c := candidate{entry: e, piece: p}
		d, ok := view.Disk(p.Disk)
		if c.size() <= 0 || !ok || !d.Readable() || d.Space != m.space {
			continue
		}
		to, err := m.place(view, c, func(id hemera.DiskID) bool {
			d, _ := view.Disk(id)
			return d.Space == m.space
		})
		// Another piece of the file may have a place.
		if err != nil {
			continue
		}
		if now, old := to.Apart(view); !now.Gains(old) {
			continue
		}
		// The rate is that of filling: one bound for all that balancing does to a disk.
		m.show("pieces that share a node or a zone are moved apart")
		for ctx.Err() == nil && !(m.ledger.ready(p.Disk) && m.ledger.ready(to.Add.Disk)) {
			pause(ctx, balanceTick)
		}
		m.begin(ctx, c, to.Add.Disk)
		return
	}
}
