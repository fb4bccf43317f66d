package accounts

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"hemera/rules/quota"
	"hemera/words/hemera"
)

// project is an account with a limit of ten bytes.
var project = quota.Account{Node: 5, Kind: hemera.QuotaProject}

// used returns the standing of an account that has so many bytes of ten.
func used(bytes int64) []quota.Standing {
	return []quota.Standing{{Account: project, Limits: hemera.QuotaAmount{Bytes: 10}, Used: hemera.QuotaAmount{Bytes: bytes}}}
}

// wanting returns the claim of a write that announced so many bytes.
func wanting(bytes int64, standings []quota.Standing, since hemera.QuotaAmount) *Claim {
	return &Claim{Standings: standings, Want: quota.Want{QuotaAmount: hemera.QuotaAmount{Files: 1, Bytes: bytes}}, Since: since}
}

// taken returns the bytes that claims and changes add to the account.
func (c *Claims) taken() int64 { return c.With(used(0))[0].Used.Bytes }

// A write that is opened from what was used before a rename is not promised what the rename takes, whenever that becomes visible.
func TestAClaimBesideAChangeThatIsUnderWay(t *testing.T) {
	var c Claims
	open := func(id ClaimID, used []quota.Standing, since hemera.QuotaAmount) (allowed, stale bool) {
		d, stale := c.Take(id, wanting(6, used, since), 0)
		return d.Allowed, stale
	}
	before := c.Returned()
	holding := c.hold([]Gain{{Account: project, Amount: hemera.QuotaAmount{Bytes: 5}}})
	if limits, _ := c.settle(Settlement{}, used(0)); limits[0].Used.Bytes != 0 {
		t.Errorf("another change, which sees this one in what is stored, counts it once more: %+v", limits)
	}
	if allowed, _ := open(1, used(0), before); allowed {
		t.Error("a claim beside a change takes the same room")
	}
	holding.End()
	holding.End()
	if allowed, stale := open(1, used(0), before); !allowed || !stale {
		t.Errorf("read before the change was visible: %v, %v", allowed, stale)
	}
	if allowed, _ := open(1, used(5), c.Returned()); allowed {
		t.Error("a claim of more than the change left")
	}
	if allowed, stale := open(1, used(4), c.Returned()); !allowed || stale || len(c.changing) != 0 {
		t.Errorf("%v, %v, %+v", allowed, stale, c.changing)
	}
}

// TestWhatACommitIsPromised: by its claim, and without one by what the commit says of its open.
func TestWhatACommitIsPromised(t *testing.T) {
	var c Claims
	other := quota.Account{Node: 6, Kind: hemera.QuotaProject}
	if d, stale := c.Take(1, wanting(6, used(0), hemera.QuotaAmount{}), 0); !d.Allowed || stale {
		t.Fatal("it fits")
	}
	c.KeepNew(2, &Claim{}, 3, 3, time.Unix(9, 0))
	for _, is := range []struct {
		s       Settlement
		account quota.Account
		want    int64 // not covered, of 6 bytes
		beside  int64 // counted of others
	}{
		{Settlement{Claim: 1}, other, 6, 0},
		{Settlement{Claim: 1, Promised: true}, project, 0, 0},
		{Settlement{Claim: 1}, project, 0, 0}, // its answer was lost, and it comes again
		{Settlement{Claim: 2, Promised: true}, project, 6, 0},
		{Settlement{Claim: 3}, project, 6, 0},
		{Settlement{Claim: 3, Promised: true}, project, 0, 0},
		{Settlement{}, project, 6, 0},
	} {
		limits, p := c.settle(is.s, used(0))
		if left := p.beyond(is.account, hemera.QuotaAmount{Bytes: 6}).Bytes; left != is.want || limits[0].Used.Bytes != is.beside {
			t.Errorf("%+v: %d of 6 bytes are not promised, %d are counted", is.s, left, limits[0].Used.Bytes)
		}
	}
	if _, p := c.settle(Settlement{Claim: 1}, used(0)); p.beyond(project, hemera.QuotaAmount{Bytes: 7, Files: 1}) != (hemera.QuotaAmount{Bytes: 7}) {
		t.Error("each amount is covered as a whole or not at all")
	}
	// Opens count it until it is released, as they may have read the usage of before.
	if c.taken() != 6 {
		t.Errorf("%d bytes are taken", c.taken())
	}
	c.Release(1)
	c.Release(2)
	if c.Returned().Bytes != 6 || len(c.claims)+len(c.kept)+len(c.held)+len(c.settled) != 0 {
		t.Errorf("%+v", &c)
	}
}

// TestAClaimThatIsReplacedIsGivenBack: its write was committed meanwhile, which an open does not see that read the usage before.
func TestAClaimThatIsReplacedIsGivenBack(t *testing.T) {
	var c Claims
	c.Take(1, wanting(6, used(0), hemera.QuotaAmount{}), 0)
	before := c.Returned()
	c.settle(Settlement{Claim: 1}, used(0))
	c.Take(2, wanting(0, used(6), c.Returned()), 1)
	if d, stale := c.Take(3, wanting(6, used(0), before), 0); d.Allowed && !stale {
		t.Error("the room of a content that is there is promised once more")
	}
}

// TestClaimsAddUp takes, replaces, settles, keeps, expires and releases claims by chance, beside a twin that adds up all claims each time.
func TestClaimsAddUp(t *testing.T) {
	for seed := range uint64(20) {
		h := &claiming{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 5)), twin: map[ClaimID]*twinClaim{}, last: 1}
		for range 2000 {
			h.now++
			h.step(ClaimID(1+h.r.Int64N(int64(h.last))), h.r.Int64N(1000))
			h.compare()
		}
		for id := range h.last + 1 {
			h.c.Release(id)
		}
		if len(h.c.claims)+len(h.c.kept)+len(h.c.held)+len(h.c.settled) != 0 {
			t.Errorf("seed %d: %v, %v are left", seed, h.c.held, h.c.settled)
		}
	}
}

