package netstat

import (
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hemera/rules/netjudge"
	"hemera/test/fixture/lan"
	"hemera/words/hemera"
)

// hosts is the number of machines on the switch of the test.
const hosts = 4

// talkers has the hosts of a LAN, which all send to each other.
type talkers struct {
	*lan.LAN
	t        *testing.T
	samplers [hosts]*Sampler
	mu       sync.Mutex
	sockets  [hosts][]int
}

// TestALosingHostIsFound drops real packets on their way to or from one host, by a filter at its cable. Real samplers of
// all hosts feed netjudge, which finds the host and the direction. When the filter is removed, the host is well again.
func TestALosingHostIsFound(t *testing.T) {
	if os.Getenv("HEMERA_NETWORKS") == "" {
		t.Skip("it takes half a minute of a machine that does little else: scripts/test.sh loss")
	}
	l := &talkers{LAN: lan.New(t, hosts), t: t}
	l.connect()
	var state netjudge.State
	var verdicts []netjudge.Verdict
	now := time.Date(2026, time.March, 14, 15, 9, 26, 0, time.UTC)
	step := func() []netjudge.Verdict {
		time.Sleep(200 * time.Millisecond)
		now = now.Add(10 * time.Second) // the clock runs faster than for a manager, so that counts fade within the test
		state, verdicts = netjudge.Step(state, l.matrix(), now)
		return slices.DeleteFunc(slices.Clone(verdicts), func(v netjudge.Verdict) bool { return v.Standing != netjudge.Suspected })
	}
	for range 8 {
		if got := step(); len(got) != 0 {
			t.Fatalf("before: %+v", got)
		}
	}
	// The kernel gives virtual cables a speed, so that the driver's answer can be tested.
	if sample, err := l.samplers[0].Sample(); err != nil || len(sample.Interfaces) != 1 || sample.Interfaces[0].Speed != 10e9 ||
		sample.Interfaces[0].HalfDuplex || sample.Interfaces[0].Kind != "veth" {
		t.Errorf("%+v %v", sample.Interfaces, err)
	}
	const loser = 2
	for _, c := range []struct {
		name      string
		lose      func(host int, share float64) (stop func())
		direction netjudge.Direction
		share     float64
	}{
		{"2 % of what it sends", l.LoseSent, netjudge.Out, 0.02},
		{"5 % of what it receives", l.LoseReceived, netjudge.In, 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			l.t = t
			stop := c.lose(loser, c.share)
			found := 0
			for n := 1; n <= 20; n++ {
				got := step()
				if len(got) > 0 && found == 0 {
					found = n
				}
				if len(got) > 1 || len(got) == 1 && (got[0].Node != loser+1 || got[0].Direction != c.direction) {
					t.Fatalf("sample %d: %+v", n, got)
				}
			}
			if found == 0 {
				t.Fatalf("it was not found: %+v", verdicts)
			}
			t.Logf("found at sample %d: %s", found, strings.Join(netjudge.Explain(verdicts[loser]), " "))
			stop()
			for n := 1; len(step()) > 0; n++ {
				if n == 100 {
					t.Fatalf("it stays suspected: %+v", verdicts)
				}
			}
		})
	}
}

// matrix takes a sample at each host and returns their matrix, with nodes instead of addresses.
func (l *talkers) matrix() (m netjudge.Matrix) {
	for h, s := range l.samplers {
		sample, err := s.Sample()
		if err != nil {
			l.t.Error(err)
		}
		n := netjudge.Node{ID: hemera.NodeID(h + 1), Taken: sample.Taken}
		for _, p := range sample.Peers {
			n.Paths = append(n.Paths, netjudge.Path{
				Peer: hemera.NodeID(p.Addr.As4()[3]), Sent: p.SegmentsSent, Lost: p.Lost(), RTT: p.RTT,
			})
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

// connect makes a sampler at each host, and a connection between each two, on which both send all the time.
func (l *talkers) connect() {
	var listeners [hosts]net.Listener
	for h := range hosts {
		l.Within(h, func() (err error) {
			l.samplers[h] = New(Options{Descriptors: func(yield func(int) bool) {
				l.mu.Lock()
				list := slices.Clone(l.sockets[h])
				l.mu.Unlock()
				slices.Values(list)(yield)
			}})
			listeners[h], err = net.Listen("tcp", net.JoinHostPort(lan.Address(h), "1095"))
			return err
		})
		l.t.Cleanup(func() { l.samplers[h].Close(); listeners[h].Close() })
	}
	for a := range hosts {
		for b := range a {
			l.Within(a, func() error {
				c, err := net.DialTimeout("tcp", listeners[b].Addr().String(), 10*time.Second)
				if err != nil {
					return err
				}
				l.serve(a, c)
				return nil
			})
			c, err := listeners[b].Accept()
			if err != nil {
				l.t.Fatal(err)
			}
			l.serve(b, c)
		}
	}
}

// serve registers one end of a connection. It sends 24 KiB a hundred times a second, which no queue on the way drops, and
// reads all input.
func (l *talkers) serve(host int, c net.Conn) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		l.t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		l.mu.Lock()
		l.sockets[host] = append(l.sockets[host], int(fd))
		l.mu.Unlock()
	})
	l.t.Cleanup(func() { c.Close() })
	go io.Copy(io.Discard, c)
	go func() {
		data := make([]byte, 24<<10)
		for {
			if _, err := c.Write(data); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
}
