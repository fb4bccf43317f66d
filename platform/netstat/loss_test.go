package netstat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hemera"
	"hemera/rules/netjudge"
)

// hosts is the number of machines on the switch of the test.
const hosts = 4

// lan is a switch and hosts in network namespaces of their own, which all send to each other.
type lan struct {
	t        *testing.T
	prefix   string
	samplers [hosts]*Sampler
	mu       sync.Mutex
	sockets  [hosts][]int
}

// TestALosingHostIsFound: real packets are dropped on their way to or from one host, by a filter at its cable. Real samplers of
// all hosts feed the judge, and it finds the host and the direction; when the filter is gone it is well again.
func TestALosingHostIsFound(t *testing.T) {
	if os.Getenv("HEMERA_NETWORKS") == "" {
		t.Skip("it takes half a minute of a machine that does little else: scripts/test.sh loss")
	}
	l := newLAN(t)
	l.connect()
	var state netjudge.State
	var verdicts []netjudge.Verdict
	now := time.Date(2026, time.March, 14, 15, 9, 26, 0, time.UTC)
	step := func() []netjudge.Verdict {
		time.Sleep(200 * time.Millisecond)
		now = now.Add(10 * time.Second) // samples are taken faster than a manager would, so that counts fade within the test
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
		space     string // where packets of the direction arrive at an interface
		link      string
		direction netjudge.Direction
		share     float64
	}{
		{"2 % of what it sends", "switch", "v2", netjudge.Out, 0.02},
		{"5 % of what it receives", "host2", "eth0", netjudge.In, 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			l.t = t
			stop := l.drop(c.space, c.link, c.share)
			found := 0
			for n := 1; n <= 20; n++ {
				got := step()
				if len(got) > 0 && found == 0 {
					found = n
				}
				if len(got) > 1 || len(got) == 1 && (got[0].Node != loser+1 || got[0].Cause != netjudge.Port || got[0].Direction != c.direction) {
					t.Fatalf("sample %d: %+v", n, got)
				}
			}
			if found == 0 {
				t.Fatalf("it was not found: %+v", verdicts)
			}
			t.Logf("found at sample %d: %s", found, strings.Join(netjudge.Explain(verdicts[loser], nil), " "))
			stop()
			for n := 1; len(step()) > 0; n++ {
				if n == 100 {
					t.Fatalf("it stays suspected: %+v", verdicts)
				}
			}
		})
	}
}

