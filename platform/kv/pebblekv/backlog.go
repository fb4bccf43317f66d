package pebblekv

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// memTablesMax is the number of memory tables of full size: one that is filled and one that is written. It bounds
	// memory. Pebble begins with small ones, and keeps several of those before it flushes any, so the bound applies to
	// their bytes.
	memTablesMax = 2
	// l0Max is the number of overlapping tables in the first level above which writers wait for a compaction. A reader
	// has to look at each.
	l0Max = 24
	// compactionRetryFactor says how many times as long as flushes compactions may fail while a writer waits for one.
	// Pebble does not touch the tables of a failed one for half a minute.
	compactionRetryFactor = 4
)

// compactionEnded records how a compaction ended. Pebble calls it with its mutex held, so it must not call Pebble.
func (f *flusher) compactionEnded(info pebble.CompactionInfo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastCompactionErr = info.Err
	if info.Err == nil {
		f.compactionFailing = time.Time{}
	} else if f.compactionFailing.IsZero() {
		f.compactionFailing = time.Now()
	}
	f.wake()
}

// wait blocks until Pebble has room for another memory table and another table in the first level. It fails once flushes
// or compactions have failed for too long. While they succeed it waits without a bound. Store.admit calls it once for
// each log, so it need not be fast.
func (f *flusher) wait() error {
	began := time.Now()
	for {
		f.mu.Lock()
		ended := f.ended // taken before the metrics, so that no end is missed
		f.mu.Unlock()
		m := f.db.Metrics()
		switch {
		case m.MemTable.Size > memTablesMax*f.memTable: // more than half of one full table: Pebble is writing
			if err := f.waitForFlush(ended); err != nil {
				return err
			}
		case m.Levels[0].Sublevels >= l0Max:
			if err := f.waitForCompaction(ended, began); err != nil {
				return err
			}
		default:
			return f.usable()
		}
	}
}

// waitForFlush blocks until a flush or compaction has ended. It fails if writing has failed for good.
func (f *flusher) waitForFlush(ended <-chan struct{}) error {
	select {
	case <-ended:
		return nil
	case <-f.broken:
		return f.failure
	}
}

// waitForCompaction blocks until a flush or compaction has ended. It fails once compactions have failed for too long
// since began.
func (f *flusher) waitForCompaction(ended <-chan struct{}, began time.Time) error {
	f.mu.Lock()
	failing, lastErr := f.compactionFailing, f.lastCompactionErr
	f.mu.Unlock()
	var late <-chan time.Time
	if !failing.IsZero() {
		if failing.Before(began) { // only the time for which this writer has waited counts
			failing = began
		}
		timer := time.NewTimer(time.Until(failing.Add(compactionRetryFactor * f.retryTime)))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-ended:
		return nil
	case <-f.broken:
		return f.failure
	case <-late:
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.fail("tables cannot be merged", lastErr)
	}
}
