package netstat

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// pair makes an established connection and returns both ends.
func pair(tb testing.TB, l net.Listener) (client, server *net.TCPConn) {
	tb.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

// needsCounters skips a test if sockets have no counters: an emulator of user programs does not pass these calls to a
// kernel.
func needsCounters(tb testing.TB, c *net.TCPConn) {
	tb.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		tb.Fatal(err)
	}
	var info unix.TCPInfo
	var cookie uint64
	if control := raw.Control(func(fd uintptr) { cookie, err = cookieOf(int(fd)), readTCP(int(fd), &info) }); control != nil {
		tb.Fatal(control)
	}
	if cookie == 0 || err != nil {
		tb.Skipf("sockets have no counters here: cookie %d, TCP_INFO %v", cookie, err)
	}
}

func listen(tb testing.TB, address string) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

// send moves n bytes through a connection.
func send(tb testing.TB, from, to net.Conn, n int64) {
	tb.Helper()
	go func() {
		buffer := make([]byte, 64<<10)
		for left := n; left > 0; left -= int64(len(buffer)) {
			if _, err := from.Write(buffer[:min(left, int64(len(buffer)))]); err != nil {
				return
			}
		}
	}()
	if _, err := io.CopyN(io.Discard, to, n); err != nil {
		tb.Error(err)
	}
}

func (s Sample) peer(a string) Peer {
	i := slices.IndexFunc(s.Peers, func(p Peer) bool { return p.Addr == netip.MustParseAddr(a) })
	if i < 0 {
		return Peer{}
	}
	return s.Peers[i]
}

func mustSample(tb testing.TB, s *Sampler) Sample {
	tb.Helper()
	sample, err := s.Sample()
	if err != nil {
		tb.Fatal(err)
	}
	return sample
}

// Traffic since the last sample is counted once, by the address of the peer, including that of new connections.
func TestConnectionsAreSummedByPeer(t *testing.T) {
	l := listen(t, "127.0.0.9:0")
	client, server := pair(t, l)
	defer client.Close()
	needsCounters(t, client)
	send(t, client, server, 1<<20) // before the first sample: not counted
	s := New(Options{})
	defer s.Close()
	if p := mustSample(t, s).peer("127.0.0.9"); p.Connections != 1 || p.BytesSent != 0 || p.Interval != 0 {
		t.Errorf("the first sample: %+v", p)
	}
	send(t, client, server, 1<<20)
	other, end := pair(t, l)
	send(t, other, end, 1<<19)
	p := mustSample(t, s).peer("127.0.0.9")
	if p.Connections != 2 || p.BytesSent-p.BytesRetransmitted != 3<<19 || // a busy machine may retransmit
		p.SegmentsSent < 2 || p.Interval <= 0 || p.RTT <= 0 || p.RTTMin <= 0 || p.Lost() != 0 || p.DeliveryRate <= 0 {
		t.Errorf("the second sample: %+v", p)
	}
	// The other ends are sockets of this process too. Their peer is the address of the clients.
	if p := mustSample(t, s).peer("127.0.0.1"); p.Connections != 2 || p.BytesReceived != 0 {
		t.Errorf("the other ends: %+v", p)
	}
	other.Close()
	end.Close()
	if p := mustSample(t, s).peer("127.0.0.9"); p.Connections != 1 || p.BytesSent != 0 {
		t.Errorf("after a close: %+v", p)
	}
	server.Close()
}

// A number that another connection has now does not continue the old counters.
func TestDescriptorsAreUsedAgain(t *testing.T) {
	l := listen(t, "127.0.0.9:0")
	s := New(Options{})
	defer s.Close()
	for range 3 {
		client, server := pair(t, l)
		send(t, client, server, 1<<18)
		if p := mustSample(t, s).peer("127.0.0.9"); p.BytesSent != 1<<18 && p.Interval != 0 {
			t.Errorf("%+v", p)
		}
		client.Close()
		server.Close()
	}
}

