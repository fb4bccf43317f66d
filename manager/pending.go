package manager

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/namespace/accounts"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Bounds of the writes that can be under way at once: of all; and unless [Options] say otherwise of one user, and
// of one session. Admins are bounded by the first alone.
const (
	// Users and sessions have their own, lower bounds; this one keeps the table within the memory.
	pendingMax     = 1 << 20
	PendingUser    = 1 << 14
	PendingSession = 1 << 12
)

// pending is the table of writes begun and not committed: one lock per name, and how many writes
// each disk has. It is in memory only; after a restart nothing is locked, and the generation a
// commit must replace decides between writers.
type pending struct {
	seed    maphash.Seed    // of this process: clients cannot choose names that meet in one stripe
	stripes [stripes]stripe // by the name's hash
	total   atomic.Int64    // writes in all stripes
	ends    atomic.Uint64   // locks freed since the start
	holders holders         // bounds of users and sessions, with locks of their own
	// processes is taken with the lock of a stripe held, and no lock within it.
	processes processes
	// writers has a counter for each disk, by its id: ids are given out in order. It is read for each
	// disk at each open, so without a lock; grow is held to replace it by a longer one.
	writers atomic.Pointer[[]*atomic.Int64]
	grow    sync.Mutex
	claims  *accounts.Claims // what these writes, and those that heads keep, take of quotas; with a lock of its own
	recalls recalls          // which are no writes, and count as writes of their disks
	granted granted          // conversions, with a lock of its own
	// renamed has the names of writes that were renamed, by their nonces: a capability still says the first one.
	renamed sync.Map
	settled settled // writes of earlier lives that are not to be announced any more, with a lock of its own
}

// stripes is in how many parts the table is locked: enough that every processor finds one free.
const stripes = 256

// stripe is the part of the table that has the names of one hash.
type stripe struct {
	mu     sync.Mutex      // guards all below
	writes map[name]*write // by the name that the commit will make or replace
	ended  uint64          // what ends was when a lock of these names was freed last
	// converting has the names whose conversion is being committed, and what is closed when that is over; converted is
	// what ends was when one of these names was converted last.
	converting map[name]chan struct{}
	converted  uint64
}

// name is a name in a directory: what a lock is for. It stays the same while a directory above is renamed.
type name struct {
	parent hemera.FileID // the directory's id
	name   string
}

// write is one write under way. Who began it and where it is does not change, as a rename makes another record of it;
// the rest is guarded by the lock of its name's stripe.
type write struct {
	nonce   uint64            // of its capability: names the write
	file    hemera.FileID     // that it makes or changes
	gen     hemera.Generation // that it makes
	path    string            // as it was at the open, or after its own rename
	who     hemera.Identity   // as the door found out
	session string            // of the client at a door; a secret
	head    hemera.NodeID     // gathers the write and commits it
	size    int64             // announced
	began   time.Time         // at its open
	expires time.Time         // another write may take its lock then
	permit  *hemera.Permit    // for its writer to find it again, at its name
	process string            // that opened it; see hemera.OpenRequest
	mode    uint32            // of the file

	disks   []hemera.DiskID // its targets at the open, which count it in writers
	limited bool            // it has a claim on quotas, under its nonce
	counted counted         // in holders
	report  headReport      // what its head said last
	ended   chan struct{}   // closed when the lock is freed; nil while no caller waits for that
	renamed bool            // and in pending.renamed
	resumed bool            // granted by an earlier life of the manager, whose sessions are gone, and announced by its head
}

// taker is a client that asks for the lock of a name, and the way in which it asks.
type taker struct {
	*write
	claim     *accounts.Claim           // on quotas; nil where no limit holds
	force     bool                      // take the lock from any writer: the later commit wins
	exclusive bool                      // the name must not be taken, by a write under way neither
	ended     []string                  // earlier sessions of the same client
	tried     []hemera.NodeID           // nodes that failed this client in this open
	since     uint64                    // what pending.ends was before the name was looked up
	left      func(session string) bool // reports whether a session is connected to no door any more; nil: not known
}

// sameUser reports whether both writes are of one user, and whether from one host.
func (w *write) sameUser(other *write) (user, host bool) {
	user = w.who.UID == other.who.UID && w.who.Name == other.who.Name
	return user, user && w.who.Host == other.who.Host
}

