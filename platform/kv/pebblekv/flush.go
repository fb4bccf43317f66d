package pebblekv

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"hemera/words/errs"
)

// flushRetryTime is the time for which Pebble may fail to write its memory tables before the store ends all writing. A
// disk may be full for a moment, until a compaction has ended.
const flushRetryTime = 30 * time.Second

// flusher makes Pebble write its memory tables to tables, and bounds Pebble's backlog of flushes and compactions. If a
// flush fails, Pebble tries again for ever, as fast as it can, and does not tell waiting callers. The flusher ends the
// wait with an error once flushes have failed for too long.
type flusher struct {
	db        *pebble.DB    // set when the database is open
	retryTime time.Duration // flushRetryTime, or a test's
	memTable  uint64        // bytes of a memory table of full size
	flushed   func()        // called, in its own goroutine, after each flush
	opened    atomic.Bool   // Pebble's Open has returned

	mu                sync.Mutex    // guards these; not held during calls of Pebble
	lastFlushErr      error         // of the last flush; also set by one that had nothing to write
	flushFailing      time.Time     // since when flushes fail; zero if the last one succeeded
	lastCompactionErr error         // of the last compaction
	compactionFailing time.Time     // since when compactions fail; zero if the last one succeeded
	failure           error         // set before broken is closed
	broken            chan struct{} // closed when writing has failed for good
	ended             chan struct{} // closed, and replaced, when a flush or a compaction ends
}

// newFlusher returns a flusher without a database; watch connects it to one.
func newFlusher(retryTime time.Duration) *flusher {
	return &flusher{retryTime: retryTime, flushed: func() {}, broken: make(chan struct{}), ended: make(chan struct{})}
}

// watch makes Pebble report the ends of flushes and compactions to f, and failures to the compaction scheduler c, which
// may be nil. Pebble's default reaction to a damaged block is to end the process; here a reader of the block gets an
// error.
func (f *flusher) watch(l *pebble.EventListener, c *compactionScheduler, log pebble.Logger) {
	l.FlushEnd = f.flushEnded
	l.CompactionEnd = f.compactionEnded
	report := l.BackgroundError
	l.BackgroundError = func(err error) {
		flush, news := f.failed(err)
		if flush && !f.opened.Load() && f.usable() != nil {
			select {} // the caller of this Open has left, and another store may own its files
		}
		if !flush && c != nil {
			c.pause()
		}
		if news {
			report(err)
		}
	}
	l.DataCorruption = func(info pebble.DataCorruptionInfo) { log.Errorf("%s", info) }
}

// flushEnded records how a flush ended. Pebble calls it with its mutex held, so it must not call Pebble.
func (f *flusher) flushEnded(info pebble.FlushInfo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastFlushErr = info.Err
	if info.Err == nil {
		f.flushFailing = time.Time{}
		go f.flushed() // Pebble holds its mutex
	}
	f.wake()
}

// wake wakes the goroutines that wait for an end. The caller holds mu.
func (f *flusher) wake() {
	close(f.ended)
	f.ended = make(chan struct{})
}

// failed records an error that Pebble reports from the background: of a compaction, or, right after its end, of a flush.
// It reports whether it was a flush, and whether it is worth a message.
func (f *flusher) failed(err error) (flush, news bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lastFlushErr == nil || !errors.Is(err, f.lastFlushErr) {
		return false, true
	}
	now := time.Now()
	if f.flushFailing.IsZero() {
		f.flushFailing = now
		return true, true
	}
	if f.failure != nil || now.Sub(f.flushFailing) < f.retryTime {
		return true, false
	}
	_ = f.fail("tables cannot be written", err)
	return true, true
}

// fail ends all waits, now and later, with an error. The caller holds mu.
func (f *flusher) fail(what string, cause error) error {
	if f.failure == nil {
		f.failure = errs.New(errs.Unavailable, "pebblekv.Flush", "", what+": "+cause.Error())
		close(f.broken)
	}
	return f.failure
}

// flush writes all batches to tables. It blocks until they are durable there, or until flushes have failed for too long.
// Pebble's own Flush would block for ever.
func (f *flusher) flush() error {
	flushed, err := f.db.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-flushed:
		return nil
	case <-f.broken:
		return f.failure
	}
}

// usable returns the error that ended all writing, or nil.
func (f *flusher) usable() error {
	select {
	case <-f.broken:
		return f.failure
	default:
		return nil
	}
}
