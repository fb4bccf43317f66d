package limits

import (
	"sync"
	"sync/atomic"
	"time"
)

// Bounds has the sizes of one budget. Total is for all clients together, Share for one client; a Share of 0 is the Total.
// Reserve is in addition to Total, and only [Account.TakeReserved] uses it.
type Bounds struct {
	Total, Share, Reserve int64
}

// Verdict is the answer to a request for a part of a budget.
type Verdict uint8

// The verdicts.
const (
	Fits      Verdict = iota // the request was granted
	ShareFull                // the client has used its share; nothing was taken
	TotalFull                // the budget is used up; nothing was taken
)

// String returns the verdict in words, for errors and logs.
func (v Verdict) String() string {
	switch v {
	case Fits:
		return "fits"
	case ShareFull:
		return "this client has its share"
	}
	return "all are in use"
}

// Usage is a snapshot of a budget. Refused counts since the budget was made.
type Usage struct {
	Name                       string
	Used, Total, Share         int64
	Clients                    int       // with an account
	RefusedShare, RefusedTotal int64     // by the bound that was reached
	LastRefused                time.Time // zero: never
}

// Budget bounds one kind of resource. Take and Give change two counters without a lock; accounts are opened and closed
// under one.
type Budget[K comparable] struct {
	name         string
	bounds       Bounds
	used         atomic.Int64 // of all accounts together
	refusedShare atomic.Int64
	refusedTotal atomic.Int64
	lastRefused  atomic.Int64 // nanoseconds since 1970

	mu       sync.Mutex // guards accounts and their holders
	accounts map[K]*Account[K]
}

// Account has one client's use of a budget.
type Account[K comparable] struct {
	budget  *Budget[K]
	key     K
	share   int64
	used    atomic.Int64
	holders int // guarded by budget.mu
}

// NewBudget makes a budget. The name is for [Usage].
func NewBudget[K comparable](name string, b Bounds) *Budget[K] {
	if b.Share <= 0 || b.Share > b.Total {
		b.Share = b.Total
	}
	return &Budget[K]{name: name, bounds: b, accounts: map[K]*Account[K]{}}
}

// Bounds returns the budget's sizes.
func (b *Budget[K]) Bounds() Bounds { return b.bounds }

// Usage returns the current use.
func (b *Budget[K]) Usage() Usage {
	b.mu.Lock()
	clients := len(b.accounts)
	b.mu.Unlock()
	u := Usage{Name: b.name, Used: b.used.Load(), Total: b.bounds.Total, Share: b.bounds.Share, Clients: clients,
		RefusedShare: b.refusedShare.Load(), RefusedTotal: b.refusedTotal.Load()}
	if last := b.lastRefused.Load(); last > 0 {
		u.LastRefused = time.Unix(0, last)
	}
	return u
}

// refuse counts a refusal under its reason.
func (b *Budget[K]) refuse(why *atomic.Int64) {
	why.Add(1)
	b.lastRefused.Store(time.Now().UnixNano())
}

// Open returns the account of a client. All callers share it until the last has closed it.
func (b *Budget[K]) Open(key K) *Account[K] { return b.OpenShare(key, b.bounds.Share) }

// OpenShare works like Open with another share. The share applies only if the account is not open yet.
func (b *Budget[K]) OpenShare(key K, share int64) *Account[K] {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.accounts[key]
	if a == nil {
		a = &Account[K]{budget: b, key: key, share: share}
		b.accounts[key] = a
	}
	a.holders++
	return a
}

// Close ends one use of the account. The caller must have given back everything that it took for that use.
func (a *Account[K]) Close() {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.holders--; a.holders == 0 {
		delete(b.accounts, a.key)
	}
}

// Used returns the amount that the client has taken.
func (a *Account[K]) Used() int64 { return a.used.Load() }

// Take takes n, or nothing. It does not block.
func (a *Account[K]) Take(n int64) Verdict {
	b := a.budget
	if !within(&a.used, n, a.share) {
		if a.share < b.bounds.Total {
			b.refuse(&b.refusedShare)
			return ShareFull
		}
		b.refuse(&b.refusedTotal)
		return TotalFull
	}
	if !within(&b.used, n, b.bounds.Total) {
		a.used.Add(-n)
		b.refuse(&b.refusedTotal)
		return TotalFull
	}
	return Fits
}

// TakeReserved works like Take for admins, who may also use the reserve. It ignores the client's share.
func (a *Account[K]) TakeReserved(n int64) Verdict {
	b := a.budget
	if !within(&b.used, n, b.bounds.Total+b.bounds.Reserve) {
		b.refuse(&b.refusedTotal)
		return TotalFull
	}
	a.used.Add(n)
	return Fits
}

// Give gives back n that was taken.
func (a *Account[K]) Give(n int64) {
	a.used.Add(-n)
	a.budget.used.Add(-n)
}

// within adds n to used and reports true, unless the sum would be above the bound.
func within(used *atomic.Int64, n, bound int64) bool {
	if used.Add(n) <= bound {
		return true
	}
	used.Add(-n)
	return false
}
