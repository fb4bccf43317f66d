package xrootd

import (
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// OnTheWay is how long data has been on its way between servers and this client, since the client was made. The rest of the time that
// a caller waits is the servers': they were reading what is to be sent, or did not take what was sent.
//
//   - From servers: from the header of an answer until all of it was received and verified. Servers such as Hemera's nodes send the header
//     when they have the data. Answers of several sessions at the same time count once.
//   - To servers: the time in which sent bytes were not acknowledged, without that in which the server had no room for more, by the
//     kernel's own count of each session (busy_time and rwnd_limited of TCP_INFO).
//
// A session that ends takes its count with it, so the sum may be smaller than before.
func (c *Client) OnTheWay() time.Duration {
	return c.opts.answers.total() + c.pool.sending()
}

// transit is a clock that goes while anything is on its way. Methods may be called concurrently; a nil one counts nothing.
type transit struct {
	mu     sync.Mutex
	active int // answers that are being received
	since  time.Time
	sum    time.Duration // without what is under way
}

// begin notes that the receipt of an answer begins.
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

// end notes that it ended.
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

// total is what the clock shows.
func (t *transit) total() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active > 0 {
		return t.sum + time.Since(t.since)
	}
	return t.sum
}

// sending is how long the shared sessions had bytes on their way to servers.
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

// sending is 0 for a session that has ended, or is no TCP connection.
func (c *Conn) sending() (busy time.Duration) {
	socket, ok := c.nc.(syscall.Conn) // not so in simulations
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
