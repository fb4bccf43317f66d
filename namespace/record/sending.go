package record

import "sync"

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
