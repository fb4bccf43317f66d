package xrootd

import (
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"hemera/rules/wire"
)

// TestAnswersOnTheWay checks that the clock runs from the header of an answer to its end. It does not run while a server
// is silent, and two answers at the same time count once.
func TestAnswersOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{}.withDefaults()
		o.answers = &transit{}
		// lane starts a session with a call in the first slot, and returns the server's end.
		lane := func() net.Conn {
			ours, theirs := net.Pipe()
			c := newConn(ours, Endpoint{}, o)
			slot := <-c.free
			c.calls[slot] = &call{slot: slot, finish: func(*call) {}}
			go c.receive()
			t.Cleanup(func() { _ = c.Close(); _ = theirs.Close() })
			return theirs
		}
		a, b := lane(), lane()
		answer := wire.AppendResponse(nil, streamID(1), wire.StatusOK, make([]byte, 1000))
		part := func(to net.Conn, from, until int) {
			if _, err := to.Write(answer[from:until]); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		want := func(what string, d time.Duration) {
			if got := o.answers.total(); got != d {
				t.Errorf("%s: %s, want %s", what, got, d)
			}
		}
		time.Sleep(time.Second) // the servers think
		want("nothing came", 0)
		part(a, 0, 8)
		time.Sleep(time.Second)
		want("a header", time.Second)
		part(b, 0, 500)
		time.Sleep(time.Second)
		part(a, 8, len(answer))
		want("both", 2*time.Second)
		time.Sleep(time.Second)
		part(b, 500, len(answer))
		time.Sleep(time.Hour)
		want("all came", 3*time.Second)
	})
}

// TestSentBytesAreOnTheWay checks that the time in which a server does not read counts as the server's and not as the
// network's.
func TestSentBytesAreOnTheWay(t *testing.T) {
	ours, theirs := tcpEnds(t)
	defer theirs.Close()
	needsCounters(t, ours)
	c := newConn(ours, Endpoint{}, Options{}.withDefaults())
	defer c.Close()
	// More than both kernels buffer: the write blocks until the other side reads.
	ended := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(ended)
		b := make([]byte, 16<<20)
		for _, err := ours.Write(b); err == nil; {
			_, err = ours.Write(b)
		}
	}()
	// When the kernels' buffers are full, the count stands still. The time of that depends on the machine.
	const while = 100 * time.Millisecond
	for {
		before, since := c.sending(), time.Now()
		<-time.After(while)
		if c.sending()-before < while/2 {
			break
		}
		if since.Sub(began) > time.Minute {
			t.Fatalf("of %s in which the server read nothing, %s are the network's", time.Since(began), c.sending())
		}
	}
	// The bytes that it reads are in transit for a while. Kernels count in steps of some milliseconds.
	stands := c.sending()
	for b := make([]byte, 1<<20); c.sending() == stands; {
		if _, err := theirs.Read(b); err != nil || time.Since(began) > 2*time.Minute {
			t.Fatalf("the kernel counts nothing: the test proves nothing; %v", err)
		}
	}
	theirs.Close()
	<-ended
}

// needsCounters skips a test where connections have no counters: an emulator of user programs answers the system call
// with zeros.
func needsCounters(t *testing.T, c net.Conn) {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info *unix.TCPInfo
	if control := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); control != nil {
		t.Fatal(control)
	}
	if err != nil || info.Rto == 0 {
		t.Skipf("connections have no counters here: TCP_INFO %+v, %v", info, err)
	}
}
