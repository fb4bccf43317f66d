package manager

import (
	"context"
	"sync"

	"hemera"
	"hemera/errs"
)

const (
	// sumsRunning is how many checksums that are not stored are computed at once for clients, sumsOfUser how
	// many of them for one user.
	// Each reads a whole file at one disk. Two for one user leave the others their turn.
	sumsRunning, sumsOfUser = 64, 2
	// sumsWaiting is how many wait for their turn, sumsWaitingOfUser how many of them of one user.
	sumsWaiting, sumsWaitingOfUser = 4096, 256
	// sumsKept is how many are remembered. A content never changes, so they stay right.
	sumsKept = 4096
)

// sumKey is one checksum of one content.
type sumKey struct {
	file hemera.FileID
	gen  hemera.Generation
	kind hemera.ChecksumKind
}

// sumUser is by whom checksums are counted: a user, or of nobody a host.
type sumUser struct {
	uid        uint32
	name, host string
}

// sumUserOf is by whom a request is counted. All users without a name of one host count as one.
func sumUserOf(who hemera.Identity) sumUser {
	if who.UID == hemera.NobodyID {
		return sumUser{uid: who.UID, host: who.Host}
	}
	return sumUser{uid: who.UID, name: who.Name}
}

// sums has checksums computed for clients: each content once for all that ask at the same time, few at once, and
// only as long as somebody waits for it.
type sums struct {
	mu      sync.Mutex              // guards all below, and the fields of computations
	under   map[sumKey]*computation // waiting and running ones
	waiting []*computation          // oldest first
	running int                     // computations
	// of has users with something under way only.
	of    map[sumUser]*struct{ running, waiting int }
	kept  map[sumKey]hemera.Checksum // at most sumsKept
	order []sumKey                   // of kept, oldest first
}

// computation is one checksum that is waited for.
type computation struct {
	key     sumKey
	user    sumUser            // who asked first
	askers  int                // callers that wait; it is cancelled without any
	started bool               // or it waits for its turn
	ctx     context.Context    // of run
	cancel  context.CancelFunc // of ctx
	run     func(context.Context) (hemera.Checksum, error)
	done    chan struct{} // closed when sum and err are there
	sum     hemera.Checksum
	err     error
}

// newSums has nothing under way and nothing kept.
func newSums() *sums {
	return &sums{under: map[sumKey]*computation{}, of: map[sumUser]*struct{ running, waiting int }{}, kept: map[sumKey]hemera.Checksum{}}
}

// do returns what run does, or did for somebody else. Overloaded when too many wait.
func (s *sums) do(ctx context.Context, who hemera.Identity, key sumKey, run func(context.Context) (hemera.Checksum, error)) (hemera.Checksum, error) {
	s.mu.Lock()
	if sum, ok := s.kept[key]; ok {
		s.mu.Unlock()
		return sum, nil
	}
	c := s.under[key]
	if c == nil {
		var err error
		if c, err = s.add(ctx, sumUserOf(who), key, run); err != nil {
			s.mu.Unlock()
			return hemera.Checksum{}, err
		}
	}
	// Under the lock: a computation whose last asker has left is not in under any more.
	c.askers++
	s.mu.Unlock()
	select {
	case <-c.done:
		return c.sum, c.err
	case <-ctx.Done():
		// The others go on to wait. Only the last asker ends the computation.
		s.leave(c)
		return hemera.Checksum{}, errs.Wrap(context.Cause(ctx), "manager.Checksum", "")
	}
}

// add makes a computation, and starts it if it may start. The caller holds mu.
func (s *sums) add(ctx context.Context, user sumUser, key sumKey, run func(context.Context) (hemera.Checksum, error)) (*computation, error) {
	count := s.of[user]
	if count == nil {
		count = new(struct{ running, waiting int })
		s.of[user] = count
	}
	// Refused rather than queued without bounds: a checksum that waits for an hour is of no use to its client.
	if len(s.waiting) >= sumsWaiting || count.waiting >= sumsWaitingOfUser {
		s.forget(user)
		return nil, errs.New(errs.Overloaded, "manager.Checksum", "", "too many checksums that are not stored are asked for").
			WithRemedy("ask for the kind that the file is stored with, or for fewer at a time")
	}
	c := &computation{key: key, user: user, run: run, done: make(chan struct{})}
	// It goes on for callers that ask later, even if the first has gone.
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.under[key] = c
	s.waiting = append(s.waiting, c)
	count.waiting++
	s.start()
	return c, nil
}

// start starts what may start, oldest first. The caller holds mu.
func (s *sums) start() {
	// In place: the line keeps its order and its memory.
	kept := s.waiting[:0]
	for _, c := range s.waiting {
		count := s.of[c.user]
		if s.running >= sumsRunning || count.running >= sumsOfUser {
			kept = append(kept, c)
			continue
		}
		count.waiting--
		count.running++
		s.running++
		c.started = true
		go s.compute(c)
	}
	// So that those that began can be collected when they are done.
	clear(s.waiting[len(kept):])
	s.waiting = kept
}

// compute runs one computation, tells those who wait, and starts what may start then.
func (s *sums) compute(c *computation) {
	sum, err := c.run(c.ctx)
	c.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	c.sum, c.err = sum, err
	close(c.done)
	// Another may be under way for the key, if all askers of this one left and somebody asked again.
	if s.under[c.key] == c {
		delete(s.under, c.key)
	}
	if err == nil {
		s.keep(c.key, sum)
	}
	s.running--
	s.of[c.user].running--
	s.forget(c.user)
	s.start()
}

// keep remembers a checksum, in place of the oldest.
func (s *sums) keep(key sumKey, sum hemera.Checksum) {
	if _, ok := s.kept[key]; !ok {
		if len(s.order) >= sumsKept {
			delete(s.kept, s.order[0])
			s.order = s.order[1:]
		}
		s.order = append(s.order, key)
	}
	s.kept[key] = sum
}

// leave is for an asker who does not wait any more: with the last of them the computation ends.
func (s *sums) leave(c *computation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.askers--; c.askers > 0 {
		return
	}
	c.cancel()
	if s.under[c.key] == c {
		delete(s.under, c.key)
	}
	// It runs: compute counts it out when the cancelled run returns.
	if c.started {
		return
	}
	for i, w := range s.waiting {
		if w == c {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			s.of[c.user].waiting--
			break
		}
	}
	s.forget(c.user)
}

// forget drops the count of a user who has nothing. The caller holds mu.
func (s *sums) forget(user sumUser) {
	if c := s.of[user]; c != nil && *c == (struct{ running, waiting int }{}) {
		delete(s.of, user)
	}
}
