package resources

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"hemera/doors/admin"
	"hemera/doors/xrd"
	"hemera/platform/auth"
	"hemera/platform/link"
	"hemera/process/config"
	"hemera/rules/limits"
	"hemera/words/hemera"
)

// A process reports [hemera.LimitUse] of the limits that refused a request within limitRecent, at most limitsMax of them.
const (
	limitRecent = 10 * time.Minute
	limitsMax   = 16
)

// pendingMax is the number of connections of one port whose protocol is not known yet.
const pendingMax = 1024

// Bounds has the resources that all ports of a process share, so that clients cannot use up the process's limits. It is
// safe for concurrent use. NewBounds sets the exported fields, which do not change.
type Bounds struct {
	Connections *limits.Connections
	Doors       *xrd.Budgets
	Pending     int
	owners      auth.Owners

	mu    sync.Mutex // guards the rest
	spare []func() bool
	more  []func() []limits.Usage
}

// AddUsages adds a source of usages for Usages and Reached.
func (b *Bounds) AddUsages(usages func() []limits.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.more = append(b.more, usages)
}

// AddRelief adds a function that closes connections that can be spared; it reports whether it closed one.
func (b *Bounds) AddRelief(close func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare = append(b.spare, close)
}

// Relieve closes connections that can be spared at all ports, because the ports share one bound. It reports whether any
// was closed.
func (b *Bounds) Relieve() bool {
	b.mu.Lock()
	list := b.spare
	b.mu.Unlock()
	any := false
	for _, close := range list {
		any = close() || any
	}
	return any
}

// NewBounds makes bounds that fit the limits of this process.
func NewBounds() *Bounds { return NewBoundsOf(config.OpenFilesMax(), auth.NewKernelOwners()) }

// NewBoundsOf makes bounds for a number of open files. owners identifies the processes of this machine.
func NewBoundsOf(files int64, owners auth.Owners) *Bounds {
	b := limits.ConnectionBounds(files)
	return &Bounds{
		Connections: limits.NewConnections(b, link.ConnectionClasses()...),
		Doors:       xrd.NewBudgets(files, config.MachineMemory()),
		Pending:     int(min(pendingMax, b.Total/4)), owners: owners,
	}
}

// Admin reports whether a process of an admin of this machine opened the connection.
func (b *Bounds) Admin(remote, local net.Addr) bool {
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

// Usages returns every bound and its use, for /metrics.
func (b *Bounds) Usages() []admin.Limit {
	var list []admin.Limit
	for _, u := range b.all() {
		list = append(list, admin.Limit{Name: u.Name, Used: u.Used, Total: u.Total, Share: u.Share, Clients: u.Clients,
			RefusedShare: u.RefusedShare, RefusedTotal: u.RefusedTotal})
	}
	return list
}

// all lists the usages of every source.
func (b *Bounds) all() []limits.Usage {
	list := append(b.Connections.Usages(), b.Doors.Usages()...)
	b.mu.Lock()
	more := b.more
	b.mu.Unlock()
	for _, usages := range more {
		list = append(list, usages()...)
	}
	return list
}

// Reached lists the bounds that refused a client within the last limitRecent, at most limitsMax of them.
func (b *Bounds) Reached() (list []hemera.LimitUse) {
	for _, u := range b.all() {
		ago := time.Since(u.LastRefused)
		if u.LastRefused.IsZero() || ago > limitRecent || len(list) == limitsMax {
			continue
		}
		list = append(list, hemera.LimitUse{Name: u.Name, Used: u.Used, Max: u.Total, Refused: u.RefusedShare + u.RefusedTotal, RefusedAgo: max(ago, 0)})
	}
	return list
}
