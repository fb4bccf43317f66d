package poll

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// rig is a loop and a listener whose connections the loop adopts.
type rig struct {
	testing.TB
	loop     *Loop
	listener net.Listener
}

func newRig(t testing.TB) *rig {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	loop, err := NewLoop()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(loop.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &rig{t, loop, l}
}

// pair returns a client's end and the adopted end of one connection.
func (r *rig) pair() (*net.TCPConn, *Socket) {
	r.Helper()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := r.listener.Accept()
		if err != nil {
			r.Error(err)
		}
		accepted <- c
	}()
	c, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		r.Fatal(err)
	}
	conn, err := r.loop.Adopt(<-accepted)
	if err != nil {
		r.Fatal(err)
	}
	s := conn.(*Socket)
	r.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return c.(*net.TCPConn), s
}

// echo answers messages of a length and as many bytes, as a door does: parked between them, blocking within them. It
// calls before ahead of each answer.
func echo(s *Socket, before func(m []byte), ended func(error)) {
	var buffer []byte
	var serve func()
	serve = func() {
		for {
			var p [512]byte
			n, err := s.TryRead(p[:])
			buffer = append(buffer, p[:n]...)
			if len(buffer) >= 4 {
				n := int(binary.BigEndian.Uint32(buffer))
				m := make([]byte, 4+n)
				have := copy(m, buffer)
				buffer = buffer[have:]
				if _, err = io.ReadFull(s, m[have:]); err == nil {
					before(m[4:])
					_, err = s.Write(m)
				}
			}
			if errors.Is(err, ErrAgain) {
				if s.Park(serve) {
					return
				}
				err = nil
			}
			if err != nil {
				s.Close()
				ended(err)
				return
			}
		}
	}
	serve()
}

func message(p []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...)
}

// exchange sends a message in pieces and reads its echo.
func exchange(t testing.TB, c net.Conn, p []byte, pieces int) {
	t.Helper()
	m := message(p)
	go func() {
		for rest := m; len(rest) > 0; {
			n := min(len(rest), len(m)/pieces+1)
			if _, err := c.Write(rest[:n]); err != nil {
				t.Error(err)
				return
			}
			rest = rest[n:]
		}
	}()
	back := make([]byte, len(m))
	if _, err := io.ReadFull(c, back); err != nil || !bytes.Equal(back, m) {
		t.Fatalf("message of %d bytes: %v, or other bytes came back", len(p), err)
	}
}

func TestSocketsOfALoopEcho(t *testing.T) {
	r := newRig(t)
	var all sync.WaitGroup
	ends := make(chan error, 16)
	for i := range cap(ends) {
		c, s := r.pair()
		go echo(s, func([]byte) {}, func(err error) { ends <- err })
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range 60 {
				p := make([]byte, random.IntN(1<<random.IntN(18)))
				for i := range p {
					p[i] = byte(random.Uint32())
				}
				exchange(t, c, p, 1+random.IntN(5))
			}
			c.Close()
		})
	}
	all.Wait()
	for range cap(ends) {
		if err := <-ends; err != io.EOF {
			t.Errorf("a connection that was closed by its client ended with %v", err)
		}
	}
}

// The last bytes before the end of the stream are read, and then the end.
func TestSocketReadsTheLastBytesAndTheEnd(t *testing.T) {
	r := newRig(t)
	for range 50 {
		c, s := r.pair()
		ended := make(chan error, 1)
		go echo(s, func([]byte) {}, func(err error) { ended <- err })
		if _, err := c.Write(message([]byte("the last"))); err != nil {
			t.Fatal(err)
		}
		_ = c.CloseWrite()
		back, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(back, message([]byte("the last"))) {
			t.Fatalf("read %q, %v", back, err)
		}
		if err := <-ended; err != io.EOF {
			t.Fatalf("ended with %v", err)
		}
	}
}

// A connection that waits for a signal holds each poller; others are still served, whether the waiting ones called
// ReleasePoller or not.
func TestLoopServesOthersWhileSomeWait(t *testing.T) {
	for name, lend := range map[string]bool{"who waits says so": true, "who waits says nothing": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			release := make(chan struct{})
			var held, ended sync.WaitGroup
			serve := func(before func(*Socket, []byte)) net.Conn {
				c, s := r.pair()
				ended.Add(1)
				go echo(s, func(p []byte) { before(s, p) }, func(error) { ended.Done() })
				exchange(t, c, []byte("first"), 1) // parked from now on
				return c
			}
			holders := make([]net.Conn, 3*r.loop.want)
			for i := range holders {
				holders[i] = serve(func(s *Socket, p []byte) {
					if string(p) != "hold" {
						return
					}
					if lend {
						s.ReleasePoller()
					}
					held.Done()
					<-release
				})
				held.Add(1)
				if _, err := holders[i].Write(message([]byte("hold"))); err != nil {
					t.Fatal(err)
				}
			}
			held.Wait()
			quick := serve(func(*Socket, []byte) {})
			for range 10 {
				exchange(t, quick, []byte("quick"), 1)
			}
			close(release)
			for _, c := range append(holders, quick) {
				_ = c.(*net.TCPConn).CloseWrite()
				if _, err := io.ReadAll(c); err != nil {
					t.Error(err)
				}
			}
			ended.Wait()
		})
	}
}

