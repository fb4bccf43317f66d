package disk

import (
	"sync"

	"hemera/platform/vfs"
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
	lost     uint64 // the last sync that failed
	failure  error  // why
}

func (s *dirSync) init(fsys vfs.FS, path string) {
	s.fs, s.path = fsys, path
	s.turn.L = &s.mu
}

// mark names the first sync that will cover a change of the directory that was just made.
func (s *dirSync) mark() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started + 1
}

// reach returns when a sync at or after the mark has succeeded. A failed sync is final for every
// mark until then, also of those who ask later: the kernel reports a lost write once and takes the
// next sync for a success.
func (s *dirSync) reach(mark uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.finished < mark {
		if s.running {
			s.turn.Wait()
			continue
		}
		s.run()
	}
	if mark <= s.lost {
		return s.failure
	}
	return nil
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
		s.lost, s.failure = n, err
	}
	s.turn.Broadcast()
}
