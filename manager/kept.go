package manager

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"hemera/rules/quota"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A head keeps a write whose client did not come back for a person to decide. It holds no lock then, and what its bytes take of
// quotas stays claimed until its commit or abort: else a user had the room of the kept bytes beside all of its quota. The table
// is in memory like that of writes under way. A head says again what it keeps when it has a new lease.

const (
	// keptMax bounds the claims of kept writes: what 32 nodes keep. Those beyond it count when they are committed.
	keptMax = 1 << 14
	// keptTime is the end of a claim that its head never ended, a little after the head's own time.
	keptTime = hemera.KeptLifetime + 10*time.Minute
)

// keptWrites are the claims of kept writes, by their nonces.
type keptWrites struct {
	count  atomic.Int64 // of writes, for those that end a write: most clusters keep none
	mu     sync.Mutex   // guards writes; taken before that of claims
	writes map[uint64]keptWrite
}

// keptWrite is the claim of one kept write.
type keptWrite struct {
	claim   *claim // nil where no limit holds
	expires time.Time
}

// Keep implements hemera.Control.
func (ctl *control) Keep(ctx context.Context, permit *hemera.Permit, size int64) (err error) {
	const op = "manager.Keep"
	defer ctl.ops.begin("Keep").end(&err)
	permit, err = ctl.verifyWrite(ctx, op, permit)
	if err != nil {
		return err
	}
	c := &permit.Capability
	// A head has no more than the quota let it take.
	most := int64(hemera.FileSizeMax)
	if c.SizeMax > 0 {
		most = c.SizeMax
	}
	size = min(max(size, 0), most)
	if ctl.pending.keep(c, size, ctl.now()) {
		return nil
	}
	fresh, err := ctl.claimOfKept(ctx, c, size)
	if err != nil {
		return errs.Wrap(err, op, c.Path)
	}
	if fresh != nil && !ctl.pending.keepClaim(c, fresh, size, ctl.now()) {
		ctl.log.Warn("too many writes are kept: this one holds no claim of its quota", "path", c.Path, "user", c.Who.Name, "bytes", size)
	}
	return nil
}

// claimOfKept returns the claim of a write that this manager has no record of, as it was started since. It returns nil where no limit holds, and for
// one that was committed.
func (ctl *control) claimOfKept(ctx context.Context, c *hemera.Capability, size int64) (*claim, error) {
	e, _, err := ctl.tree.Resolve(ctx, c.File)
	if err != nil && !errors.Is(err, errs.NotFound) || err == nil && e.Gen == c.Gen {
		return nil, err
	}
	prep, err := ctl.tree.PrepareBelow(ctx, c.Who, c.Path)
	if err != nil || len(prep.Quota) == 0 {
		return nil, err
	}
	own := &claim{standings: prep.Quota, want: quota.Want{Open: c.Size == 0}}
	if c.Base == nil {
		own.want.Files = 1
	} else {
		own.base = hemera.QuotaAmount{Bytes: c.Base.Size, Physical: bytesAt(c, c.Base.Size)}
	}
	if c.Size > 0 {
		promised := own.of(c, min(size, c.Size))
		own.want.Bytes, own.want.Physical = promised.Bytes, promised.Physical
	}
	return own, nil
}

// keep frees the lock of a write, and keeps its claim. It reports whether the write is known.
func (p *pending) keep(c *hemera.Capability, size int64, now time.Time) bool {
	s, n, w := p.find(name{c.Parent, c.Name}, c.Nonce)
	own := w.claimed()
	if w != nil {
		w.claim = nil // it stays held
		p.drop(s, n, w)
	}
	s.mu.Unlock()
	k := &p.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	old, known := k.writes[c.Nonce]
	switch {
	case w == nil && !known:
		return false
	case w == nil:
		own = old.claim
	case len(k.writes) >= keptMax && !known:
		p.claims.release(own)
		return true
	}
	p.claims.keep(own, own.of(c, size))
	k.put(c.Nonce, keptWrite{own, now.Add(keptTime)})
	return true
}

// keepClaim holds a new claim for a write that is kept. It reports whether there is room for one more.
func (p *pending) keepClaim(c *hemera.Capability, fresh *claim, size int64, now time.Time) bool {
	k := &p.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.writes[c.Nonce]; known {
		return true
	}
	if len(k.writes) >= keptMax {
		return false
	}
	amount := fresh.of(c, size)
	fresh.kept = &amount
	p.claims.begin(fresh)
	k.put(c.Nonce, keptWrite{fresh, now.Add(keptTime)})
	return true
}

// put adds or replaces a write. mu is held.
func (k *keptWrites) put(nonce uint64, w keptWrite) {
	if k.writes == nil {
		k.writes = map[uint64]keptWrite{}
	}
	k.writes[nonce] = w
	k.count.Store(int64(len(k.writes)))
}

// find returns the claim of a kept write, and whether there is such a write.
func (k *keptWrites) find(nonce uint64) (*claim, bool) {
	if k.count.Load() == 0 {
		return nil, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	w, ok := k.writes[nonce]
	return w.claim, ok
}

// endKept gives the claim of a kept write back, if there is one.
func (p *pending) endKept(nonce uint64) {
	k := &p.kept
	if k.count.Load() == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p.removeKept(nonce)
}

// removeKept does what endKept does, with mu of kept held.
func (p *pending) removeKept(nonce uint64) {
	k := &p.kept
	w, ok := k.writes[nonce]
	if !ok {
		return
	}
	delete(k.writes, nonce)
	k.count.Store(int64(len(k.writes)))
	p.claims.release(w.claim)
}

// expireKept gives back the claims whose time is over.
func (p *pending) expireKept(now time.Time) {
	k := &p.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	for nonce, w := range k.writes {
		if now.After(w.expires) {
			p.removeKept(nonce)
		}
	}
}