// Pollers that were added while others waited become idle afterwards, up to a bound, and the others end.
func TestLoopKeepsNoMorePollersThanWanted(t *testing.T) {
	r := newRig(t)
	r.loop.idleMax = 8
	var all sync.WaitGroup
	for range 64 {
		c, s := r.pair()
		go echo(s, func([]byte) { s.ReleasePoller() }, func(error) {})
		all.Go(func() {
			for range 50 {
				exchange(t, c, []byte("slow"), 1)
			}
		})
	}
	all.Wait()
	c, s := r.pair()
	go echo(s, func([]byte) {}, func(error) {})
	for n := -1; n != int(r.loop.want); {
		exchange(t, c, []byte("quick"), 1)
		r.loop.mu.Lock()
		idle := len(r.loop.idle)
		n = len(r.loop.pollers)
		r.loop.mu.Unlock()
		if idle > 8 {
			t.Fatalf("%d pollers rest", idle)
		}
	}
}

func TestSocketDeadlines(t *testing.T) {
	r := newRig(t)
	_, s := r.pair()
	_ = s.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read after its deadline: %v", err)
	}
	_ = s.SetDeadline(time.Time{})
	failed := make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		failed <- err
	}()
	for len(failed) == 0 {
		_ = s.SetReadDeadline(time.Unix(1, 0)) // whether the reader waits already or not yet
	}
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a deadline set while waiting: %v", err)
	}
	_ = s.SetWriteDeadline(time.Now().Add(time.Millisecond))
	var err error
	for err == nil {
		_, err = s.Write(make([]byte, 1<<20)) // the peer does not read
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write after its deadline: %v", err)
	}
}

func TestSocketCloseEndsWhoWaitsAndWhoIsParked(t *testing.T) {
	r := newRig(t)
	for range 50 {
		_, reading := r.pair()
		_, writing := r.pair()
		_, idle := r.pair()
		ends := make(chan error, 3)
		go func() {
			_, err := reading.Read(make([]byte, 1))
			ends <- err
		}()
		go func() {
			var err error
			for err == nil {
				_, err = writing.Write(make([]byte, 1<<20))
			}
			ends <- err
		}()
		go echo(idle, func([]byte) {}, func(err error) { ends <- err })
		for _, s := range []*Socket{reading, writing, idle} {
			if err := s.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Fatal(err)
			}
			if err := s.Close(); !errors.Is(err, net.ErrClosed) {
				t.Fatalf("closed twice: %v", err)
			}
		}
		for range cap(ends) {
			if err := <-ends; !errors.Is(err, net.ErrClosed) && err != io.EOF {
				t.Fatalf("ended with %v", err)
			}
		}
	}
}

// The reader and Close race at every point; the parked function runs exactly once more.
func TestSocketParkAndCloseRace(t *testing.T) {
	r := newRig(t)
	for range 200 {
		_, s := r.pair()
		var calls atomic.Int32
		ended := make(chan struct{})
		go s.Close()
		goOn := func() {
			if calls.Add(1) > 1 {
				t.Error("went on twice")
			}
			close(ended)
		}
		for {
			if s.Park(goOn) {
				<-ended
				break
			}
			if _, err := s.TryRead(make([]byte, 1)); err != nil && !errors.Is(err, ErrAgain) {
				break
			}
		}
	}
}

func TestSocketWritesMuchInOrder(t *testing.T) {
	r := newRig(t)
	c, s := r.pair()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data := make([]byte, 6<<20)
	for i := range data {
		data[i] = byte(i * 31 >> 7)
	}
	if _, err := file.Write(data); err != nil {
		t.Fatal(err)
	}
	var want []byte
	var vec [][]byte
	for off := 0; off < len(data); off += 1777 {
		vec = append(vec, data[off:min(off+1777, len(data))], nil)
	}
	want = append(append(append(want, data...), "head"...), data[1000:]...)
	done := make(chan error, 1)
	go func() {
		err := s.Writev(vec)
		if err == nil {
			err = s.SendFile([]byte("head"), file, 1000, int64(len(data))-1000)
		}
		done <- err
		s.Close()
	}()
	got, err := io.ReadAll(c)
	if e := <-done; e != nil || err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes of %d came, or others: %v, %v", len(got), len(want), err, e)
	}
	_, s = r.pair()
	if err := s.SendFile(nil, file, int64(len(data))-10, 11); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that is too short: %v", err)
	}
}

func TestAdoptLeavesOtherConnectionsAlone(t *testing.T) {
	r := newRig(t)
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if c, err := r.loop.Adopt(a); c != a || err != nil {
		t.Errorf("a pipe became %T, %v", c, err)
	}
}