// Files, pipes, listening sockets and closed numbers are skipped.
func TestOtherDescriptorsArePassedOver(t *testing.T) {
	l := listen(t, "127.0.0.9:0").(*net.TCPListener)
	file, err := os.Open("netstat_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.9:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	var numbers []int
	for _, c := range []syscall.Conn{l, file, udp.(*net.UDPConn)} {
		raw, err := c.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Control(func(fd uintptr) { numbers = append(numbers, int(fd)) })
	}
	numbers = append(numbers, -1, 9999, connectionsMax)
	s := New(Options{Descriptors: slices.Values(numbers)})
	defer s.Close()
	for range 2 {
		if got := mustSample(t, s); len(got.Peers) != 0 || got.Unseen != 0 {
			t.Errorf("%+v", got)
		}
	}
}

// The machine's own list of interfaces is readable, and has those that the standard library finds.
func TestInterfacesOfThisMachine(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	mustSample(t, s)
	time.Sleep(time.Millisecond)
	got := mustSample(t, s)
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range all {
		if want.Flags&net.FlagLoopback != 0 {
			continue
		}
		i := slices.IndexFunc(got.Interfaces, func(i Interface) bool { return i.Name == want.Name && i.Index == want.Index })
		if i < 0 || got.Interfaces[i].Up != (want.Flags&net.FlagUp != 0) || got.Interfaces[i].Interval <= 0 {
			t.Errorf("%+v has no %s", got.Interfaces, want.Name)
		}
	}
}

// counters returns a link with counters in each field.
func counters(index int, name string, bytes, packets, errors uint64, changes uint32) link {
	l := link{index: index, name: name, up: true, carrier: true, carrierChanges: changes, countersAreIncluded: true}
	l.counters.rx = [trafficFields]uint64{bytes, packets, errors}
	return l
}

// Counters that are reset, come back or are wrong give no false counts.
func TestCountersThatBeginAgainGiveNoCounts(t *testing.T) {
	start := time.Date(2026, time.March, 14, 15, 9, 26, 0, time.UTC)
	for name, c := range map[string]struct {
		before, after []link
		counted       bool
		want          Traffic
	}{
		"grown":             {[]link{counters(2, "a", 1000, 10, 1, 1)}, []link{counters(2, "a", 3000, 30, 2, 1)}, true, Traffic{Bytes: 2000, Packets: 20, Errors: 1}},
		"idle":              {[]link{counters(2, "a", 1000, 10, 1, 1)}, []link{counters(2, "a", 1000, 10, 1, 1)}, true, Traffic{}},
		"reset":             {[]link{counters(2, "a", 1000, 10, 1, 1)}, []link{counters(2, "a", 900, 9, 0, 1)}, false, Traffic{}},
		"reset of errors":   {[]link{counters(2, "a", 1000, 10, 9, 1)}, []link{counters(2, "a", 3000, 30, 0, 1)}, true, Traffic{Bytes: 2000, Packets: 20}},
		"comes":             {nil, []link{counters(2, "a", 1e15, 1e9, 1e6, 1)}, false, Traffic{}},
		"another's number":  {[]link{counters(2, "a", 1000, 10, 1, 1)}, []link{counters(2, "b", 3000, 30, 2, 1)}, false, Traffic{}},
		"a mad driver":      {[]link{counters(2, "a", 1000, 10, 1, 1)}, []link{counters(2, "a", 1<<63, 30, 2, 1)}, false, Traffic{}},
		"a mad error count": {[]link{counters(2, "a", 1000, 10, 1, 1)}, []link{counters(2, "a", 3000, 30, 1<<63+1, 1)}, true, Traffic{Bytes: 2000, Packets: 20}},
		"no counters":       {[]link{{index: 2, name: "a"}}, []link{counters(2, "a", 3000, 30, 2, 1)}, false, Traffic{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := interfaceRates{}
			noMode := func(string) linkMode { return linkMode{} }
			r.step(c.before, start, noMode)
			got := r.step(c.after, start.Add(10*time.Second), noMode)[0]
			if got.Rx != c.want || (got.Interval == 10*time.Second) != c.counted || got.Interval != 0 && !c.counted {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The kernel's structures have the sizes of its headers.
func TestSizes(t *testing.T) {
	if a, b := unsafe.Sizeof(ethtoolCommand{}), unsafe.Sizeof(interfaceRequest{}); a != 44 || b != 40 {
		t.Errorf("%d and %d bytes", a, b)
	}
	if n := unsafe.Sizeof(connection{}); n > 120 {
		t.Errorf("a connection takes %d bytes", n)
	}
}

// An interface that disappears and comes back begins again; a change of its carrier reads the speed again.
func TestInterfacesComeAndGo(t *testing.T) {
	now := time.Date(2026, time.March, 14, 15, 9, 26, 0, time.UTC)
	asked := 0
	mode := func(string) linkMode { asked++; return linkMode{speed: int64(asked)} }
	r := interfaceRates{}
	steps := []struct {
		links          []link
		interval       time.Duration
		changes, speed int64
	}{
		{[]link{counters(2, "a", 1000, 10, 0, 1)}, 0, 0, 1},
		{[]link{counters(2, "a", 2000, 20, 0, 1)}, time.Second, 0, 1},
		{[]link{counters(2, "a", 2000, 20, 0, 3)}, time.Second, 2, 2},
		{nil, 0, 0, 0},
		{[]link{counters(2, "a", 9000, 90, 0, 1)}, 0, 0, 3},
		{[]link{counters(2, "a", 9100, 91, 0, 1)}, time.Second, 0, 3},
	}
	for n, step := range steps {
		now = now.Add(time.Second)
		got := r.step(step.links, now, mode)
		if len(got) != len(step.links) {
			t.Fatal(n, got)
		}
		if len(got) > 0 && (got[0].Interval != step.interval || got[0].CarrierChanges != step.changes || got[0].Speed != step.speed) {
			t.Errorf("step %d: %+v", n, got[0])
		}
	}
	now = now.Add(modeAge)
	if got := r.step([]link{counters(2, "a", 9100, 91, 0, 1)}, now, mode); got[0].Speed != 4 {
		t.Errorf("an old speed is believed: %+v", got)
	}
}

// An error about a forbidden source is returned once, until it works again, and the rest of the sample is present.
func TestForbiddenSourcesAreToldOnce(t *testing.T) {
	client, server := pair(t, listen(t, "127.0.0.9:0"))
	defer client.Close()
	defer server.Close()
	needsCounters(t, client)
	s := New(Options{})
	good := s.netlink
	defer unix.Close(good)
	s.netlink = -1
	_, first := s.Sample()
	sample, second := s.Sample()
	if first == nil || errs.KindOf(first) == 0 && !errors.Is(first, unix.EBADF) || second != nil {
		t.Errorf("told %v, then %v", first, second)
	}
	if sample.peer("127.0.0.9").Connections != 1 || sample.Interfaces != nil {
		t.Errorf("the rest: %+v", sample)
	}
	s.netlink = good
	if _, err := s.Sample(); err != nil {
		t.Error(err)
	}
	s.Close()
	if _, err := s.Sample(); errs.KindOf(err) != errs.BadHandle {
		t.Error(err)
	}
}

// FuzzParseLinks: for any answer of the kernel, parsing ends and stays within the packet.
func FuzzParseLinks(f *testing.F) {
	f.Add([]byte{20, 0, 0, 0, unix.NLMSG_DONE, 0, 2, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{16, 0, 0, 0, unix.NLMSG_ERROR, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte("Name:\tx\nFDSize:\t256\nGroups:\n"))
	f.Add(append([]byte{40, 0, 0, 0, unix.RTM_NEWLINK, 0, 2, 0, 7, 0, 0, 0, 0, 0, 0, 0}, 0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 6, 0, unix.IFLA_IFNAME, 0, 'a', 0, 0, 0))
	f.Fuzz(func(t *testing.T, packet []byte) {
		var links []link
		parseLinks(packet, 7, &links)
		for _, l := range links {
			if l.name == "" {
				t.Errorf("%+v", l)
			}
		}
		if n, err := parseTableSize(packet); err == nil && n <= 0 {
			t.Error(n)
		}
	})
}
