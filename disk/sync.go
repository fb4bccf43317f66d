package disk

import (
	"errors"
	"maps"
	"slices"
)

// A sync makes the data of a pending piece durable, and the checksums of it; synced.go says how those are kept.

// Sync makes the data written so far durable, with its checksums. The piece stays pending.
func (w *writer) Sync() error {
	const op = "disk.Sync"
	w.syncing.Wait()
	defer w.syncing.Release()
	state, err := w.takeSums(op)
	if err != nil {
		return err
	}
	w.io.WaitShare()
	defer w.io.ReleaseShare()
	if err := w.usable(op); err != nil {
		return err
	}
	if err = w.sync(w.synced.sync); err == nil {
		err = w.synced.commit(state)
	}
	if err != nil {
		return w.fail(err, op)
	}
	return nil
}

// takeSums writes the checksums for a sync, of a moment in which no write is under way.
func (w *writer) takeSums(op string) (state syncedState, err error) {
	w.io.Wait()
	defer w.io.Release()
	if err = w.usable(op); err != nil {
		return state, err
	}
	if state, err = w.saveSums(); err != nil {
		err = w.fail(err, op)
	}
	return state, err
}

// sync makes the content and the name of the pending file durable, and what sums does. The name takes a sync of the directory that many
// Writers share. Both are under way at once, so that a file system with a journal commits once for both.
func (w *writer) sync(sums func() error) error {
	start := w.disk.gauge.start()
	named := make(chan error, 1)
	go func() {
		named <- w.disk.opt.Panics.Do("disk.Sync", w.id.String(), func() error { return errors.Join(sums(), w.disk.pending.reach(w.mark)) })
	}()
	err := w.file.Sync()
	// The goroutine is not left behind, also after an error: it uses the disk.
	if other := <-named; err == nil {
		err = other
	}
	w.disk.gauge.synced(start)
	return err
}

// saveSums writes the checksums of what changed since the last sync, and returns the state to be committed. It is called with io had
// alone.
func (w *writer) saveSums() (next syncedState, err error) {
	s := &w.synced
	if s.file == nil {
		if err := s.make(); err != nil {
			return next, err
		}
		w.mark = w.disk.pending.mark()
	}
	next = syncedState{seq: s.state.seq + s.skips + 1, since: s.state.since, size: w.table.size}
	if w.table.changed == nil { // the changes were not recorded
		s.whole = true
	}
	save := func(block int64) error {
		sums := [blockSums]uint32{}
		n := blockLen(next.size, block)
		if err := (*pendingSource)(w).pageSums(block*blockSums, sums[:n]); err != nil {
			return err
		}
		fillZeroPages(sums[n:])
		return s.save(next.seq, block, &sums)
	}
	if s.whole {
		next.since = next.seq
		for block := range blocks(next.size) {
			if w.table.absent(block) {
				continue
			}
			if err := save(block); err != nil {
				return next, err
			}
		}
	}
	for _, block := range slices.Sorted(maps.Keys(w.table.changed)) {
		if s.whole {
			break
		}
		if err := save(block); err != nil {
			return next, err
		}
	}
	s.state, s.skips, s.whole, w.table.changed = next, 0, false, map[int64]struct{}{}
	return next, nil
}
