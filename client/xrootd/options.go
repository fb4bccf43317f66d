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

// Options of a [Client] and its sessions. The zero value is usable; each field has a default.
type Options struct {
	User string // login name, default the process's
	App  string // name of the program at login, default "hemera"
	Log  *slog.Logger
	// Anonymous logs in as nobody, with host or without authentication: for a process that acts for another user, and
	// must not lend its own rights. An address that names a user, or a redirect to one, fails with Denied.
	Anonymous bool
	// Permit is called before each connection, with the server's name and the address that it has; its error ends the
	// operation. Nil permits all.
	Permit func(ctx context.Context, e Endpoint, to netip.AddrPort) error

	DialTimeout time.Duration // until logged in; 10 s
	// Stall is the silence after which a session with requests in flight ends; 60 s. Stock servers answer, or announce a
	// delay, within this time.
	Stall time.Duration
	// UserTimeout is the time for which sent bytes may stay unacknowledged by the other kernel; 10 s, and 45 s for a
	// session that writes: a server may wait for a disk before it accepts more.
	UserTimeout time.Duration
	Ping        time.Duration // interval of pings on idle sessions; 30 s
	Idle        time.Duration // idle time after which a session without files and requests is closed; 2 min
	// RetryFor bounds the time for which one operation is retried while servers are unreachable; 30 s.
	RetryFor time.Duration
	// Trying is called once in an operation that takes more than a second because servers are unreachable, with the last
	// failure, and once in one that a server delays, with its text; may be nil.
	Trying func(cause error, atMost time.Duration)
	// WaitFor bounds the time for which one operation obeys servers that send "wait"; 30 min.
	WaitFor time.Duration

	// InFlight bounds the requests in flight per session; more wait. The protocol allows 65,536, this client 32,768.
	InFlight int // 256
	Sessions int // sessions per server and user, per disk for peers; 1
	// PoolMax bounds the number of all sessions. At the bound, unused ones end; if there are none, calls fail with
	// Overloaded.
	PoolMax int // 1024
	Chunk   int // bytes per read or write request; 1 MiB
	// Window bounds the bytes in flight of a sequential stream or an asynchronous writer: a path with that product of
	// bandwidth and delay is filled, and the stream uses that much memory.
	Window int // bytes; 16 MiB

	// Panics contains panics of sessions, which then end. May be nil.
	Panics *contain.Panics

	answers *transit // of the client, for [Client.OnTheWay]; nil for a session without one
}

// withDefaults replaces zero values by defaults.
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
	o.InFlight = min(o.InFlight, 1<<15) // slots have 16 bits, one of them is for the greeting
	return o
}

// processUser returns the login name of the process, or "nobody".
func processUser() string {
	// From /etc/passwd, without the C library; users of a directory service come from the environment.
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "nobody"
}
