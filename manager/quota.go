package manager

import (
	"context"

	"hemera"
	"hemera/errs"
	"hemera/namespace"
	"hemera/quota"
)

// SetQuota implements hemera.QuotaAdmin.
func (m *Manager) SetQuota(ctx context.Context, key hemera.QuotaKey, limits hemera.QuotaAmount) (err error) {
	defer m.ops.begin("SetQuota")(&err)
	return m.tree.SetQuota(ctx, hemera.SystemIdentity(), key, limits)
}

// RemoveQuota implements hemera.QuotaAdmin.
func (m *Manager) RemoveQuota(ctx context.Context, key hemera.QuotaKey) (err error) {
	defer m.ops.begin("RemoveQuota")(&err)
	return m.tree.RemoveQuota(ctx, hemera.SystemIdentity(), key)
}

// Quotas implements hemera.QuotaAdmin.
func (m *Manager) Quotas(ctx context.Context, path string) (rows []hemera.QuotaRow, err error) {
	defer m.ops.begin("Quotas")(&err)
	return m.tree.Quotas(ctx, hemera.SystemIdentity(), path)
}

// claim is what a write may come to use beyond what its file uses now, and whose limits that
// touches. It counts from the open to the commit, so that writes at the same time do not each take
// the same last bytes; it dies with the process like everything pending.
type claim struct {
	standings []quota.Standing
	want      quota.Want
}

// claimFor is what a write asks of quotas; nil where no limit holds. Without a size in the request
// nobody knows what will come: then something must be left, and the rest is settled at the commit.
func claimFor(prep namespace.Prepared, r hemera.OpenRequest, c hemera.Capability) *claim {
	if len(prep.Quota) == 0 {
		return nil
	}
	want := quota.Want{Open: r.Size == 0}
	if !prep.Existing {
		want.Files = 1
	}
	if r.Size > 0 {
		e := prep.Entry
		want.Bytes = c.Size - e.Size
		want.Physical = pieceSize(c.Layout, c.Size)*int64(len(c.Targets)) - pieceSize(e.Layout, e.Size)*int64(len(e.Pieces))
	}
	return &claim{prep.Quota, want}
}

// pieceSize is how many bytes each piece of a content has.
func pieceSize(l hemera.Layout, size int64) int64 {
	data := max(1, int64(l.Data))
	return (size + data - 1) / data
}

// held is what the claim takes from others meanwhile; a write that gives back does so at its commit.
func (c *claim) held() hemera.QuotaAmount {
	return hemera.QuotaAmount{Files: c.want.Files, Bytes: max(0, c.want.Bytes), Physical: max(0, c.want.Physical)}
}

// admit refuses a claim that, with all others but the one it replaces, exceeds a limit.
func (p *pending) admit(c, replaces *claim) error {
	if c == nil {
		return nil
	}
	standings := make([]quota.Standing, len(c.standings))
	for i, s := range c.standings {
		s.Used = s.Used.Add(p.held[s.Account])
		if replaces.touches(s.Account) {
			s.Used = s.Used.Add(replaces.held().Negate())
		}
		standings[i] = s
	}
	d := quota.Decide(standings, c.want)
	if d.Allowed {
		return nil
	}
	return errs.New(errs.OverQuota, "quota of", d.Whose, d.Why).WithRemedy(d.Remedy)
}

func (c *claim) touches(a quota.Account) bool {
	if c == nil {
		return false
	}
	for _, s := range c.standings {
		if s.Account == a {
			return true
		}
	}
	return false
}

// hold counts a claim, or, by -1, forgets it.
func (p *pending) hold(c *claim, by int) {
	if c == nil {
		return
	}
	amount := c.held()
	if by < 0 {
		amount = amount.Negate()
	}
	for _, s := range c.standings {
		if sum := p.held[s.Account].Add(amount); sum == (hemera.QuotaAmount{}) {
			delete(p.held, s.Account)
		} else {
			p.held[s.Account] = sum
		}
	}
}
