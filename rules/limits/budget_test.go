package limits

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
)

// slow is a budget without atomics or accounts: a list of the amounts of each client.
type slow struct {
	bounds Bounds
	have   map[int]int64
}

func (s *slow) sum() (n int64) {
	for _, v := range s.have {
		n += v
	}
	return n
}

func (s *slow) take(key int, n int64, reserved bool) Verdict {
	switch {
	case !reserved && s.bounds.Share < s.bounds.Total && s.have[key]+n > s.bounds.Share:
		return ShareFull
	case !reserved && s.sum()+n > s.bounds.Total, s.sum()+n > s.bounds.Total+s.bounds.Reserve:
		return TotalFull
	}
	s.have[key] += n
	return Fits
}

func TestBudgetIsItsSlowTwin(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		bounds := Bounds{Total: 1 + r.Int64N(40), Reserve: r.Int64N(6)}
		bounds.Share = 1 + r.Int64N(bounds.Total)
		b, twin := NewBudget[int]("x", bounds), &slow{bounds: bounds, have: map[int]int64{}}
		held := map[int][]*Account[int]{} // one account for each Take, as connections have
		taken := map[*Account[int]][]int64{}
		var refusedShare, refusedTotal int64
		for range 300 {
			key, n := r.IntN(5), 1+r.Int64N(4)
			if list := held[key]; len(list) > 0 && r.IntN(2) == 0 {
				a := list[len(list)-1]
				amounts := taken[a]
				last := amounts[len(amounts)-1]
				a.Give(last)
				a.Close()
				taken[a], held[key] = amounts[:len(amounts)-1], list[:len(list)-1]
				twin.have[key] -= last
				continue
			}
			reserved := r.IntN(4) == 0
			a := b.Open(key)
			got := a.Take
			if reserved {
				got = a.TakeReserved
			}
			have, want := got(n), twin.take(key, n, reserved)
			if have != want {
				t.Fatalf("seed %d: %v wants %d, reserve %v: %v, the twin says %v", seed, key, n, reserved, have, want)
			}
			switch have {
			case Fits:
				held[key], taken[a] = append(held[key], a), append(taken[a], n)
			case ShareFull:
				refusedShare++
				a.Close()
			case TotalFull:
				refusedTotal++
				a.Close()
			}
			u := b.Usage()
			if u.Used != twin.sum() || u.RefusedShare != refusedShare || u.RefusedTotal != refusedTotal {
				t.Fatalf("seed %d: %+v; the twin has %d", seed, u, twin.sum())
			}
		}
		for _, list := range held {
			for _, a := range list {
				amounts := taken[a]
				a.Give(amounts[len(amounts)-1])
				taken[a] = amounts[:len(amounts)-1]
				a.Close()
			}
		}
		if u := b.Usage(); u.Used != 0 || u.Clients != 0 {
			t.Fatalf("seed %d: %+v is left of what was given back", seed, u)
		}
	}
}

// Many goroutines take and give back at the same time: the bounds are never exceeded, and nothing is lost.
func TestBudgetConcurrently(t *testing.T) {
	b := NewBudget[int]("x", Bounds{Total: 5, Share: 3})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 2000 {
				a := b.Open(i % 3)
				if a.Take(1) == Fits {
					if a.Used() < 1 {
						t.Error("an account is below what was taken of it")
					}
					a.Give(1)
				}
				a.Close()
			}
		})
	}
	all.Wait()
	if u := b.Usage(); u.Used != 0 || u.Clients != 0 {
		t.Errorf("%+v", u)
	}
}

func TestConnectionBounds(t *testing.T) {
	for _, c := range []struct {
		files int64
		want  Bounds
	}{
		{0, Bounds{16, 4, 4}},
		{1024, Bounds{512, 64, 32}},
		{20000, Bounds{10000, 512, 64}},
		{65536, Bounds{32768, 512, 64}},
		{1 << 30, Bounds{65536, 512, 64}},
	} {
		if got := ConnectionBounds(c.files); got != c.want {
			t.Errorf("of %d files: %+v, want %+v", c.files, got, c.want)
		}
	}
}

func TestAddressKey(t *testing.T) {
	for _, c := range [][2]string{
		{"10.0.0.1", "10.0.0.1"}, {"::ffff:10.0.0.1", "10.0.0.1"}, {"fd00::1:2:3", "fd00::"},
		{"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"}, {"fe80::1%eth0", "fe80::"},
	} {
		if got := AddressKey(netip.MustParseAddr(c[0])); got != netip.MustParseAddr(c[1]) {
			t.Errorf("%s counts as %s, want %s", c[0], got, c[1])
		}
	}
	if got := AddressKey(netip.Addr{}); got.IsValid() {
		t.Error("no address counts as", got)
	}
}

func TestConnections(t *testing.T) {
	far, other, here := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("127.0.0.1")
	c := NewConnections(Bounds{Total: 16, Share: 4, Reserve: 2}, Class{"files", 3}, Class{"web", 1})
	var held []*Lease
	admit := func(from netip.Addr, local bool, class int) Verdict {
		l, v := c.Admit(Address(from, local))
		if v != Fits {
			return v
		}
		if v = l.Enter(class); v != Fits {
			l.Release()
			return v
		}
		held = append(held, l)
		return Fits
	}
	want := func(what string, got, want Verdict) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for range 4 {
		want("of one host", admit(far, false, 0), Fits)
	}
	want("one host too many", admit(far, false, 0), ShareFull)
	for range 4 {
		want("web", admit(here, true, 1), Fits)
	}
	want("web is full", admit(other, false, 1), TotalFull)
	want("files are not", admit(other, false, 0), Fits)
	for range 4 {
		want("this machine has half", admit(here, true, 0), Fits)
	}
	want("and no more", admit(here, true, 0), ShareFull)
	for i := range 3 {
		want("others", admit(netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}), false, 0), Fits)
	}
	want("all full", admit(netip.MustParseAddr("10.2.0.1"), false, 0), TotalFull)
	admin, v := c.AdmitReserved(Address(here, true))
	want("an admin", v, Fits)
	want("to a class that is full", admin.Enter(1), Fits)
	held = append(held, admin)
	if _, v := c.Admit(User(1001)); v != TotalFull {
		t.Errorf("a user when all is full: %v", v)
	}
	for _, l := range held {
		l.Release()
		l.Release()
		want("one that was released", l.Enter(0), TotalFull)
	}
	for _, u := range c.Usages() {
		if u.Used != 0 || u.Clients != 0 {
			t.Errorf("%+v is left", u)
		}
	}
}

// Each user of the unix socket has a share: one cannot keep another out.
func TestUsersCountApart(t *testing.T) {
	c := NewConnections(Bounds{Total: 16, Share: 2})
	for uid := range uint32(3) {
		for _, want := range []Verdict{Fits, Fits, ShareFull} {
			if _, got := c.Admit(User(uid)); got != want {
				t.Errorf("user %d: %v, want %v", uid, got, want)
			}
		}
	}
	if _, v := c.Admit(Address(netip.Addr{}, true)); v != Fits {
		t.Errorf("somebody else: %v", v)
	}
}

// BenchmarkAccount measures one Take and Give with many clients at once.
func BenchmarkAccount(b *testing.B) {
	budget := NewBudget[int]("x", Bounds{Total: 1 << 40, Share: 1 << 39})
	var clients atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		a := budget.Open(int(clients.Add(1)))
		defer a.Close()
		for pb.Next() {
			if a.Take(1) == Fits {
				a.Give(1)
			}
		}
	})
}
