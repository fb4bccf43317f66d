package pebblekv

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"hemera/errs"
)

// flushPatience is how long Pebble may fail to write its memory to tables before the store gives up. A disk
// may be full for a moment, until a compaction has ended.
const flushPatience = 30 * time.Second

// tables has Pebble write what it has in memory to tables. When that fails Pebble tries again for ever, as
// fast as it can, and tells nobody who waits: here whoever waits is told, once it has failed for too long.
type tables struct {
	db       *pebble.DB // set when it is open
	patience time.Duration

	mu      sync.Mutex
	last    error     // of the last flush; also set by one that had nothing to write
	since   time.Time // of the first failure after a success; zero if there is none
	trouble error     // of the last compaction
	failing time.Time // of the first compaction that failed after one that did not; zero if there is none
	failure error     // set before broken is closed
	broken  chan struct{}

	news chan struct{} // a compaction ended
}

func newTables(patience time.Duration) *tables {
	return &tables{patience: patience, broken: make(chan struct{}), news: make(chan struct{}, 1)}
}

// watch has t and the compactions told of what fails. Pebble's own answer to a damaged block, whoever meets
// it, is to end the process; here it is an error for who reads it.
func (t *tables) watch(l *pebble.EventListener, p *patience, log pebble.Logger) {
	l.FlushEnd = t.ended
	l.CompactionEnd = t.compacted
	report := l.BackgroundError
	l.BackgroundError = func(err error) {
		flush, news := t.failed(err)
		if !flush {
			p.rest()
		}
		if news {
			report(err)
		}
	}
	l.DataCorruption = func(info pebble.DataCorruptionInfo) { log.Errorf("%s", info) }
}

func (t *tables) ended(info pebble.FlushInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last = info.Err; info.Err == nil {
		t.since = time.Time{}
	}
}

// failed takes what went wrong in the background: compactions as well, and right after its end a flush
// that failed. It reports whether it was one, and whether that is news.
func (t *tables) failed(err error) (flush, news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil || !errors.Is(err, t.last) {
		return false, true
	}
	now := time.Now()
	if t.since.IsZero() {
		t.since = now
		return true, true
	}
	if t.failure != nil || now.Sub(t.since) < t.patience {
		return true, false
	}
	_ = t.giveUp("tables cannot be written", err)
	return true, true
}

// giveUp tells all who wait, and who will. The caller holds mu.
func (t *tables) giveUp(what string, cause error) error {
	if t.failure == nil {
		t.failure = errs.New(errs.Unavailable, "kv.Flush", "", what+": "+cause.Error())
		close(t.broken)
	}
	return t.failure
}

// newest has the tables know the number of the newest file of the log, with the next that are written. Zero: all
// batches are in tables, and no file is needed.
func (t *tables) newest(file uint64) error {
	return apply(func() error { return t.db.Set([]byte(keyLog), binary.BigEndian.AppendUint64(nil, file), pebble.NoSync) })
}

// begin has all batches written that Pebble has; the channel is closed when they are durable.
func (t *tables) begin() (<-chan struct{}, error) { return t.db.AsyncFlush() }

// wait returns when the channel of begin is closed, or never will be.
func (t *tables) wait(flushed <-chan struct{}) error {
	select {
	case <-flushed:
		return nil
	case <-t.broken:
		return t.failure
	}
}

// flush is begin and wait.
func (t *tables) flush() error {
	flushed, err := t.begin()
	if err != nil {
		return err
	}
	return t.wait(flushed)
}

// usable is why nothing will be written any more, if so.
func (t *tables) usable() error {
	select {
	case <-t.broken:
		return t.failure
	default:
		return nil
	}
}
