package pebblekv

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// noteAfter is how long after its last batch the log says that this batch is durable. Without a note, damage to the last
// batches looks like the end that a crash tore. A busy store needs no notes in its log: each batch says it of those before.
// The state file says it of both, as a log that was cut off has no more tokens.
const noteAfter = time.Second

// notes writes a token behind the last batch when there was none for a while. Its fields are guarded by the store's mu.
type notes struct {
	after time.Duration
	timer *time.Timer // nil before the first batch
	armed bool        // the timer runs
	seen  uint64      // number of the last batch when it was set
	ended bool        // the store is closed
}

// wrote sets the timer for the batch that was just enqueued. The timer is not set again for each batch, as that would cost
// each some time: when it fires and finds newer batches, it is set once more. So a note comes after one to two periods. The
// caller holds the store's mu.
func (n *notes) wrote(s *Store) {
	if n.armed || n.ended {
		return
	}
	n.armed, n.seen = true, s.enqueued.Load()
	if n.timer == nil {
		n.timer = time.AfterFunc(n.after, func() { n.write(s) })
	} else {
		n.timer.Reset(n.after)
	}
}

// stop ends the notes. The caller holds the store's mu.
func (n *notes) stop() {
	n.ended = true
	if n.timer != nil {
		n.timer.Stop()
	}
}

// write puts a note into the log, unless a batch came since the timer was set: then it sets the timer again. The timer
// calls it, so it blocks on the sync of the last batch without holding up anybody. It counts as a read under way, so that
// Close waits for it. It ignores an error of the note: the log reports its failures itself (logFS.report).
func (n *notes) write(s *Store) {
	if s.beginRead("pebblekv.note") != nil {
		return
	}
	defer s.endRead()
	s.mu.Lock()
	n.armed = false
	last := s.newest // not nil: wrote armed the timer after the first batch
	if n.ended || s.dead.Load() != nil {
		s.mu.Unlock()
		return
	}
	if n.seen != last.seq {
		n.wrote(s)
		s.mu.Unlock()
		_ = s.logs.state.note(s.durable.Load())
		return
	}
	s.mu.Unlock()
	last.settle()
	if last.err == nil {
		_ = catchFatal(func() error { return s.db.LogData(token{last.seq, last.seq}.encode(s.logs.state.mark), pebble.Sync) })
		_ = s.logs.state.note(last.seq)
	}
}
