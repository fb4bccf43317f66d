package auth

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// diag finds owners with SOCK_DIAG netlink messages (linux/inet_diag.h, sock_diag(7)): a request names one connection by
// its addresses and ports, and the answer has the owner.
type diag struct{}

// Numbers of linux/inet_diag.h that package unix lacks, and the sizes of its structs.
const (
	sockDiagByFamily = 20
	diagRequestSize  = 56 // struct inet_diag_req_v2
	diagAnswerSize   = 72 // struct inet_diag_msg
	tcpEstablished   = 1  // include/net/tcp_states.h
)

// Owner implements [Owners].
func (diag) Owner(client, server netip.AddrPort) (uint32, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, errs.As(err, errs.Unsupported, "auth.FindOwner", "")
	}
	defer unix.Close(fd)
	// The kernel answers during the send. The timeout is for kernels that do not.
	timeout := unix.Timeval{Sec: 1}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return 0, errs.As(err, errs.Unsupported, "auth.FindOwner", "")
	}
	if err := unix.Sendto(fd, diagRequest(client, server), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, errs.As(err, errs.Unsupported, "auth.FindOwner", "")
	}
	answer := make([]byte, 8192)
	n, from, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return 0, errs.As(err, errs.Unsupported, "auth.FindOwner", "")
	}
	if k, ok := from.(*unix.SockaddrNetlink); !ok || k.Pid != 0 {
		return 0, errs.New(errs.Unsupported, "auth.FindOwner", "", "an answer that is not the kernel's")
	}
	return diagAnswer(answer[:n], client, server)
}

// diagRequest returns a netlink header and an inet_diag_req_v2. Netlink uses the machine's byte order, addresses and
// ports the network's.
func diagRequest(client, server netip.AddrPort) []byte {
	b := make([]byte, 0, unix.NLMSG_HDRLEN+diagRequestSize)
	order := binary.NativeEndian
	b = order.AppendUint32(b, unix.NLMSG_HDRLEN+diagRequestSize)
	b = order.AppendUint16(b, sockDiagByFamily)
	b = order.AppendUint16(b, unix.NLM_F_REQUEST)
	b = order.AppendUint32(b, 1) // sequence
	b = order.AppendUint32(b, 0) // port: the kernel's
	family := byte(unix.AF_INET)
	if client.Addr().Is6() {
		family = unix.AF_INET6
	}
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)
	b = order.AppendUint32(b, 0xffffffff) // any state
	b = appendSocketID(b, client, server)
	return append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff) // INET_DIAG_NOCOOKIE
}

// appendSocketID appends the ports, addresses and interface of an inet_diag_sockid, without its cookie.
func appendSocketID(b []byte, client, server netip.AddrPort) []byte {
	b = binary.BigEndian.AppendUint16(b, client.Port())
	b = binary.BigEndian.AppendUint16(b, server.Port())
	for _, a := range []netip.Addr{client.Addr(), server.Addr()} {
		var field [16]byte
		copy(field[:], a.AsSlice())
		b = append(b, field[:]...)
	}
	return binary.NativeEndian.AppendUint32(b, 0)
}

// diagAnswer returns the uid in an answer, after checking that the answer is about this connection.
func diagAnswer(b []byte, client, server netip.AddrPort) (uint32, error) {
	order := binary.NativeEndian
	if len(b) < unix.NLMSG_HDRLEN+4 {
		return 0, errs.New(errs.Unsupported, "auth.FindOwner", "", fmt.Sprintf("answer of %d bytes", len(b)))
	}
	kind, body := order.Uint16(b[4:]), b[unix.NLMSG_HDRLEN:]
	if kind == unix.NLMSG_ERROR {
		if code := unix.Errno(-int32(order.Uint32(body))); code != unix.ENOENT {
			return 0, errs.As(code, errs.Unsupported, "auth.FindOwner", "")
		}
		return 0, unowned("auth.FindOwner")
	}
	if kind != sockDiagByFamily || len(body) < diagAnswerSize {
		return 0, errs.New(errs.Unsupported, "auth.FindOwner", "", fmt.Sprintf("answer of type %d with %d bytes", kind, len(body)))
	}
	// Only the ports are compared: a socket of the other family has mapped addresses.
	if binary.BigEndian.Uint16(body[4:]) != client.Port() || binary.BigEndian.Uint16(body[6:]) != server.Port() {
		return 0, errs.New(errs.NotFound, "auth.FindOwner", "", "the kernel answered about a listening socket")
	}
	if state, inode := body[1], order.Uint32(body[68:]); state != tcpEstablished || inode == 0 {
		return 0, closing("auth.FindOwner")
	}
	return order.Uint32(body[64:]), nil
}

// closing returns the error for a socket that its process has closed. The kernel then reports uid 0, which does not prove
// that the client is root.
func closing(op string) error {
	return errs.New(errs.NotFound, op, "", "the client has closed its connection already")
}
