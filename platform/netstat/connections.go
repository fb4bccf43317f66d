package netstat

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Peer sums the connections to one address during an interval. Segments are packets with data, as TCP counts them.
type Peer struct {
	Addr        netip.Addr
	Connections int // open ones
	Interval    time.Duration

	BytesSent          int64 // including those sent again; 0 on kernels before 4.19
	BytesRetransmitted int64 // 0 on kernels before 4.19
	BytesAcked         int64
	BytesReceived      int64
	SegmentsSent       int64 // including those sent again
	SegmentsReceived   int64
	Retransmits        int64 // segments
	// Spurious counts retransmits that the peer did not need, as it reports (DSACK): packets were late and not lost.
	Spurious int64
	// OutOfOrder counts segments from the peer that arrived before an earlier one: after a loss on the way here, all
	// segments that arrive until it is repaired. So it shows that something was lost, but not how much.
	OutOfOrder int64
	Timeouts   int64 // number of times that a sender got no answer and its timer expired; kernels from 6.7 count them

	// RTT is the smoothed round trip, the mean over the segments sent; 0 without any. RTTMin is the smallest one that any
	// of the connections saw in its recent past, and 0 if none was measured.
	RTT, RTTMin time.Duration
	// DeliveryRate is the sum, over connections that sent, of the latest rate at which data reached the peer, in bytes
	// per second. If a sender lacks data, the rate is not higher than its sending rate.
	DeliveryRate int64
	// Busy is the time for which connections had data under way. In ReceiverLimited of it they waited for room at the
	// peer, in SenderLimited for a larger buffer here. The rest is due to the network, or to the application. All are
	// sums over connections.
	Busy, ReceiverLimited, SenderLimited time.Duration
}

// Lost returns the number of segments that were lost on their way to the peer, as far as TCP knows.
func (p Peer) Lost() int64 { return max(0, p.Retransmits-p.Spurious) }

// tcpCounters has the counters of a connection. Those with 32 bits may wrap, and are subtracted in 32 bits.
type tcpCounters struct {
	sent, retransmitted, acked, received uint64 // bytes
	busy, receiver, sender               uint64 // microseconds
	segmentsOut, segmentsIn, retransmits uint32
	spurious, outOfOrder, timeouts       uint32
}

// connection is the remembered state of the socket under one descriptor.
type connection struct {
	cookie   uint64 // the kernel's number of the socket, never reused; 0: no socket is remembered
	peer     netip.Addr
	counters tcpCounters
	tcp      bool // false for other sockets, which are not asked again
}

// connectionRates turns the counters of connections into counts for an interval. It is indexed by descriptor: those are
// small and dense.
type connectionRates struct {
	byDescriptor []connection
	begun        bool // true after the first call, which was at the time taken
	taken        time.Time
	info         unix.TCPInfo // reused: a descriptor costs no allocation
}

// sums adds up one peer.
type sums struct {
	Peer
	rtt float64 // smoothed round trips in microseconds, times segments
}

// sample adds the peers of all connections to a sample and returns the number of connections and peers that were left
// out.
func (r *connectionRates) sample(descriptors func(func(int) bool), s *Sample) (unseen int) {
	peers := map[netip.Addr]*sums{}
	for fd := range descriptors {
		if fd < 0 || fd >= connectionsMax {
			if cookieOf(fd) != 0 {
				unseen++
			}
			continue
		}
		r.add(fd, peers)
	}
	interval := s.Taken.Sub(r.taken)
	if !r.begun {
		interval = 0
	}
	r.begun, r.taken = true, s.Taken
	for _, p := range peers {
		p.Interval = interval
		if p.SegmentsSent > 0 {
			p.RTT = time.Duration(p.rtt / float64(p.SegmentsSent) * float64(time.Microsecond))
		}
		s.Peers = append(s.Peers, p.Peer)
	}
	if len(s.Peers) > peersMax {
		slices.SortFunc(s.Peers, func(a, b Peer) int {
			return cmp.Or(cmp.Compare(b.SegmentsSent+b.SegmentsReceived, a.SegmentsSent+a.SegmentsReceived), a.Addr.Compare(b.Addr))
		})
		unseen += len(s.Peers) - peersMax
		s.Peers = slices.Clone(s.Peers[:peersMax])
	}
	slices.SortFunc(s.Peers, func(a, b Peer) int { return a.Addr.Compare(b.Addr) })
	return unseen
}

