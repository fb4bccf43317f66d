package manager

import (
	"context"
	"errors"
	"time"

	"hemera/namespace/accounts"
	"hemera/rules/quota"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A head keeps a write whose client did not come back for a person to decide. It holds no lock then, and what its bytes take of
// quotas stays claimed until its commit or abort (package accounts). A head says again what it keeps when it has a new lease.

// keptTime is the end of a claim that its head never ended, a little after the head's own time.
const keptTime = hemera.KeptLifetime + 10*time.Minute

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
func (ctl *control) claimOfKept(ctx context.Context, c *hemera.Capability, size int64) (*accounts.Claim, error) {
	e, _, err := ctl.tree.Resolve(ctx, c.File)
	if err != nil && !errors.Is(err, errs.NotFound) || err == nil && e.Gen == c.Gen {
		return nil, err
	}
	prep, err := ctl.tree.PrepareBelow(ctx, c.Who, c.Path)
	if err != nil || len(prep.Quota) == 0 {
		return nil, err
	}
	own := &accounts.Claim{Standings: prep.Quota, Want: quota.Want{Open: c.Size == 0}, Unpromised: ctl.lostClaim(c.Nonce)}
	if c.Base == nil {
		own.Want.Files = 1
	} else {
		own.Base = hemera.QuotaAmount{Bytes: c.Base.Size, Physical: bytesAt(c, c.Base.Size)}
	}
	if c.Size > 0 {
		promised := min(size, c.Size)
		most := own.Taking(promised, bytesAt(c, promised))
		own.Want.Bytes, own.Want.Physical = most.Bytes, most.Physical
	}
	return own, nil
}

// keep frees the lock of a write, and keeps its claim. It reports whether the write is known.
func (p *pending) keep(c *hemera.Capability, size int64, now time.Time) bool {
	s, n, w := p.find(name{c.Parent, c.Name}, c.Nonce)
	if w != nil {
		if !w.limited {
			// It was promised nothing, and its commit must still find that.
			p.keepClaim(c, &accounts.Claim{}, size, now)
		}
		w.limited = false // the claim stays held
		p.drop(s, n, w)
	} else {
		p.settled.over(c.Nonce) // an announcement of it may be on its way
	}
	s.mu.Unlock()
	known := p.claims.Keep(accounts.ClaimID(c.Nonce), size, bytesAt(c, size), now.Add(keptTime))
	return known || w != nil
}

// keepClaim holds a new claim for a write that is kept. It reports whether there is room for one more.
func (p *pending) keepClaim(c *hemera.Capability, fresh *accounts.Claim, size int64, now time.Time) bool {
	return p.claims.KeepNew(accounts.ClaimID(c.Nonce), fresh, size, bytesAt(c, size), now.Add(keptTime))
}
