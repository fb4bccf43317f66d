package xrootd

import (
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// OnTheWay returns the time for which data was in transit between servers and this client, since the client was made. The
// rest of a caller's waiting time is due to the servers: they were reading data to be sent, or did not accept sent data.
//
//   - From servers: from the header of an answer until all of it was received and verified. Servers such as Hemera's
//     nodes send the header when they have the data. Answers of several sessions at the same time count once.
//   - To servers: the time in which sent bytes were not acknowledged, without that in which the server had no room for
//     more, by the kernel's own count of each session (busy_time and rwnd_limited of TCP_INFO).
//
// The count of a session is lost when it ends, so the sum may decrease.
func (c *Client) OnTheWay() time.Duration {
	return c.opts.answers.total() + c.pool.sending()
}

// transit measures the time in which anything is in transit. Methods are safe for concurrent use; a nil one counts
// nothing.
type transit struct {
	mu     sync.Mutex
	active int // answers being received
	since  time.Time
	sum    time.Duration // without the current interval
}

// begin records that the receipt of an answer begins.
func (t *transit) begin() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active++; t.active == 1 {
		t.since = time.Now()
	}
}

// end records that it ended.
func (t *transit) end() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active--; t.active == 0 {
		t.sum += time.Since(t.since)
	}
}

// total returns the sum, including the current interval.
func (t *transit) total() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active > 0 {
		return t.sum + time.Since(t.since)
	}
	return t.sum
}

// sending returns the time for which the shared sessions had bytes in transit to servers.
func (p *pool) sending() (sum time.Duration) {
	p.mu.Lock()
	var open []*Conn
	for _, s := range p.sessions {
		if s.conn != nil {
			open = append(open, s.conn)
		}
	}
	p.mu.Unlock()
	for _, conn := range open {
		sum += conn.sending()
	}
	return sum
}

// sending returns that time for one session; 0 if the session has ended, or is not a TCP connection.
func (c *Conn) sending() (busy time.Duration) {
	socket, ok := c.nc.(syscall.Conn) // not in simulations
	if !ok {
		return 0
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil && info.Busy_time > info.Rwnd_limited {
			busy = time.Duration(info.Busy_time-info.Rwnd_limited) * time.Microsecond // #nosec G115 -- microseconds of a connection's life
		}
	})
	return busy
}
