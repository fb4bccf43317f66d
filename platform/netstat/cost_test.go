package netstat

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// connect opens pairs of connections over loopback. Both ends are established sockets of this process.
func connect(b *testing.B, pairs int) {
	b.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < uint64(2*pairs+100) {
		b.Skipf("the limit of open files is %d", limit.Cur)
	}
	l := listen(b, "127.0.0.9:0")
	for range pairs {
		client, server := pair(b, l)
		b.Cleanup(func() { client.Close(); server.Close() })
	}
}

// used returns the processor time of this process so far: on a busy machine it is more meaningful than the clock.
func used(b *testing.B) float64 {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSample measures one sample of a process with that number of connections, after the first.
func BenchmarkSample(b *testing.B) {
	for _, connections := range []int{100, 10_000} {
		b.Run(fmt.Sprint(connections), func(b *testing.B) {
			connect(b, connections/2)
			s := New(Options{})
			defer s.Close()
			mustSample(b, s)
			b.ReportAllocs()
			begin := used(b)
			for b.Loop() {
				if got := mustSample(b, s); len(got.Peers) < 2 {
					b.Fatal(got)
				}
			}
			b.ReportMetric((used(b)-begin)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkDiag measures the other way to ask, which DESIGN.md rejects: a dump of the connections of the whole machine by
// inet_diag, without finding out which belong to this process.
func BenchmarkDiag(b *testing.B) {
	for _, connections := range []int{100, 10_000} {
		b.Run(fmt.Sprint(connections), func(b *testing.B) {
			connect(b, connections/2)
			fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
			if err != nil {
				b.Skip(err)
			}
			defer unix.Close(fd)
			b.ReportAllocs()
			begin := used(b)
			for b.Loop() {
				if n := dumpConnections(b, fd); n < connections {
					b.Fatal(n)
				}
			}
			b.ReportMetric((used(b)-begin)/float64(b.N), "cpu-ns/op")
		})
	}
}

// dumpConnections asks for all established IPv4 connections with their TCP_INFO and counts the answers.
func dumpConnections(b *testing.B, fd int) (found int) {
	const request = unix.SizeofNlMsghdr + 56 // struct inet_diag_req_v2
	const information, established = 1 << 1, 1 << 1
	var ask [request]byte
	binary.NativeEndian.PutUint32(ask[0:], request)
	binary.NativeEndian.PutUint16(ask[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(ask[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	ask[16], ask[17], ask[18] = unix.AF_INET, unix.IPPROTO_TCP, information
	binary.NativeEndian.PutUint32(ask[20:], established)
	if err := unix.Sendto(fd, ask[:], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		b.Fatal(err)
	}
	answer := make([]byte, 32<<10)
	for {
		n, _, err := unix.Recvfrom(fd, answer, 0)
		if err != nil {
			b.Fatal(err)
		}
		for packet := answer[:n]; len(packet) >= unix.SizeofNlMsghdr; {
			size := int(binary.NativeEndian.Uint32(packet))
			switch binary.NativeEndian.Uint16(packet[4:]) {
			case unix.NLMSG_DONE:
				return found
			case unix.NLMSG_ERROR:
				b.Skip("inet_diag is not there")
			}
			for kind, value := range attributes(packet[unix.SizeofNlMsghdr+72 : size]) { // after struct inet_diag_msg
				if kind == 2 && len(value) > 200 { // INET_DIAG_INFO
					found++
				}
			}
			packet = packet[min(align4(size), len(packet)):]
		}
	}
}