// add adds the connection under a descriptor to its peer. It skips other descriptors.
func (r *connectionRates) add(fd int, peers map[netip.Addr]*sums) {
	if fd >= len(r.byDescriptor) {
		if cookieOf(fd) == 0 {
			return
		}
		// Grow by an extra quarter, so that a growing process does not copy for each descriptor.
		r.byDescriptor = append(r.byDescriptor, make([]connection, fd+1+fd/4-len(r.byDescriptor))...)
	}
	c := &r.byDescriptor[fd]
	cookie := cookieOf(fd)
	if cookie == 0 {
		*c = connection{} // a file, or closed
		return
	}
	fresh := c.cookie != cookie
	if fresh {
		*c = connection{cookie: cookie, tcp: true}
	}
	if !c.tcp {
		return
	}
	if err := readTCP(fd, &r.info); err != nil {
		c.tcp = false
		return
	}
	if !carriesData(r.info.State) {
		if fresh {
			c.cookie = 0 // it may be connected at the next look
		}
		return
	}
	if fresh {
		if c.peer = peerOf(fd); !c.peer.IsValid() {
			c.cookie = 0
			return
		}
	}
	after := countersOf(&r.info)
	p := peers[c.peer]
	if p == nil {
		p = &sums{Peer: Peer{Addr: c.peer}}
		peers[c.peer] = p
	}
	p.Connections++
	// At the first call a connection may be years old. At later calls, a new one began after the call before.
	if !fresh || r.begun {
		p.add(c.counters, after, &r.info)
	}
	c.counters = after
}

// add adds the growth between two looks at a connection.
func (p *sums) add(before, after tcpCounters, info *unix.TCPInfo) {
	// A descriptor may be closed and reused between the calls for its cookie and for its counters.
	if after.acked < before.acked || after.received < before.received {
		return
	}
	segments := int64(after.segmentsOut - before.segmentsOut)
	p.BytesSent += grown(before.sent, after.sent)
	p.BytesRetransmitted += grown(before.retransmitted, after.retransmitted)
	p.BytesAcked += grown(before.acked, after.acked)
	p.BytesReceived += grown(before.received, after.received)
	p.SegmentsSent += segments
	p.SegmentsReceived += int64(after.segmentsIn - before.segmentsIn)
	p.Retransmits += int64(after.retransmits - before.retransmits)
	p.Spurious += int64(after.spurious - before.spurious)
	p.OutOfOrder += int64(after.outOfOrder - before.outOfOrder)
	p.Timeouts += int64(uint16(after.timeouts - before.timeouts)) // the kernel has 16 bits
	p.Busy += time.Duration(grown(before.busy, after.busy)) * time.Microsecond
	p.ReceiverLimited += time.Duration(grown(before.receiver, after.receiver)) * time.Microsecond
	p.SenderLimited += time.Duration(grown(before.sender, after.sender)) * time.Microsecond
	if segments > 0 {
		p.rtt += float64(info.Rtt) * float64(segments)
		p.DeliveryRate += int64(min(info.Delivery_rate, 1<<50))
	}
	// The kernel reports all ones until it has measured.
	least := time.Duration(info.Min_rtt) * time.Microsecond
	if info.Min_rtt != 0 && info.Min_rtt != ^uint32(0) && (p.RTTMin == 0 || least < p.RTTMin) {
		p.RTTMin = least
	}
}

// countersOf returns the counters in a TCP_INFO.
func countersOf(i *unix.TCPInfo) tcpCounters {
	return tcpCounters{
		sent: i.Bytes_sent, retransmitted: i.Bytes_retrans, acked: i.Bytes_acked, received: i.Bytes_received,
		busy: i.Busy_time, receiver: i.Rwnd_limited, sender: i.Sndbuf_limited,
		segmentsOut: i.Data_segs_out, segmentsIn: i.Data_segs_in, retransmits: i.Total_retrans,
		spurious: i.Dsack_dups, outOfOrder: i.Rcv_ooopack, timeouts: uint32(i.Total_rto),
	}
}

// carriesData reports whether a state of TCP (linux/tcp_states.h) is that of a connection: from established until both
// ends have closed. The counters of a listening socket have another meaning.
func carriesData(state uint8) bool {
	const established, finWait1, finWait2, closeWait, lastAck, closing = 1, 4, 5, 8, 9, 11
	switch state {
	case established, finWait1, finWait2, closeWait, lastAck, closing:
		return true
	}
	return false
}

// cookieOf returns the number that the kernel gave to a socket, or 0 if the descriptor is not a socket. The kernel takes
// no lock for it, so the call is made without telling Go's scheduler, which halves its cost.
func cookieOf(fd int) (cookie uint64) {
	size := uint32(unsafe.Sizeof(cookie))
	_, _, failed := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_COOKIE,
		uintptr(unsafe.Pointer(&cookie)), uintptr(unsafe.Pointer(&size)), 0)
	if failed != 0 {
		return 0
	}
	return cookie
}

// readTCP reads the TCP_INFO of a descriptor. Fields that an older kernel lacks are zero. It may block while another
// thread holds the socket: the runtime then gives the processor to another goroutine.
func readTCP(fd int, info *unix.TCPInfo) error {
	*info = unix.TCPInfo{}
	size := uint32(unix.SizeofTCPInfo)
	_, _, failed := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(&size)), 0)
	if failed != 0 {
		return failed
	}
	return nil
}

// peerOf returns the address of the other end, or the zero address.
func peerOf(fd int) netip.Addr {
	name, err := unix.Getpeername(fd)
	if err != nil {
		return netip.Addr{}
	}
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(a.Addr)
	case *unix.SockaddrInet6:
		return peerKey(netip.AddrFrom16(a.Addr))
	}
	return netip.Addr{}
}
