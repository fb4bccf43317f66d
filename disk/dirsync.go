package disk

import (
	"sync"

	"hemera/vfs"
)

// dirSync makes names in one directory durable, for many callers with one fsync: whoever comes
// while one runs shares the next.
type dirSync struct {
	fs   vfs.FS
	path string

	mu       sync.Mutex
	turn     sync.Cond
	running  bool
	started  uint64 // syncs begun
	finished uint64
	failures map[uint64]error // by sync, while somebody waits for it
	waiting  map[uint64]int
}

func (s *dirSync) init(fsys vfs.FS, path string) {
	s.fs, s.path = fsys, path
	s.turn.L = &s.mu
	s.failures, s.waiting = map[uint64]error{}, map[uint64]int{}
}

// mark names the first sync that will cover a change of the directory that was just made.
func (s *dirSync) mark() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started + 1
}

// reach returns when a sync at or after the mark has succeeded. A failed sync is everybody's who
// waited for it.
func (s *dirSync) reach(mark uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished >= mark {
		return nil
	}
	sync := max(mark, s.started+1)
	if s.started >= mark { // one that covers the mark is running
		sync = s.started
	}
	s.waiting[sync]++
	defer s.leave(sync)
	for s.finished < sync {
		if s.running {
			s.turn.Wait()
			continue
		}
		s.run()
	}
	return s.failures[sync]
}

func (s *dirSync) run() {
	s.running = true
	s.started++
	n := s.started
	s.mu.Unlock()
	err := s.fs.SyncDir(s.path)
	s.mu.Lock()
	s.running = false
	s.finished = n
	if err != nil {
		s.failures[n] = err
	}
	s.turn.Broadcast()
}

func (s *dirSync) leave(sync uint64) {
	if s.waiting[sync]--; s.waiting[sync] == 0 {
		delete(s.waiting, sync)
		delete(s.failures, sync)
	}
}
