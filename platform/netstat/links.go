package netstat

import (
	"encoding/binary"
	"errors"
	"iter"
	"time"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// netlinkTimeout bounds the wait for an answer. The kernel answers during the send, so it protects only against kernels
// that do not.
const netlinkTimeout = 250 * time.Millisecond

// answersMax bounds the packets of an answer: with 32 KiB each, far more than interfacesMax links need.
const answersMax = 64

// link is one interface as the kernel describes it, with its counters since it appeared.
type link struct {
	index, master       int
	name, kind          string
	loopback            bool
	up, carrier         bool
	carrierChanges      uint32
	counters            linkCounters
	countersAreIncluded bool
}

// linkCounters has the counters of struct rtnl_link_stats64 (linux/if_link.h) that a sample uses.
type linkCounters struct {
	rx, tx     [trafficFields]uint64 // in the order of Traffic's fields
	collisions uint64
}

// trafficFields is the number of counters of each direction. rxOffsets and txOffsets have their places in
// rtnl_link_stats64, in 64-bit words. A field that a direction lacks is at -1.
const trafficFields = 7

var (
	rxOffsets = [trafficFields]int{2, 0, 4, 6, 15, 14, 12} // bytes, packets, errors, dropped, missed, fifo, crc
	txOffsets = [trafficFields]int{3, 1, 5, 7, -1, 18, -1} // the same for sent packets
)

// collisionsOffset is the word with the collisions, which have no direction.
const collisionsOffset = 9

// openRouteSocket makes a socket for requests about links.
func openRouteSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return -1, errs.Wrap(err, "netstat.Open", "netlink socket")
	}
	tv := unix.NsecToTimeval(int64(netlinkTimeout))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		unix.Close(fd)
		return -1, errs.Wrap(err, "netstat.Open", "timeout of the netlink socket")
	}
	return fd, nil
}

// readLinks reads all links and returns those that are not loopback.
func readLinks(fd int) ([]link, error) {
	const request = unix.SizeofNlMsghdr + unix.SizeofIfInfomsg
	var ask [request]byte
	binary.NativeEndian.PutUint32(ask[0:], request)
	binary.NativeEndian.PutUint16(ask[4:], unix.RTM_GETLINK)
	binary.NativeEndian.PutUint16(ask[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	// A late answer to an earlier request has another number, and is skipped.
	sequence := uint32(time.Now().UnixNano())
	binary.NativeEndian.PutUint32(ask[8:], sequence)
	if err := unix.Sendto(fd, ask[:], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var links []link
	answer := make([]byte, 32<<10) // the kernel's maximum, so that nothing is cut
	for range answersMax {
		n, _, err := unix.Recvfrom(fd, answer, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		done, err := parseLinks(answer[:n], sequence, &links)
		if done || err != nil {
			return links, err
		}
	}
	return nil, errs.New(errs.Internal, "netstat.Links", "", "the answer of the kernel has no end")
}

// parseLinks adds the links of one packet. done means that the answer is complete.
func parseLinks(packet []byte, sequence uint32, links *[]link) (done bool, err error) {
	for len(packet) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(packet))
		if size < unix.SizeofNlMsghdr || size > len(packet) {
			return false, errs.New(errs.Internal, "netstat.Links", "", "a message of the kernel is cut")
		}
		kind, number := binary.NativeEndian.Uint16(packet[4:]), binary.NativeEndian.Uint32(packet[8:])
		body := packet[unix.SizeofNlMsghdr:size]
		packet = packet[min(align4(size), len(packet)):]
		if number != sequence {
			continue
		}
		switch kind {
		case unix.NLMSG_DONE:
			return true, nil
		case unix.NLMSG_ERROR:
			if len(body) >= 4 {
				return true, unix.Errno(-int32(binary.NativeEndian.Uint32(body)))
			}
			return true, unix.EPROTO
		case unix.RTM_NEWLINK:
			if l, ok := parseLink(body); ok && !l.loopback {
				*links = append(*links, l)
			}
		}
	}
	return false, nil
}

// parseLink reads one link: a struct ifinfomsg and its attributes.
func parseLink(body []byte) (l link, ok bool) {
	if len(body) < unix.SizeofIfInfomsg {
		return l, false
	}
	flags := binary.NativeEndian.Uint32(body[8:])
	l.index = int(int32(binary.NativeEndian.Uint32(body[4:])))
	l.loopback = flags&unix.IFF_LOOPBACK != 0
	l.up = flags&unix.IFF_UP != 0
	l.carrier = flags&unix.IFF_LOWER_UP != 0 // the attribute, which some kernels lack, says the same
	for kind, value := range attributes(body[unix.SizeofIfInfomsg:]) {
		switch kind {
		case unix.IFLA_IFNAME:
			l.name = text(value)
		case unix.IFLA_MASTER:
			l.master = int(number32(value))
		case unix.IFLA_CARRIER:
			l.carrier = len(value) > 0 && value[0] != 0
		case unix.IFLA_CARRIER_CHANGES:
			l.carrierChanges = number32(value)
		case unix.IFLA_LINKINFO:
			for inner, v := range attributes(value) {
				if inner == unix.IFLA_INFO_KIND {
					l.kind = text(v)
				}
			}
		case unix.IFLA_STATS64:
			l.counters, l.countersAreIncluded = parseCounters(value), true
		}
	}
	return l, l.name != ""
}

// parseCounters reads a struct rtnl_link_stats64. An older kernel's is shorter: the missing fields are zero.
func parseCounters(value []byte) (c linkCounters) {
	word := func(i int) uint64 {
		if i < 0 || len(value) < 8*i+8 {
			return 0
		}
		return binary.NativeEndian.Uint64(value[8*i:])
	}
	for i := range trafficFields {
		c.rx[i], c.tx[i] = word(rxOffsets[i]), word(txOffsets[i])
	}
	c.collisions = word(collisionsOffset)
	return c
}

// attributes yields the netlink attributes of b: kind and value. It ends at the first truncated one.
func attributes(b []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= unix.SizeofNlAttr {
			size, kind := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])
			if size < unix.SizeofNlAttr || size > len(b) || !yield(kind&attributeKinds, b[unix.SizeofNlAttr:size]) {
				return
			}
			b = b[min(align4(size), len(b)):]
		}
	}
}

// attributeKinds has the bits of an attribute's kind; the two above them are flags (NLA_TYPE_MASK).
const attributeKinds = 0x3fff

// align4 returns the offset of the next message or attribute.
func align4(n int) int { return (n + 3) &^ 3 }

// number32 reads an attribute of 32 bits; one of another size gives zero.
func number32(b []byte) uint32 {
	if len(b) != 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(b)
}

// text reads an attribute that ends with a zero byte.
func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
