package xrootd

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"os/user"
	"time"

	"hemera/platform/contain"
)

// Options of a [Client] and its sessions. The zero value is good; each field says its default.
type Options struct {
	User string // login name, default the process's
	App  string // what the client calls itself at login, default "hemera"
	Log  *slog.Logger
	// Anonymous logs in as nobody, by host or where no proof is asked for: for a process that acts for
	// somebody else, and must not lend its own rights. An address that names a user, or a redirect to one, is Denied.
	Anonymous bool
	// Permit is called before each connection, with the server's name and the address that it has; its error
	// ends the operation. Nil permits all.
	Permit func(ctx context.Context, e Endpoint, to netip.AddrPort) error

	DialTimeout time.Duration // until logged in; 10 s
	// Stall is the silence after which a session with requests in flight ends; 60 s. Stock
	// servers promise to answer, or to say that it takes longer, within this time.
	Stall time.Duration
	// UserTimeout is how long sent bytes may stay unacknowledged by the other kernel; 10 s, and 45 s for
	// a session that writes: a server may wait for a disk before it takes more.
	UserTimeout time.Duration
	Ping        time.Duration // idle sessions are asked this often whether they live; 30 s
	Idle        time.Duration // sessions without files and requests are closed after; 2 min
	// RetryFor bounds how long one operation goes on when servers are unreachable; 30 s.
	RetryFor time.Duration
	// Trying is called once in an operation that goes on for more than a second because servers are unreachable, with the last
	// failure, and once in one that a server has wait, with what it says; nil for nobody.
	Trying func(cause error, atMost time.Duration)
	// WaitFor bounds how long one operation obeys servers that say "wait"; 30 min.
	WaitFor time.Duration

	// InFlight bounds the requests in flight per session; more wait. The protocol allows 65,536, this client 32,768.
	InFlight int // 256
	Sessions int // sessions per server and user, per disk for peers; 1
	// PoolMax bounds the sessions in all. When it is reached, unused ones end; if there are none, calls are Overloaded.
	PoolMax int // 1024
	Chunk   int // bytes per read or write request; 1 MiB
	// Window bounds the bytes in flight per sequential stream or asynchronous writer: what a path of that bandwidth times
	// delay can hold, and the memory that a stream takes.
	Window int // bytes; 16 MiB

	// Panics contains panics of sessions, which end then. May be nil.
	Panics *contain.Panics

	answers *transit // of the client, for [Client.OnTheWay]; nil for a session without one
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	setDuration := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	setInt := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	switch {
	case o.Anonymous:
		o.User = "nobody"
	case o.User == "": // the session of a process acts for the user who runs it
		o.User = processUser()
	}
	if o.App == "" {
		o.App = "hemera"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Panics == nil {
		o.Panics = contain.New(o.Log)
	}
	setDuration(&o.DialTimeout, 10*time.Second)
	setDuration(&o.Stall, time.Minute)
	setDuration(&o.UserTimeout, 10*time.Second)
	setDuration(&o.Ping, 30*time.Second)
	setDuration(&o.Idle, 2*time.Minute)
	setDuration(&o.RetryFor, 30*time.Second)
	setDuration(&o.WaitFor, 30*time.Minute)
	setInt(&o.InFlight, 256)
	setInt(&o.Sessions, 1)
	setInt(&o.PoolMax, 1024)
	setInt(&o.Chunk, 1<<20)
	setInt(&o.Window, 16<<20)
	o.InFlight = min(o.InFlight, 1<<15) // slots are 16 bits, one of them for the greeting
	return o
}

// processUser is the login name of the process, or "nobody".
func processUser() string {
	// From /etc/passwd, without the C library; a directory service's users come by the environment.
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "nobody"
}
