package pebblekv

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// deepest is how many tables of the first level may lie over each other before the log waits for a compaction:
	// each is one more to look at for a reader.
	deepest = 24
	// compactPatience is how many times as long as flushes compactions may fail while the log waits for one:
	// Pebble leaves the tables of one that failed alone for half a minute.
	compactPatience = 4
)

// compacted takes how a compaction ended.
func (t *tables) compacted(info pebble.CompactionInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trouble = info.Err
	if info.Err == nil {
		t.failing = time.Time{}
	} else if t.failing.IsZero() {
		t.failing = time.Now()
	}
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// room returns when the first level may have one more table, or never will: Pebble itself would have whoever writes
// wait for ever for compactions that fail. One caller at a time.
func (t *tables) room() error {
	begun := time.Now()
	for t.db.Metrics().Levels[0].Sublevels >= deepest {
		if err := t.hope(begun); err != nil {
			return err
		}
	}
	return nil
}

// hope waits for news of compactions, and gives up when they have failed for too long of the time since begun.
func (t *tables) hope(begun time.Time) error {
	t.mu.Lock()
	failing, trouble := t.failing, t.trouble
	t.mu.Unlock()
	var late <-chan time.Time
	if !failing.IsZero() {
		if failing.Before(begun) {
			failing = begun
		}
		timer := time.NewTimer(time.Until(failing.Add(compactPatience * t.patience)))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-t.news:
		return nil
	case <-t.broken:
		return t.failure
	case <-late:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.giveUp("tables cannot be merged", trouble)
	}
}