// comesBack reports whether the lock is the taker's own. Of an exclusive create there is one winner: it is
// known by a session that has ended, as the client was cut off before it heard of its open, or by the head,
// to which nobody else was sent. Any other writer is believed when user and host are the same: if both
// writes live, the first to commit wins, and the close of the other fails, so nothing is lost unseen.
func (t *taker) comesBack(old *write) bool {
	user, host := t.sameUser(old)
	if !t.exclusive {
		return host
	}
	return user && slices.Contains(t.ended, old.session) || host && slices.Contains(t.tried, old.head)
}

// replaces reports whether the taker may have the lock of a writer that is gone: one of the same user and host,
// whose session has left and whose head says that nobody has had the write open for abandonTime.
func (t *taker) replaces(old *write, now time.Time) bool {
	return t.mayBeGone(old) && old.report.fresh(now) && !old.report.attached && old.report.idle+now.Sub(old.report.at) >= abandonTime
}

// mayBeGone reports whether the writer seems to be gone, as far as the manager sees. Its head knows.
func (t *taker) mayBeGone(old *write) bool {
	_, host := t.sameUser(old)
	return t.exclusive && host && t.left != nil && (old.resumed || t.left(old.session))
}

// held returns the error for a caller that comes after the writer of a name. It is a lostWriter if the manager must ask
// the head.
func (t *taker) held(n name, old *write, now time.Time) error {
	// A head that said a moment ago that a client has the file open is not asked again.
	if t.mayBeGone(old) && !(old.report.fresh(now) && old.report.attached) {
		return lostWriter{old.head, ask{n, hemera.WriteRef{File: old.file, Gen: old.gen, Nonce: old.nonce}}, old.expires}
	}
	if t.exclusive {
		return errs.New(errs.Exists, "manager.Open", n.name, "the file is being made by another writer ("+old.who.Name+")").
			WithRemedy("wait until it is closed, or cancelled")
	}
	return errs.New(errs.Locked, "manager.Open", n.name, "another writer ("+old.who.Name+") holds the file").
		WithRemedy("try again when it is closed, or open with force")
}

// newPending makes a table without writes, which claim quotas in claims. At most ofUser writes are of one user, and ofSession of one
// session; 0 is the default.
func newPending(claims *accounts.Claims, ofUser, ofSession int) *pending {
	p := &pending{seed: maphash.MakeSeed(), claims: claims, holders: newHolders(ofUser, ofSession)}
	p.writers.Store(new([]*atomic.Int64))
	for i := range p.stripes {
		p.stripes[i].writes = map[name]*write{}
	}
	return p
}

// lock returns the name's stripe, locked.
func (p *pending) lock(n name) *stripe {
	s := &p.stripes[p.index(n)]
	s.mu.Lock()
	return s
}

// index returns the stripe of a name.
func (p *pending) index(n name) uint64 { return maphash.Comparable(p.seed, n) % stripes }

// begin takes the lock of a name. Locked, or Exists for an exclusive create, when another has it; see
// taker. OverQuota when the write's claim does not fit, Overloaded when too much is under way, and
// errOutdated when a write of the name may have ended since it was looked up.
func (p *pending) begin(n name, t *taker, now time.Time) error {
	s := p.lock(n)
	defer s.mu.Unlock()
	old := s.writes[n]
	if err := s.outdatedBy(n, t); err != nil {
		return err
	}
	switch {
	// A lock is the taker's if it is free, if its time is over, if it is the taker's own, or if its writer is gone.
	case old != nil && !t.force && now.Before(old.expires) && !t.comesBack(old) && !t.replaces(old, now):
		return t.held(n, old, now)
	// A write of this stripe ended after the name was looked up, and may have made it. An exclusive create has to look
	// again, or it would take a name that exists by now.
	case old == nil && t.exclusive && s.ended > t.since:
		return errOutdated
	}
	// What can refuse the write comes before the old one is dropped: then everything stays as it was.
	if err := p.holders.take(t.write); err != nil {
		return err
	}
	t.limited = t.claim != nil
	if err := claimed(p.claims.Take(t.write.claim(), t.claim, old.claim())); err != nil {
		p.holders.release(t.write)
		return err
	}
	if old != nil {
		// Take replaced its claim in one step, so that drop must not give it back a second time.
		old.limited = false
		p.drop(s, n, old)
	}
	p.put(s, n, t.write)
	return nil
}

