package replkv

import (
	"context"
	"errors"
	"time"

	"hemera/platform/kv/journal"
	"hemera/words/errs"
)

// following is the goroutine of a store that follows.
type following struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
}

// retryTime is the time after which a store follows again if that failed for a reason that may pass.
const retryTime = time.Second

// follow begins to follow the journal, in a goroutine. The caller has the turn of changes, or is Open.
func (s *Store) follow() {
	ctx, cancel := context.WithCancel(s.life)
	f := &following{cancel, make(chan struct{})}
	s.mu.Lock()
	s.follows, s.stuck = f, nil
	s.mu.Unlock()
	go func() {
		defer close(f.done)
		for ctx.Err() == nil {
			err := s.journal.Follow(ctx, s.Applied()+1, s.take)
			if ctx.Err() != nil {
				return
			}
			if final(err) {
				s.stop(err)
				return
			}
			s.log.Warn("the journal cannot be followed at present", "error", err)
			select {
			case <-time.After(retryTime):
			case <-ctx.Done():
			}
		}
	}()
}

// final reports whether following cannot succeed later either.
func final(err error) bool {
	return errors.Is(err, errs.Corrupt) || errors.Is(err, errs.Unsupported) || errors.Is(err, errLocal) || errors.Is(err, journal.ErrTrimmed)
}

// errLocal marks an error of the local engine, which has ended for this process.
var errLocal = errors.New("the local engine failed")

// take applies an entry of the journal.
func (s *Store) take(e journal.Entry) error {
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	if err := at.admit(e); err != nil {
		return err
	}
	b, err := decode(e.Batch)
	if err != nil {
		return err
	}
	if err := s.apply(b, e.Position()); err != nil {
		return errors.Join(err, errLocal)
	}
	return nil
}

// stop records why the store is stuck, and wakes an Acquire that waits for it.
func (s *Store) stop(err error) {
	s.log.Error("the store cannot follow the journal any more", "error", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = err
	close(s.moved)
	s.moved = make(chan struct{})
}

// unfollow ends following, and waits for an entry that is being applied.
func (s *Store) unfollow() {
	s.mu.Lock()
	f := s.follows
	s.follows = nil
	s.mu.Unlock()
	if f != nil {
		f.cancel()
		<-f.done
	}
}

// catchUp waits until the store has applied an entry. It fails if the store is stuck.
func (s *Store) catchUp(ctx context.Context, to uint64) error {
	for {
		s.mu.Lock()
		at, stuck, moved := s.at.Seq, s.stuck, s.moved
		s.mu.Unlock()
		switch {
		case stuck != nil:
			return stuck
		case at >= to:
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
