package manager

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/errs"
)

// pendingMax bounds the writes that can be under way at once.
const pendingMax = 1 << 20

// pending is the table of writes begun and not committed: one lock per name, and how many writes
// each disk has. It is in memory only; after a restart nothing is locked, and the generation a
// commit must replace decides between writers.
type pending struct {
	seed    maphash.Seed
	stripes [stripes]stripe // by the name's hash
	total   atomic.Int64
	// writers has a counter for each disk, by its id: ids are given out in order. It is read for each
	// disk at each open, so without a lock; grow is held to replace it by a longer one.
	writers atomic.Pointer[[]*atomic.Int64]
	grow    sync.Mutex
	claims  claims
}

// stripes is in how many parts the table is locked: enough that every processor finds one free.
const stripes = 256

type stripe struct {
	mu     sync.Mutex
	writes map[name]*write
}

type name struct {
	parent hemera.FileID
	name   string
}

type write struct {
	nonce   uint64
	who     hemera.Identity
	disks   []hemera.DiskID
	claim   *claim
	failed  []hemera.DiskID // disks that failed in this write, not to be chosen again
	expires time.Time
}

func newPending() *pending {
	p := &pending{seed: maphash.MakeSeed()}
	p.writers.Store(new([]*atomic.Int64))
	for i := range p.stripes {
		p.stripes[i].writes = map[name]*write{}
	}
	return p
}

// lock returns the name's stripe, locked.
func (p *pending) lock(n name) *stripe {
	s := &p.stripes[maphash.Comparable(p.seed, n)%stripes]
	s.mu.Lock()
	return s
}

// begin takes the lock of a name. Another's lock is Locked, unless force is set. The same identity on
// the same host gets through: it comes back after it lost its connection or its node. If both of its
// writes live, the first to commit wins and the other is told at its close: nothing is lost unseen.
// OverQuota when the write's claim does not fit.
func (p *pending) begin(n name, w *write, force bool, now time.Time) error {
	s := p.lock(n)
	defer s.mu.Unlock()
	old := s.writes[n]
	if old != nil {
		back := old.who.UID == w.who.UID && old.who.Name == w.who.Name && old.who.Host == w.who.Host
		if !force && !back && now.Before(old.expires) {
			return errs.New(errs.Locked, "open", n.name, "another writer ("+old.who.Name+") holds the file").
				WithRemedy("try again when it is closed, or open with force")
		}
	}
	if err := p.claims.take(w.claim, old.claimed()); err != nil {
		return err
	}
	if old != nil {
		old.claim = nil // it was given back
		p.drop(s, n, old)
	}
	if p.total.Add(1) > pendingMax {
		p.total.Add(-1)
		p.claims.release(w.claim)
		return errs.New(errs.Overloaded, "open", n.name, "too many files are being written")
	}
	s.writes[n] = w
	p.count(w.disks, 1)
	return nil
}

// end frees the lock if the write with the nonce still holds it.
func (p *pending) end(n name, nonce uint64) {
	s := p.lock(n)
	defer s.mu.Unlock()
	if w := s.writes[n]; w != nil && w.nonce == nonce {
		p.drop(s, n, w)
	}
}

// move records that a write left failed disks for others and returns all that failed it so far.
func (p *pending) move(n name, nonce uint64, failed []hemera.DiskID) []hemera.DiskID {
	s := p.lock(n)
	defer s.mu.Unlock()
	w := s.writes[n]
	if w == nil || w.nonce != nonce {
		return failed
	}
	w.failed = append(w.failed, failed...)
	if len(w.failed) > hemera.PiecesMax {
		w.failed = w.failed[len(w.failed)-hemera.PiecesMax:]
	}
	return append([]hemera.DiskID(nil), w.failed...)
}

// disksOf are the disks that the name's write was given at its open; none if none is under way.
func (p *pending) disksOf(n name) []hemera.DiskID {
	s := p.lock(n)
	defer s.mu.Unlock()
	if w := s.writes[n]; w != nil {
		return w.disks
	}
	return nil
}

// holder is the write that has the name's lock, if there is one.
func (p *pending) holder(n name) (who hemera.Identity, disks []hemera.DiskID, expires time.Time, ok bool) {
	s := p.lock(n)
	defer s.mu.Unlock()
	w := s.writes[n]
	if w == nil {
		return who, nil, expires, false
	}
	return w.who, w.disks, w.expires, true
}

func (p *pending) drop(s *stripe, n name, w *write) {
	delete(s.writes, n)
	p.total.Add(-1)
	p.count(w.disks, -1)
	p.claims.release(w.claim)
}

func (p *pending) expire(now time.Time) {
	for i := range p.stripes {
		s := &p.stripes[i]
		s.mu.Lock()
		for n, w := range s.writes {
			if now.After(w.expires) {
				p.drop(s, n, w)
			}
		}
		s.mu.Unlock()
	}
}

func (p *pending) count(disks []hemera.DiskID, by int64) {
	for _, d := range disks {
		p.counter(d).Add(by)
	}
}

func (p *pending) counter(d hemera.DiskID) *atomic.Int64 {
	if all := *p.writers.Load(); int(d) < len(all) {
		return all[d]
	}
	p.grow.Lock()
	defer p.grow.Unlock()
	all := slices.Clone(*p.writers.Load())
	for len(all) <= int(d) {
		all = append(all, new(atomic.Int64))
	}
	p.writers.Store(&all)
	return all[d]
}

// load counts the writes under way on a disk.
func (p *pending) load(d hemera.DiskID) int {
	if all := *p.writers.Load(); int(d) < len(all) {
		return int(all[d].Load())
	}
	return 0
}

// size is how many writes are under way.
func (p *pending) size() int { return int(p.total.Load()) }
