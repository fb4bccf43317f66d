package pebblekv

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// noteAfter is how long after its last batch the log says that this batch is durable. Without a note, damage to the last
// batches looks like the end that a crash tore.
const noteAfter = time.Second

// notes writes a token behind the last batch when there was none for a while. Its fields are guarded by the store's mu.
type notes struct {
	after time.Duration
	timer *time.Timer
	armed bool   // the timer runs
	seen  uint64 // number of the last batch when it was set
	ended bool
}

// wrote sees to it that the batch that was just enqueued is noted in time. The caller holds the store's mu.
func (n *notes) wrote(s *Store) {
	if n.armed || n.ended {
		return
	}
	n.armed, n.seen = true, s.enqueued.Load()
	if n.timer == nil {
		n.timer = time.AfterFunc(n.after, s.note)
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

// note is called by the timer.
func (s *Store) note() {
	if s.enter("pebblekv.note") != nil {
		return
	}
	defer s.leave()
	s.mu.Lock()
	s.notes.armed = false
	last := s.newest
	if s.notes.ended || s.dead.Load() != nil {
		s.mu.Unlock()
		return
	}
	if s.notes.seen != last.seq {
		s.notes.wrote(s)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	last.settle()
	if last.err == nil {
		_ = apply(func() error { return s.db.LogData(token{last.seq, last.seq}.encode(s.logs.state.mark), pebble.Sync) })
	}
}
