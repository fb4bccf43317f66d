package xrd

import (
	"math"
	"net"
	"sync/atomic"
	"time"
)

// minRate is how many bytes of a request without file data have to arrive in a second, at least.
const minRate = 100 << 10

// loginPhase is how far a connection has come with its login.
type loginPhase uint8

const (
	loggingIn         loginPhase = 0 // until the client has shown who it is
	ownsSession       loginPhase = 1
	carriesSubstreams loginPhase = 2 // it is bound to another connection's session
)

// readDeadline bounds how long a connection waits for its client: for the login, for the next request, and for the rest
// of one. A parked connection has no deadline; [readDeadline.expired] tells whether it should be closed.
//
// Setting a deadline costs as much as a small answer, so that of silence is moved only now and then. All belongs to the
// connection's goroutine but silentSince.
type readDeadline struct {
	nc       net.Conn
	limits   *Limits
	accepted time.Time
	phase    loginPhase
	lastSet  time.Time // zero: set the deadline at the next wait
	required bool      // the rest of a request has a deadline of its own; see require

	// When the client was last waited for after its login, roughly, in Unix nanoseconds. Zero: it has not logged in.
	silentSince atomic.Int64
}

// neverSilent is the silence of a bound connection: it ends with its session.
const neverSilent = math.MaxInt64

// enter notes that the login got to a phase.
func (d *readDeadline) enter(p loginPhase) {
	d.phase = p
	d.lastSet = time.Time{}
}

// loggedIn reports whether the client has shown who it is, or the connection is bound to a session whose client has.
func (d *readDeadline) loggedIn() bool { return d.phase != loggingIn }

// set gives the client its time for what it sends next.
func (d *readDeadline) set(betweenRequests bool) error {
	now := time.Now()
	switch {
	case d.required: // require has set one
	case d.phase == carriesSubstreams && !betweenRequests: // in the middle of a write's data
		d.lastSet = time.Time{}
		return d.nc.SetReadDeadline(now.Add(d.limits.IdleTimeout))
	case d.phase == carriesSubstreams: // silent as long as its session lives
		if d.lastSet.IsZero() {
			d.lastSet = now
			d.silentSince.Store(neverSilent)
			return d.nc.SetReadDeadline(time.Time{})
		}
	case d.phase == loggingIn:
		if d.lastSet.IsZero() {
			d.lastSet = now
			return d.nc.SetReadDeadline(d.accepted.Add(d.limits.LoginTimeout))
		}
	case now.Sub(d.lastSet) > d.limits.IdleTimeout/16: // rarely: every request would pay for it
		d.lastSet = now
		d.silentSince.Store(now.UnixNano())
		return d.nc.SetReadDeadline(now.Add(d.limits.IdleTimeout))
	}
	return nil
}

// require bounds how long the client may take to send the next n bytes, until the function it returns is called.
func (d *readDeadline) require(n int64) (done func()) {
	if d.required || !d.loggedIn() {
		return func() {} // a login has a deadline for all of it
	}
	d.required = true
	_ = d.nc.SetReadDeadline(time.Now().Add(d.limits.RequestTime + time.Duration(n)*time.Second/minRate))
	return func() {
		d.required, d.lastSet = false, time.Time{}
		_ = d.nc.SetReadDeadline(time.Time{})
	}
}

// expired reports whether the client of a connection without a request under way has been silent for too long. It is
// safe for concurrent use.
func (d *readDeadline) expired(now time.Time) bool {
	switch since := d.silentSince.Load(); since {
	case neverSilent:
		return false
	case 0:
		return now.Sub(d.accepted) > d.limits.LoginTimeout
	default:
		return now.Sub(time.Unix(0, since)) > d.limits.IdleTimeout
	}
}