// matrix takes a sample at each host and makes the matrix of them: addresses become nodes.
func (l *lan) matrix() (m netjudge.Matrix) {
	for h, s := range l.samplers {
		sample, err := s.Sample()
		if err != nil {
			l.t.Error(err)
		}
		n := netjudge.Node{ID: hemera.NodeID(h + 1), Taken: sample.Taken}
		for _, i := range sample.Interfaces {
			packets := func(t Traffic) netjudge.Packets {
				return netjudge.Packets{Total: t.Packets, Errors: t.Errors, Missed: t.Missed + t.FIFO, Dropped: t.Dropped}
			}
			n.Interfaces = append(n.Interfaces, netjudge.Interface{
				Name: i.Name, Virtual: i.Kind != "" && i.Kind != "bond", Member: i.Master != 0, Up: i.Up, Carrier: i.Carrier,
				Speed: i.Speed, HalfDuplex: i.HalfDuplex, Rx: packets(i.Rx), Tx: packets(i.Tx), CarrierChanges: i.CarrierChanges,
			})
		}
		for _, p := range sample.Peers {
			n.Paths = append(n.Paths, netjudge.Path{
				Peer: hemera.NodeID(p.Addr.As4()[3]), Sent: p.SegmentsSent, Lost: p.Lost(), Received: p.SegmentsReceived, OutOfOrder: p.OutOfOrder, RTT: p.RTT,
			})
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

// newLAN makes the namespaces, or skips the test where that is not allowed.
func newLAN(t *testing.T) *lan {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("there is no ip command")
	}
	l := &lan{t: t, prefix: fmt.Sprintf("hemstat%d", os.Getpid())}
	if out, err := exec.Command("ip", "netns", "add", l.space("switch")).CombinedOutput(); err != nil {
		t.Skipf("network namespaces cannot be made here: %s", out)
	}
	t.Cleanup(func() {
		for _, s := range []string{"switch", "host0", "host1", "host2", "host3"} {
			exec.Command("ip", "netns", "del", l.space(s)).Run()
		}
	})
	l.ip("-n", l.space("switch"), "link", "add", "br0", "type", "bridge")
	l.ip("-n", l.space("switch"), "link", "set", "br0", "up")
	for h := range hosts {
		host, cable := l.space(fmt.Sprint("host", h)), fmt.Sprint("v", h)
		l.ip("netns", "add", host)
		l.ip("link", "add", cable, "netns", l.space("switch"), "type", "veth", "peer", "name", "eth0", "netns", host)
		l.ip("-n", l.space("switch"), "link", "set", cable, "master", "br0", "up")
		l.ip("-n", host, "addr", "add", address(h)+"/24", "dev", "eth0")
		l.ip("-n", host, "link", "set", "lo", "up")
		l.ip("-n", host, "link", "set", "eth0", "up")
	}
	return l
}

func (l *lan) space(name string) string { return l.prefix + "-" + name }

// address is a host's; its last number is the node's id.
func address(host int) string { return netip.AddrFrom4([4]byte{10, 78, 0, byte(host + 1)}).String() }

func (l *lan) ip(args ...string) {
	l.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		l.t.Fatalf("ip %v: %s", args, out)
	}
}

// within runs a function on a thread that is in a namespace. The thread ends with it, as it is never unlocked.
func (l *lan) within(space string, run func() error) {
	l.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		ns, err := unix.Open("/run/netns/"+l.space(space), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			defer unix.Close(ns)
			err = unix.Setns(ns, unix.CLONE_NEWNET)
		}
		if err == nil {
			err = run()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		l.t.Fatalf("within %s: %v", space, err)
	}
}

// connect makes a sampler at each host, and a connection between each two on which both send all the time.
func (l *lan) connect() {
	var listeners [hosts]net.Listener
	for h := range hosts {
		l.within(fmt.Sprint("host", h), func() (err error) {
			l.samplers[h] = New(Options{Descriptors: func(yield func(int) bool) {
				l.mu.Lock()
				list := slices.Clone(l.sockets[h])
				l.mu.Unlock()
				slices.Values(list)(yield)
			}})
			listeners[h], err = net.Listen("tcp", net.JoinHostPort(address(h), "1095"))
			return err
		})
		l.t.Cleanup(func() { l.samplers[h].Close(); listeners[h].Close() })
	}
	for a := range hosts {
		for b := range a {
			l.within(fmt.Sprint("host", a), func() error {
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

// serve registers one end of a connection. It sends 24 KiB a hundred times a second, which no queue of the way drops, and reads
// what comes.
func (l *lan) serve(host int, c net.Conn) {
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

// drop drops a share of the packets that arrive at an interface, until the function that it returns is called. A program of the
// kernel's packet filter does it (XDP): six instructions, which need no tool.
func (l *lan) drop(space, link string, share float64) (stop func()) {
	l.t.Helper()
	program, err := loadDropper(share)
	if err != nil {
		l.t.Skipf("packet filters cannot be loaded here: %v", err)
	}
	defer unix.Close(program)
	fd := -1
	l.within(space, func() error {
		i, err := net.InterfaceByName(link)
		if err != nil {
			return err
		}
		fd, err = attach(program, i.Index)
		return err
	})
	return sync.OnceFunc(func() { unix.Close(fd) })
}

// loadDropper loads the program: a random number below the share drops the packet.
func loadDropper(share float64) (int, error) {
	const drop, pass = 1, 2
	var code bytes.Buffer
	for _, i := range []struct {
		operation uint8
		registers uint8
		offset    int16
		value     int32
	}{
		{unix.BPF_JMP | unix.BPF_CALL, 0, 0, 7},                           // r0 = get_prandom_u32()
		{unix.BPF_JMP32 | unix.BPF_JLT, 0, 2, int32(share * (1<<32 - 1))}, // if r0 < share, skip two
		{unix.BPF_ALU64 | unix.BPF_MOV, 0, 0, pass},
		{unix.BPF_JMP | unix.BPF_EXIT, 0, 0, 0},
		{unix.BPF_ALU64 | unix.BPF_MOV, 0, 0, drop},
		{unix.BPF_JMP | unix.BPF_EXIT, 0, 0, 0},
	} {
		binary.Write(&code, binary.NativeEndian, i)
	}
	text, license := code.Bytes(), []byte("none\x00")
	request := struct { // union bpf_attr of BPF_PROG_LOAD
		kind, instructions uint32
		code, license      uintptr
		rest               [96]byte
	}{kind: 6 /* BPF_PROG_TYPE_XDP */, instructions: uint32(len(text) / 8), code: uintptr(unsafe.Pointer(&text[0])), license: uintptr(unsafe.Pointer(&license[0]))}
	fd, _, failed := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&request)), unsafe.Sizeof(request))
	runtime.KeepAlive(text)
	runtime.KeepAlive(license)
	if failed != 0 {
		return -1, failed
	}
	return int(fd), nil
}

// attach makes a program filter what arrives at an interface, until the descriptor is closed.
func attach(program, index int) (int, error) {
	request := struct{ program, target, kind, flags uint32 }{uint32(program), uint32(index), unix.BPF_XDP, 0}
	fd, _, failed := unix.Syscall(unix.SYS_BPF, unix.BPF_LINK_CREATE, uintptr(unsafe.Pointer(&request)), unsafe.Sizeof(request))
	if failed != 0 {
		return -1, failed
	}
	return int(fd), nil
}
