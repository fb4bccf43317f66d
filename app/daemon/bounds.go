package daemon

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hemera"
	"hemera/app/config"
	"hemera/doors/admin"
	"hemera/doors/xrd"
	"hemera/platform/auth"
	"hemera/platform/link"
	"hemera/rules/limits"
)

// pendingMost is how many connections of one port may wait until it is known what they are.
const pendingMost = 1024

// Bounds are what all ports of a process share, so that clients cannot use up what the process may have.
type Bounds struct {
	connections *limits.Connections
	doors       *xrd.Budgets
	pending     int
	owners      auth.Owners

	mu    sync.Mutex // guards the rest
	spare []func() bool
	more  []func() []limits.Usage
}

// also has bounds shown that are not of connections.
func (b *Bounds) also(usages func() []limits.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.more = append(b.more, usages)
}

// spares adds a way to close connections that can be spared.
func (b *Bounds) spares(close func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare = append(b.spare, close)
}

// relieve closes connections that can be spared at all ports: the places are for all of them together.
func (b *Bounds) relieve() bool {
	b.mu.Lock()
	list := b.spare
	b.mu.Unlock()
	any := false
	for _, close := range list {
		any = close() || any
	}
	return any
}

// NewBounds takes them from what the operating system lets this process have.
func NewBounds() *Bounds { return newBounds(files(), auth.NewKernelOwners()) }

func newBounds(files int64, owners auth.Owners) *Bounds {
	b := limits.ConnectionBounds(files)
	return &Bounds{
		connections: limits.NewConnections(b, link.ConnectionClasses()...),
		doors:       xrd.NewBudgets(files, config.MachineMemory()),
		pending:     int(min(pendingMost, b.Total/4)), owners: owners,
	}
}

// files is how many files this process may have open. The Go runtime has raised it as far as it may.
func files() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 1024
	}
	return int64(min(limit.Cur, 1<<30))
}

// admin reports whether a connection from this machine is an admin's.
func (b *Bounds) admin(remote, local net.Addr) bool {
	if p, ok := remote.(link.Process); ok {
		return auth.IsAdmin(p.UID)
	}
	client, err := netip.ParseAddrPort(remote.String())
	server, err2 := netip.ParseAddrPort(local.String())
	if err != nil || err2 != nil {
		return false
	}
	uid, err := b.owners.Owner(client, server)
	return err == nil && auth.IsAdmin(uid)
}

// usages are for /metrics.
func (b *Bounds) usages() []admin.Limit {
	var list []admin.Limit
	for _, u := range b.all() {
		list = append(list, admin.Limit{Name: u.Name, Used: u.Used, Total: u.Total, Share: u.Share, Clients: u.Clients,
			RefusedShare: u.RefusedShare, RefusedTotal: u.RefusedTotal})
	}
	return list
}

func (b *Bounds) all() []limits.Usage {
	list := append(b.connections.Usages(), b.doors.Usages()...)
	b.mu.Lock()
	more := b.more
	b.mu.Unlock()
	for _, usages := range more {
		list = append(list, usages()...)
	}
	return list
}

// reached are the bounds that refused somebody a short time ago.
func (b *Bounds) reached() (list []hemera.LimitUse) {
	for _, u := range b.all() {
		ago := time.Since(u.LastRefused)
		if u.LastRefused.IsZero() || ago > hemera.LimitRecent || len(list) == hemera.LimitsMax {
			continue
		}
		list = append(list, hemera.LimitUse{Name: u.Name, Used: u.Used, Max: u.Total, Refused: u.RefusedShare + u.RefusedTotal, RefusedAgo: max(ago, 0)})
	}
	return list
}
