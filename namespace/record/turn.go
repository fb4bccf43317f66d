package record

import "sync"

// turn is the right to change what is visible. It orders the steps of the store that must not overlap: sending
// a group and making it visible, and looking at the store while nothing is sent. It is a token and not a mutex
// because its holder may wait: for the engine, which takes batches in order, or for a reading from the disk.
// Holders come in the order in which they asked.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) acquire() { t <- struct{}{} }

// tryAcquire reports whether nobody else has the turn.
func (t turn) tryAcquire() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

func (t turn) release() { <-t }

// sending says whether a group is on its way: given to the engine, or about to be, and not visible yet.
// Readers of the engine itself wait for the end of that.
type sending struct {
	mu           sync.Mutex
	changed      sync.Cond // of ended; its lock is mu
	begun, ended uint64    // sends; equal while none is under way
}

func (s *sending) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun++
}

func (s *sending) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = s.begun
	s.changed.Broadcast()
}

// wait returns when the send that is under way now has ended, if any. It does not wait for later ones.
func (s *sending) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for until := s.begun; s.ended < until; {
		s.changed.Wait()
	}
}