// claiming is a history of claims on one account.
type claiming struct {
	t    *testing.T
	seed uint64
	r    *rand.Rand
	c    Claims
	twin map[ClaimID]*twinClaim
	back int64   // bytes that were given back
	last ClaimID // the largest that was used
	now  int64   // in seconds
}

// twinClaim is a claim as the twin has it.
type twinClaim struct {
	bytes   int64
	settled bool
	until   int64 // of a kept one; 0: it is under way
}

// end ends a claim of the twin.
func (h *claiming) end(id ClaimID) {
	if is := h.twin[id]; is != nil {
		h.back += is.bytes
		delete(h.twin, id)
	}
}

// step does one thing with a claim, which may not be there.
func (h *claiming) step(id ClaimID, bytes int64) {
	is, c, until := h.twin[id], &h.c, time.Unix(h.now+5, 0)
	switch h.r.IntN(8) {
	case 0, 1:
		h.take(id, bytes)
	case 2:
		if _, p := c.settle(Settlement{Claim: id}, used(0)); (p != nil) != (is != nil) {
			h.t.Fatalf("seed %d: %v", h.seed, p)
		}
		if is != nil {
			is.settled = true
		}
	case 3:
		if known := c.Keep(id, bytes, bytes, until); known != (is != nil) {
			h.t.Fatalf("seed %d: known %v", h.seed, known)
		}
		if is != nil {
			*is = twinClaim{bytes: bytes, until: h.now + 5}
		}
	case 4:
		if !c.KeepNew(id, wanting(0, used(0), hemera.QuotaAmount{}), bytes, bytes, until) {
			h.t.Fatal("there is room")
		}
		if is == nil {
			h.twin[id] = &twinClaim{bytes: bytes, until: h.now + 5}
		}
	case 5:
		c.ReleaseKept(id)
		if is != nil && is.until != 0 {
			h.end(id)
		}
	case 6:
		c.ExpireKept(time.Unix(h.now, 0))
		for id, is := range h.twin {
			if is.until != 0 && h.now > is.until {
				h.end(id)
			}
		}
	default:
		c.Release(id)
		h.end(id)
	}
}

// take takes a new claim, in the place of one under way or of none.
func (h *claiming) take(id ClaimID, bytes int64) {
	h.last++
	limits, replaced := used(0), ClaimID(0)
	limits[0].Limits.Bytes = 8000
	if is := h.twin[id]; is != nil && is.until == 0 && h.r.IntN(2) == 0 {
		replaced = id
	}
	var sum int64
	for other, o := range h.twin {
		if other != replaced {
			sum += o.bytes
		}
	}
	d, stale := h.c.Take(h.last, wanting(bytes, limits, h.c.Returned()), replaced)
	if fits := bytes == 0 || sum+bytes <= 8000; d.Allowed != fits || stale {
		h.t.Fatalf("seed %d: %d beside %d: %+v, %v", h.seed, bytes, sum, d, stale)
	}
	if d.Allowed {
		h.end(replaced)
		h.twin[h.last] = &twinClaim{bytes: bytes}
	}
}

// compare compares the sums with those of the twin.
func (h *claiming) compare() {
	var held, settled, kept int64
	for _, is := range h.twin {
		held += is.bytes
		if is.settled {
			settled += is.bytes
		}
		if is.until != 0 {
			kept++
		}
	}
	limits, _ := h.c.settle(Settlement{}, used(0))
	beside, back, keeps := limits[0].Used.Bytes, h.c.Returned().Bytes, h.c.keeps.Load()
	if h.c.taken() != held || beside != held-settled || back != h.back || keeps != kept || len(h.c.claims) != len(h.twin) {
		h.t.Fatalf("seed %d: %d of %d held, %d of %d beside, %d of %d back, %d of %d kept", h.seed, h.c.taken(), held, beside, held-settled, back, h.back, keeps, kept)
	}
}

// TestKeptClaimsAreBounded: beyond the bound a kept write holds nothing, and one that is kept already goes on.
func TestKeptClaimsAreBounded(t *testing.T) {
	var c Claims
	until := time.Unix(9, 0)
	for id := range ClaimID(KeptMax) {
		if !c.KeepNew(100+id, &Claim{}, 0, 0, until) {
			t.Fatalf("the %d.", id)
		}
	}
	if c.KeepNew(1, wanting(3, used(0), hemera.QuotaAmount{}), 3, 3, until) || !c.KeepNew(100, &Claim{}, 0, 0, until) {
		t.Error("one more")
	}
	c.Take(2, wanting(6, used(0), hemera.QuotaAmount{}), 0)
	if !c.Keep(2, 6, 6, until) || c.taken() != 0 || c.Keep(2, 6, 6, until) {
		t.Errorf("%d bytes are held", c.taken())
	}
	if !c.Keep(100, 6, 6, until) {
		t.Error("a kept one")
	}
}

// TestAClaimLeavesItsStandingsAlone: a retry of the open uses the slice again.
func TestAClaimLeavesItsStandingsAlone(t *testing.T) {
	var c Claims
	mine := used(math.MaxInt32)
	was := slices.Clone(mine)
	c.KeepNew(7, wanting(1, used(0), hemera.QuotaAmount{}), 6, 6, time.Unix(9, 0))
	c.Take(1, wanting(1, mine, hemera.QuotaAmount{}), 0)
	c.With(mine)
	c.settle(Settlement{Claim: 7}, mine)
	if !slices.Equal(mine, was) {
		t.Errorf("%+v", mine)
	}
}
