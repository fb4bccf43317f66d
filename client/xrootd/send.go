package xrootd

import (
	"net"
	"sync"
)

// copyMax is the longest payload, in bytes, that is copied into a batch: many short requests need one system call, and
// file data is not copied.
const copyMax = 8 << 10

// sender writes the requests of many goroutines. A caller that finds the socket free writes everything queued, in one
// system call, while the others wait for it. There is no writing goroutine. Short requests are copied together, long
// payloads are passed to writev directly.
type sender struct {
	nc net.Conn

	mu      sync.Mutex  // guards what follows; not held while writing
	turn    sync.Cond   // a batch was written
	bufs    net.Buffers // queued; the first is the sender's own
	grows   bool        // the last of bufs is the sender's own and can grow
	spare   []byte      // memory of an earlier batch, for reuse
	slots   net.Buffers // the same for bufs itself, empty
	round   uint64      // number of the batch being queued
	written uint64      // number of the last batch written
	busy    bool        // a caller is writing
	err     error       // final
}

// newSender writes to nc, which must have no other writer.
func newSender(nc net.Conn) *sender {
	s := &sender{nc: nc, round: 1}
	s.turn.L = &s.mu
	return s
}

// queue adds a request to the next batch. Its payload, of n bytes, must not change until flush has returned.
func (s *sender) queue(head []byte, payload [][]byte, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.add(head)
	if n > copyMax {
		s.bufs, s.grows = append(s.bufs, payload...), false
		return
	}
	for _, p := range payload {
		s.add(p)
	}
}

// add copies bytes to the end of the batch. The caller holds mu.
func (s *sender) add(p []byte) {
	if s.grows {
		last := len(s.bufs) - 1
		s.bufs[last] = append(s.bufs[last], p...)
		return
	}
	s.bufs, s.grows = append(s.bufs, append(s.spare[:0], p...)), true
	s.spare = nil
}

// flush blocks until everything queued before is in the socket. It returns the final error, if any.
func (s *sender) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bufs) == 0 && !s.busy {
		return s.err
	}
	mine := s.round
	if len(s.bufs) == 0 {
		mine--
	}
	for s.written < mine && s.err == nil {
		if s.busy {
			s.turn.Wait()
			continue
		}
		s.writeBatch()
	}
	return s.err
}

// writeBatch writes everything queued. The lock is held at entry and exit, but not during the write.
func (s *sender) writeBatch() {
	bufs, round := s.bufs, s.round
	s.bufs, s.grows, s.busy = s.slots, false, true
	s.round++
	s.mu.Unlock()
	all, first := bufs, bufs[0]
	_, err := bufs.WriteTo(s.nc) // removes the front of bufs
	clear(all)                   // keep no payload alive
	s.mu.Lock()
	s.busy, s.written = false, round
	s.slots = all[:0]
	if s.spare == nil {
		s.spare = first[:0]
	}
	if err != nil && s.err == nil {
		s.err = err
	}
	s.turn.Broadcast()
}
