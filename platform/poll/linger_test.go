package poll

import (
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
)

// answer echoes messages like a door that lingers: it parks the connection only if Linger returns ErrAgain. lingered
// counts the messages that arrived while it lingered. ended is closed when the connection has ended.
func answer(s *Socket, lingered *atomic.Int64, ended chan<- error) {
	var serve func()
	serve = func() {
		for {
			var p [64]byte
			n, err := s.TryRead(p[:])
			if err == ErrAgain {
				if n, err = s.Linger(p[:]); err == nil {
					lingered.Add(1)
				}
			}
			if err == ErrAgain {
				if s.Park(serve) {
					return
				}
				continue
			}
			if err == nil {
				_, err = s.Write(p[:n])
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}
	go serve()
}

// ask sends one byte and waits for its echo.
func ask(t *testing.T, c net.Conn) {
	t.Helper()
	var p [1]byte
	if _, err := c.Write(p[:]); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, p[:]); err != nil {
		t.Fatal(err)
	}
}

// isParked waits until the connection is parked.
func isParked(s *Socket) {
	for s.in.state.Load() != parked {
		runtime.Gosched()
	}
}

// A thread that lingers serves a client that asks again at once. The connection of a client that pauses is parked, and
// nothing is lost.
func TestLingerServesAPromptClientAndParksASlowOne(t *testing.T) {
	r := newRig(t)
	c, s := r.pair()
	var lingered atomic.Int64
	ended := make(chan error, 1)
	answer(s, &lingered, ended)
	for range 3 {
		isParked(s)
		for before := lingered.Load(); lingered.Load() == before; {
			ask(t, c)
		}
	}
	isParked(s)
	if n := r.loop.lingering.Load(); n != 0 {
		t.Errorf("%d linger, nobody should", n)
	}
	ask(t, c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != io.EOF {
		t.Errorf("%v, want the end of the stream", err)
	}
}

// At most half of the threads that may linger wait for requests.
func TestLingerLeavesThreadsToTransfers(t *testing.T) {
	r := newRig(t)
	c, s := r.pair()
	r.loop.lingering.Store(r.loop.lingerers / 2)
	defer r.loop.lingering.Store(0)
	var lingered atomic.Int64
	ended := make(chan error, 1)
	answer(s, &lingered, ended)
	for range 100 {
		ask(t, c)
	}
	if lingered.Load() != 0 {
		t.Errorf("%d of 100 messages came while it lingered", lingered.Load())
	}
	if n := r.loop.lingering.Load(); n != r.loop.lingerers/2 {
		t.Errorf("%d linger, want the %d of before", n, r.loop.lingerers/2)
	}
}

// Close ends a call that lingers.
func TestCloseEndsWhoLingers(t *testing.T) {
	r := newRig(t)
	for range 50 {
		c, s := r.pair()
		var lingered atomic.Int64
		ended := make(chan error, 1)
		answer(s, &lingered, ended)
		for lingered.Load() == 0 {
			ask(t, c)
		}
		if err := s.Close(); err != nil { // most likely during Linger
			t.Fatal(err)
		}
		if err := <-ended; err != io.EOF && !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v", err)
		}
	}
}
