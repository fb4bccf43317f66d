package limits

import (
	"net/netip"
	"sync"
)

// Parts of the files that a process may have open; see [ConnectionBounds].
const (
	connectionsMost = 65536 // connections in all, however many files there may be
	addressMost     = 512   // connections of one address of another machine
	reserveMost     = 64
)

// ConnectionBounds are how many connections a process takes, of how many files it may have open. Half of
// them are for connections, so that disks, the store and calls to others always have the other half.
// One address of another machine, and one user at the unix socket, gets an eighth of the connections, at most
// 512; all who come over loopback get half of them together. The reserve is for this machine's admins.
func ConnectionBounds(files int64) Bounds {
	total := max(16, min(files/2, connectionsMost))
	return Bounds{Total: total, Share: min(max(total/8, 4), addressMost), Reserve: min(max(total/16, 4), reserveMost)}
}

// Class is a family of connections with a bound of its own, as a part of all: Of of 4.
type Class struct {
	Name string
	Of   int64
}

// Client is whom a connection counts for: an address, or a user where the kernel names one.
type Client struct {
	addr  netip.Addr
	local bool
	uid   uint32
	user  bool
}

// Address is a client by its address; local says that it is of this machine, all of whose users share it. An
// address of IPv6 counts by its network of 64 bits, which is what one host is given.
func Address(a netip.Addr, local bool) Client { return Client{addr: AddressKey(a), local: local} }

// User is a user of this machine, whose share is that of another machine's address.
func User(uid uint32) Client { return Client{uid: uid, user: true} }

// Connections admits connections: all classes together are bounded, each class, and each [Client].
type Connections struct {
	all     *Budget[Client]
	local   int64
	classes []*Budget[struct{}]
}

// NewConnections makes the rule with the bounds, for classes that are numbered in the order given.
func NewConnections(b Bounds, classes ...Class) *Connections {
	c := &Connections{all: NewBudget[Client]("connections", b), local: max(b.Share, b.Total/2)}
	for _, class := range classes {
		c.classes = append(c.classes, NewBudget[struct{}]("connections "+class.Name, Bounds{
			Total: max(4, b.Total*class.Of/4), Reserve: b.Reserve,
		}))
	}
	return c
}

// Usages are of all connections, and of each class.
func (c *Connections) Usages() []Usage {
	list := []Usage{c.all.Usage()}
	for _, class := range c.classes {
		list = append(list, class.Usage())
	}
	return list
}

// Lease is one connection's place. It must be released once; further releases do nothing.
type Lease struct {
	of       *Connections
	account  *Account[Client]
	reserved bool

	mu    sync.Mutex // guards these
	class *Account[struct{}]
	over  bool
}

// Admit takes a place for a client's connection. The lease is nil unless the verdict is [Fits].
func (c *Connections) Admit(from Client) (*Lease, Verdict) {
	l := c.open(from)
	if v := l.account.Take(1); v != Fits {
		l.account.Close()
		return nil, v
	}
	return l, Fits
}

// AdmitReserved is Admit for an admin of this machine: only other admins can keep it out.
func (c *Connections) AdmitReserved(from Client) (*Lease, Verdict) {
	l := c.open(from)
	l.reserved = true
	if v := l.account.TakeReserved(1); v != Fits {
		l.account.Close()
		return nil, v
	}
	return l, Fits
}

// open makes the lease of a connection, which does not count yet. Users of this machine have their own share.
func (c *Connections) open(from Client) *Lease {
	share := c.all.bounds.Share
	if from.local {
		share = c.local
	}
	return &Lease{of: c, account: c.all.OpenShare(from, share)}
}

// Enter counts the connection in its class, once. The lease stays good for another try when it does not fit.
// One that was released does not fit.
func (l *Lease) Enter(class int) Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return TotalFull
	}
	a := l.of.classes[class].Open(struct{}{})
	take := a.Take
	if l.reserved {
		take = a.TakeReserved
	}
	v := take(1)
	if v != Fits {
		a.Close()
		return v
	}
	l.class = a
	return Fits
}

// EnterReserved is Enter for an admin of this machine.
func (l *Lease) EnterReserved(class int) Verdict {
	l.reserved = true
	return l.Enter(class)
}

// Release gives the place back. A nil lease has none.
func (l *Lease) Release() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	if l.class != nil {
		l.class.Give(1)
		l.class.Close()
	}
	l.account.Give(1)
	l.account.Close()
}

// AddressKey is by what an address counts: itself, or of IPv6 its network of 64 bits.
func AddressKey(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	network, err := a.Prefix(64)
	if err != nil {
		return a
	}
	return network.Addr()
}
