package pebblekv

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// noteAfter is the time after the last batch at which the log notes that this batch is durable. Without a note, damage to
// the last batches looks like the torn end of a crash. A busy store needs no notes in its log: each batch notes the ones
// before. The state file notes it for both cases, as a log that was cut off lacks its last tokens.
const noteAfter = time.Second

// notes writes a token behind the last batch if there was none for a while. The store's mu guards its fields.
type notes struct {
	after time.Duration
	timer *time.Timer // nil before the first batch
	armed bool        // the timer runs
	seen  uint64      // number of the last batch when the timer was set
	ended bool        // the store is closed
}

// wrote sets the timer for the batch that was just enqueued. It does not set the timer again for each batch, as that
// would take time: if the timer fires and there are newer batches, it is set once more. So a note follows after one to
// two periods. The caller holds the store's mu.
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

// write appends a note to the log. If there were batches since the timer was set, it sets the timer again instead. It
// runs in the timer's goroutine, so blocking on the sync of the last batch delays no other work. It counts as a read
// under way, so that Close waits for it. It ignores an error of the note: the log reports its failures itself
// (logFS.report).
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
