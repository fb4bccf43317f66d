package disk

import (
	"sync"

	"hemera/platform/vfs"
)

// dirSync makes names in one directory durable, for many callers with one fsync: callers that come
// while one runs share the next.
type dirSync struct {
	fs   vfs.FS
	path string

	mu       sync.Mutex
	running  chan struct{} // closed when the sync that runs has ended; nil while none runs
	started  uint64        // syncs begun
	finished uint64
	lost     uint64 // the last sync that failed
	failure  error  // why
}

// init names the directory.
func (s *dirSync) init(fsys vfs.FS, path string) {
	s.fs, s.path = fsys, path
}

// mark names the first sync that will cover a change of the directory that was just made: one that runs may have begun
// before the change.
func (s *dirSync) mark() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started + 1
}

// reach returns when a sync at or after the mark has succeeded. A failed sync is final for every
// mark until then, also of callers that ask later: the kernel reports a lost write once and takes the
// next sync for a success.
func (s *dirSync) reach(mark uint64) error {
	for {
		turn, wait, err := s.next(mark)
		switch {
		case turn > 0:
			s.done(turn, s.fs.SyncDir(s.path))
		case wait != nil:
			<-wait
		default:
			return err
		}
	}
}

// next says what to do to reach the mark: make the sync of that number, wait for the one that runs, or, with neither,
// be content with the result.
func (s *dirSync) next(mark uint64) (turn uint64, wait <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.finished < mark && s.running != nil:
		return 0, s.running, nil
	case s.finished < mark:
		s.started++
		s.running = make(chan struct{})
		return s.started, nil, nil
	case mark <= s.lost:
		return 0, nil, s.failure
	}
	return 0, nil, nil
}

// done notes the result of a sync.
func (s *dirSync) done(turn uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.running)
	s.running = nil
	s.finished = turn
	if err != nil {
		s.lost, s.failure = turn, err
	}
}
