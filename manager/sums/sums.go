// Package sums computes checksums that are not stored, for clients of a manager: each content once for all that ask at the same time, few at once,
// and few for one user. Computations run in goroutines of their own, and end when nobody waits for them.
package sums

import (
	"context"
	"sync"

	"hemera/platform/contain"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// mostRunning bounds the checksums that are not stored and are computed at once for clients, ofUser those for one
	// user. Each reads a whole file at one disk. Two for one user leave the others their turn.
	mostRunning, ofUser = 64, 2
	// mostWaiting bounds the requests that wait for their turn, waitingOfUser those of one user.
	mostWaiting, waitingOfUser = 4096, 256
	// mostKept bounds the results that are remembered. A content never changes, so they stay right.
	mostKept = 4096
)

// Key is one checksum of one content.
type Key struct {
	File hemera.FileID
	Gen  hemera.Generation
	Kind hemera.ChecksumKind
}

// user is the key by which checksums are counted: a user, or the host of a client without a name.
type user struct {
	uid        uint32
	name, host string
}

// userOf returns the user for whom a request is counted. All users without a name of one host count as one.
func userOf(who hemera.Identity) user {
	if who.UID == hemera.NobodyID {
		return user{uid: who.UID, host: who.Host}
	}
	return user{uid: who.UID, name: who.Name}
}

// Sums has checksums computed for clients: each content once for all that ask at the same time, few at once, and only as
// long as a caller waits for it.
type Sums struct {
	panics *contain.Panics

	mu      sync.Mutex           // guards all below, and the fields of computations
	under   map[Key]*computation // waiting and running ones
	waiting []*computation       // oldest first
	running int                  // computations
	// of has users with something under way only.
	of    map[user]*struct{ running, waiting int }
	kept  map[Key]hemera.Checksum // at most mostKept
	order []Key                   // of kept, oldest first
}

// computation is one checksum that is waited for.
type computation struct {
	key     Key
	user    user               // who asked first
	askers  int                // callers that wait; it is cancelled without any
	started bool               // or it waits for its turn
	ctx     context.Context    // of run
	cancel  context.CancelFunc // of ctx
	run     func(context.Context) (hemera.Checksum, error)
	done    chan struct{} // closed when sum and err are there
	sum     hemera.Checksum
	err     error
}

// New has nothing under way and nothing kept. panics contains those of computations; it may be nil.
func New(panics *contain.Panics) *Sums {
	return &Sums{panics: panics, under: map[Key]*computation{}, of: map[user]*struct{ running, waiting int }{}, kept: map[Key]hemera.Checksum{}}
}

// Do returns the result of run, or that of another caller's run for the same key. It fails with Overloaded when too many
// wait.
func (s *Sums) Do(ctx context.Context, who hemera.Identity, key Key, run func(context.Context) (hemera.Checksum, error)) (hemera.Checksum, error) {
	s.mu.Lock()
	if sum, ok := s.kept[key]; ok {
		s.mu.Unlock()
		return sum, nil
	}
	c := s.under[key]
	if c == nil {
		var err error
		if c, err = s.add(ctx, userOf(who), key, run); err != nil {
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
		// The others still wait. Only the last caller ends the computation.
		s.leave(c)
		return hemera.Checksum{}, errs.Wrap(context.Cause(ctx), "manager.Checksum", "")
	}
}

// add makes a computation, and starts it if it may start. The caller holds mu.
func (s *Sums) add(ctx context.Context, asker user, key Key, run func(context.Context) (hemera.Checksum, error)) (*computation, error) {
	count := s.of[asker]
	if count == nil {
		count = new(struct{ running, waiting int })
		s.of[asker] = count
	}
	// Refused rather than queued without bounds: a checksum that waits for an hour is of no use to its client.
	if len(s.waiting) >= mostWaiting || count.waiting >= waitingOfUser {
		s.forget(asker)
		return nil, errs.New(errs.Overloaded, "manager.Checksum", "", "too many checksums that are not stored are asked for").
			WithRemedy("ask for the kind that the file is stored with, or for fewer at a time")
	}
	c := &computation{key: key, user: asker, run: run, done: make(chan struct{})}
	// It continues for callers that ask later, even if the first has gone.
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.under[key] = c
	s.waiting = append(s.waiting, c)
	count.waiting++
	s.start()
	return c, nil
}

// start starts what may start, oldest first. The caller holds mu.
func (s *Sums) start() {
	// In place: the line keeps its order and its memory.
	kept := s.waiting[:0]
	for _, c := range s.waiting {
		count := s.of[c.user]
		if s.running >= mostRunning || count.running >= ofUser {
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
func (s *Sums) compute(c *computation) {
	var sum hemera.Checksum
	err := s.panics.Do("manager.Checksum", "", func() (err error) {
		sum, err = c.run(c.ctx)
		return err
	})
	c.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	c.sum, c.err = sum, err
	close(c.done)
	// Another may be under way for the key, if all callers of this one left and a new one asked.
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
func (s *Sums) keep(key Key, sum hemera.Checksum) {
	if _, ok := s.kept[key]; !ok {
		if len(s.order) >= mostKept {
			delete(s.kept, s.order[0])
			s.order = s.order[1:]
		}
		s.order = append(s.order, key)
	}
	s.kept[key] = sum
}

// leave ends the wait of one caller: with the last of them the computation ends.
func (s *Sums) leave(c *computation) {
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
func (s *Sums) forget(asker user) {
	if c := s.of[asker]; c != nil && *c == (struct{ running, waiting int }{}) {
		delete(s.of, asker)
	}
}
