package limits

import (
	"net/netip"
	"sync"
)

// Bounds of [ConnectionBounds].
const (
	connectionsMost = 65536 // connections in all, whatever the number of files
	addressMost     = 512   // connections of one address of another machine
	reserveMost     = 64
)

// ConnectionBounds returns the numbers of connections that a process accepts, from the number of files that it may have
// open. Connections use half of them, so that the other half is left for disks, the store and calls to other processes.
// One address of another machine, and one user at the unix socket, may use an eighth of the connections, at most 512; all
// clients over loopback may use half of them together. The reserve is for this machine's admins.
func ConnectionBounds(files int64) Bounds {
	total := max(16, min(files/2, connectionsMost))
	return Bounds{Total: total, Share: min(max(total/8, 4), addressMost), Reserve: min(max(total/16, 4), reserveMost)}
}

// Class is a group of connections with a bound of its own: Of quarters of all connections.
type Class struct {
	Name string
	Of   int64
}

// Client identifies the client that a connection counts for: an address, or a user if the kernel reports one.
type Client struct {
	addr  netip.Addr
	local bool
	uid   uint32
	user  bool
}

// Address returns the client of an address. local says that it is an address of this machine, which all its users share.
// An IPv6 address counts by its network of 64 bits, because one host usually has a whole network.
func Address(a netip.Addr, local bool) Client { return Client{addr: AddressKey(a), local: local} }

// User returns the client for a user of this machine. Its share is that of another machine's address.
func User(uid uint32) Client { return Client{uid: uid, user: true} }

// Connections admits connections. It bounds the connections of all classes together, of each class, and of each [Client].
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

// Usages returns the usage of all connections, followed by that of each class.
func (c *Connections) Usages() []Usage {
	list := []Usage{c.all.Usage()}
	for _, class := range c.classes {
		list = append(list, class.Usage())
	}
	return list
}

// Lease is the place of one connection. It must be released once; further releases have no effect.
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

// AdmitReserved works like Admit for an admin of this machine: only other admins can use up the reserve.
func (c *Connections) AdmitReserved(from Client) (*Lease, Verdict) {
	l := c.open(from)
	l.reserved = true
	if v := l.account.TakeReserved(1); v != Fits {
		l.account.Close()
		return nil, v
	}
	return l, Fits
}

// open makes the lease of a connection that does not count yet. Local clients have their own share.
func (c *Connections) open(from Client) *Lease {
	share := c.all.bounds.Share
	if from.local {
		share = c.local
	}
	return &Lease{of: c, account: c.all.OpenShare(from, share)}
}

// Enter counts the connection in its class, once. If the class is full, the caller may try again with the same lease. A
// lease that was released is refused.
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

// EnterReserved works like Enter for an admin of this machine.
func (l *Lease) EnterReserved(class int) Verdict {
	l.reserved = true
	return l.Enter(class)
}

// Release gives the place back. It has no effect on a nil lease.
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

// AddressKey returns the key by which an address counts: the address itself, or for IPv6 its network of 64 bits.
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
