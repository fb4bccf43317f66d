package manager

import (
	"sync"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/quota"
)

// pendingMax bounds the writes that can be under way at once.
const pendingMax = 1 << 20

// pending is the table of writes begun and not committed: one lock per name, and how many writes
// each disk has. It is in memory only; after a restart nothing is locked, and the generation a
// commit must replace decides between writers.
type pending struct {
	mu     sync.Mutex
	writes map[name]*write
	// writers is read for each disk at each open, so without the lock: DiskID → *atomic.Int64. A disk
	// that once had a writer stays in it.
	writers sync.Map
	// held is what the writes' claims come to, by whose quota they touch.
	held map[quota.Account]hemera.QuotaAmount
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
	return &pending{writes: map[name]*write{}, held: map[quota.Account]hemera.QuotaAmount{}}
}

// begin takes the lock of a name. Another's lock is Locked, unless force is set. The same identity on
// the same host gets through: it comes back after it lost its connection or its node. If both of its
// writes live, the first to commit wins and the other is told at its close: nothing is lost unseen.
// OverQuota when the write's claim does not fit.
func (p *pending) begin(n name, w *write, force bool, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.writes[n]
	if old != nil {
		back := old.who.UID == w.who.UID && old.who.Name == w.who.Name && old.who.Host == w.who.Host
		if !force && !back && now.Before(old.expires) {
			return errs.New(errs.Locked, "open", n.name, "another writer ("+old.who.Name+") holds the file").
				WithRemedy("try again when it is closed, or open with force")
		}
	}
	if err := p.admit(w.claim, old.claimed()); err != nil {
		return err
	}
	if old != nil {
		p.drop(n, old)
	}
	if len(p.writes) >= pendingMax {
		return errs.New(errs.Overloaded, "open", n.name, "too many files are being written")
	}
	p.writes[n] = w
	p.count(w.disks, 1)
	p.hold(w.claim, 1)
	return nil
}

// claimed is the claim of a write that may not be there.
func (w *write) claimed() *claim {
	if w == nil {
		return nil
	}
	return w.claim
}

// end frees the lock if the write with the nonce still holds it.
func (p *pending) end(n name, nonce uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.writes[n]; w != nil && w.nonce == nonce {
		p.drop(n, w)
	}
}

// move records that a write left failed disks for others and returns all that failed it so far.
func (p *pending) move(n name, nonce uint64, failed []hemera.DiskID) []hemera.DiskID {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.writes[n]
	if w == nil || w.nonce != nonce {
		return failed
	}
	w.failed = append(w.failed, failed...)
	if len(w.failed) > hemera.PiecesMax {
		w.failed = w.failed[len(w.failed)-hemera.PiecesMax:]
	}
	return append([]hemera.DiskID(nil), w.failed...)
}

func (p *pending) drop(n name, w *write) {
	delete(p.writes, n)
	p.count(w.disks, -1)
	p.hold(w.claim, -1)
}

func (p *pending) expire(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, w := range p.writes {
		if now.After(w.expires) {
			p.drop(n, w)
		}
	}
}

func (p *pending) count(disks []hemera.DiskID, by int64) {
	for _, d := range disks {
		n, ok := p.writers.Load(d)
		if !ok {
			n, _ = p.writers.LoadOrStore(d, new(atomic.Int64))
		}
		n.(*atomic.Int64).Add(by)
	}
}

// load counts the writes under way on a disk.
func (p *pending) load(d hemera.DiskID) int {
	n, ok := p.writers.Load(d)
	if !ok {
		return 0
	}
	return int(n.(*atomic.Int64).Load())
}

// size is how many writes are under way.
func (p *pending) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.writes)
}
