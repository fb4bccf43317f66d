package observe

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// local measures TCP of this machine to itself: the rate of its kernel and cores without a network.
func (v *observer) local(ctx context.Context) {
	n := &v.s.Network
	// One connection is bounded by one core at each end.
	one, err := loopback(ctx, 1, v.For)
	if err != nil {
		v.unseen("TCP of this machine", err.Error(), "")
		return
	}
	n.Local, n.LocalCount = one, max(2, min(runtime.GOMAXPROCS(0), 8))
	// The first worked, so this one does.
	n.LocalMany, _ = loopback(ctx, n.LocalCount, v.For)
}

// loopback transfers through connections of this process to itself and returns the total rate.
func loopback(ctx context.Context, count int, d time.Duration) (float64, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	// Received bytes count: sent ones may still be in buffers.
	var bytes atomic.Int64
	var group sync.WaitGroup
	// The receivers. A connection that is refused ends the wait.
	group.Go(func() {
		for range count {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer func() { _ = c.Close() }()
				buffer := make([]byte, 256<<10)
				for {
					m, err := c.Read(buffer)
					bytes.Add(int64(m))
					if err != nil {
						return
					}
				}
			})
		}
	})
	began := time.Now()
	end := began.Add(d)
	for range count {
		c, cause := new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
		if cause != nil {
			err = cause
			_ = listener.Close() // ends the wait for the others
			break
		}
		// A receiver that has ended must not block the sender.
		_ = c.SetDeadline(end.Add(time.Second))
		group.Go(func() { send(c, end) })
	}
	group.Wait()
	return float64(bytes.Load()) / time.Since(began).Seconds(), err
}

// send writes to a connection until the time is over, and closes it.
func send(c io.WriteCloser, end time.Time) {
	defer func() { _ = c.Close() }()
	// Large writes, because system calls are not measured.
	buffer := make([]byte, 256<<10)
	for time.Now().Before(end) {
		if _, err := c.Write(buffer); err != nil {
			return
		}
	}
}
