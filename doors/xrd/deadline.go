package xrd

import (
	"math"
	"net"
	"sync/atomic"
	"time"
)

// minRate is the least rate, in bytes a second, at which a request without file data must arrive.
const minRate = 100 << 10

// loginPhase is the progress of a connection's login.
type loginPhase uint8

const (
	loggingIn         loginPhase = 0 // until the client is authenticated
	ownsSession       loginPhase = 1
	carriesSubstreams loginPhase = 2 // it is bound to another connection's session
)

// readDeadline bounds the time that a connection waits for its client: for the login, for the next request, and for the
// rest of one. A parked connection has no deadline; [readDeadline.expired] reports whether to close it.
//
// Setting a deadline costs as much as a small answer, so the deadline of silence is moved only rarely. All fields but
// silentSince belong to the connection's goroutine.
type readDeadline struct {
	nc       net.Conn
	limits   *Limits
	accepted time.Time
	phase    loginPhase
	lastSet  time.Time // zero: set the deadline at the next wait
	required bool      // the rest of a request has a deadline of its own; see require

	// The time of the last wait for the client after its login, approximately, in Unix nanoseconds; zero before the
	// login.
	silentSince atomic.Int64
}

// neverSilent marks a bound connection, which ends with its session.
const neverSilent = math.MaxInt64

// enter records the phase of the login.
func (d *readDeadline) enter(p loginPhase) {
	d.phase = p
	d.lastSet = time.Time{}
}

// loggedIn reports whether the client is authenticated, or the connection is bound to a session whose client is.
func (d *readDeadline) loggedIn() bool { return d.phase != loggingIn }

// set sets the deadline for the client's next bytes.
func (d *readDeadline) set(betweenRequests bool) error {
	now := time.Now()
	switch {
	case d.required: // require has set a deadline
	case d.phase == carriesSubstreams && !betweenRequests: // in the middle of a write's data
		d.lastSet = time.Time{}
		return d.nc.SetReadDeadline(now.Add(d.limits.IdleTimeout))
	case d.phase == carriesSubstreams: // may be silent as long as its session lives
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
	case now.Sub(d.lastSet) > d.limits.IdleTimeout/16: // rarely, because of its cost
		d.lastSet = now
		d.silentSince.Store(now.UnixNano())
		return d.nc.SetReadDeadline(now.Add(d.limits.IdleTimeout))
	}
	return nil
}

// require bounds the time for the next n bytes of the client, until the returned function is called.
func (d *readDeadline) require(n int64) (done func()) {
	if d.required || !d.loggedIn() {
		return func() {} // the login has one deadline for everything
	}
	d.required = true
	_ = d.nc.SetReadDeadline(time.Now().Add(d.limits.RequestTime + time.Duration(n)*time.Second/minRate))
	return func() {
		d.required, d.lastSet = false, time.Time{}
		_ = d.nc.SetReadDeadline(time.Time{})
	}
}

// expired reports whether the client of a connection without a request has been silent for too long. It is safe for
// concurrent use.
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