// put gives a write the lock of its name, which is free. The stripe is locked.
func (p *pending) put(s *stripe, n name, w *write) {
	p.total.Add(1)
	s.writes[n] = w
	p.processes.add(w.process, n)
	// Last: placement reads the counters without a lock, and a write that was refused must not show there.
	p.count(w.disks, 1)
}

// end frees the lock if the write with the nonce still holds it.
func (p *pending) end(n name, nonce uint64) {
	p.claims.ReleaseKept(accounts.ClaimID(nonce))
	s, n, w := p.find(n, nonce)
	defer s.mu.Unlock()
	if w != nil {
		p.drop(s, n, w)
	} else {
		// After a restart the table has no write for a commit that comes.
		s.ended = p.ends.Add(1) // it may have made the name all the same
		p.settled.over(nonce)   // and an announcement of it may be on its way
	}
}

// leaves refuses the commit of a write whose client did not come back when another write of the name is under way: that one
// is newer, and its close would fail.
func (p *pending) leaves(n name, nonce uint64) error {
	s, n, w := p.find(n, nonce)
	defer s.mu.Unlock()
	if newer := s.writes[n]; w == nil && newer != nil {
		return errs.New(errs.Conflict, "manager.Commit", n.name, "its client did not come back, and "+newer.who.Name+" writes the file now")
	}
	return nil
}

// disksOf returns the disks that the name's write was given at its open; none if no write is under way.
func (p *pending) disksOf(n name) []hemera.DiskID {
	s := p.lock(n)
	defer s.mu.Unlock()
	if w := s.writes[n]; w != nil {
		return w.disks
	}
	return nil
}

// holder returns the write that has the name's lock, or nil.
func (p *pending) holder(n name) (who hemera.Identity, disks []hemera.DiskID, expires time.Time, ok bool) {
	s := p.lock(n)
	defer s.mu.Unlock()
	w := s.writes[n]
	if w == nil {
		return who, nil, expires, false
	}
	return w.who, w.disks, w.expires, true
}

// drop ends a write: its lock, its claim on quotas, and what it counts for. The stripe is locked.
func (p *pending) drop(s *stripe, n name, w *write) {
	p.free(s, n, w)
	// Most writes are not renamed, and a sync.Map is not free to ask.
	if w.renamed {
		p.renamed.Delete(w.nonce)
	}
	p.total.Add(-1)
	p.holders.release(w)
	p.count(w.disks, -1)
	// Last: when there is room on quotas again, nothing else of the write is left.
	if w.limited {
		p.claims.Release(accounts.ClaimID(w.nonce))
	}
}

// awaited returns a channel that is closed at the end of the write under way of the name, and the write's session, if the process of the user
// began it; nil else.
func (p *pending) awaited(n name, who hemera.Identity, process string) (ended <-chan struct{}, session string) {
	s := p.lock(n)
	defer s.mu.Unlock()
	w := s.own(n, who, process)
	if w == nil {
		return nil, ""
	}
	if w.ended == nil {
		// Made by the first that waits: nearly no write is ever waited for.
		w.ended = make(chan struct{})
	}
	return w.ended, w.session
}

// free takes a write from its name.
func (p *pending) free(s *stripe, n name, w *write) {
	delete(s.writes, n)
	if w.ended != nil {
		// Those that wait look the name up again; the channel is not used after.
		close(w.ended)
	}
	s.ended = p.ends.Add(1)
	p.processes.remove(w.process, n)
}

// count adds to the writes of each disk.
func (p *pending) count(disks []hemera.DiskID, by int64) {
	for _, d := range disks {
		p.counter(d).Add(by)
	}
}

// counter returns the count of a disk. A new id makes the table longer; readers keep the one they have.
func (p *pending) counter(d hemera.DiskID) *atomic.Int64 {
	if all := *p.writers.Load(); int(d) < len(all) {
		return all[d]
	}
	p.grow.Lock()
	defer p.grow.Unlock()
	all := slices.Clone(*p.writers.Load())
	// Counters are pointers, so those of known disks stay the same in the longer table.
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

// size returns the number of writes under way.
func (p *pending) size() int { return int(p.total.Load()) }
