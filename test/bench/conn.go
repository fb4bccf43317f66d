package bench

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hemera/rules/wire"
)

// bodyMax bounds the answers that are kept; data is discarded in the kernel instead.
const bodyMax = 16 << 20

// conn is a logged-in connection over a blocking socket. It belongs to one goroutine.
// It does without the packages of the client, whose goroutines and buffers would cost as much as a fast server.
type conn struct {
	fd  int    // of a blocking socket, which its thread waits in
	out []byte // not sent yet
	in  []byte // receive buffer
	r   []byte // received, not consumed; within in
}

// dial connects to host:port and logs in.
// It speaks IPv4 only, as the servers under test listen on the loopback interface.
func dial(addr string) (*conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	to := unix.SockaddrInet4{Port: number}
	// The last address of the list wins; there is one on loopback.
	for _, ip := range ips {
		if four := ip.To4(); four != nil {
			to.Addr = [4]byte(four)
		}
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	c := &conn{fd: fd, in: make([]byte, 64<<10)}
	// Requests are small and sent whole: waiting for more would only add latency.
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, &to); err != nil {
		c.close()
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	if err := c.login(); err != nil {
		c.close()
		return nil, fmt.Errorf("log in at %s: %w", addr, err)
	}
	return c, nil
}

// login does the handshake and logs in as unix.
// The user's name says nothing about rights: each server has its own rules for the user of the process.
func (c *conn) login() error {
	c.out = wire.AppendHandshake(c.out)
	c.queue(wire.Protocol{Version: wire.ProtocolVersion, Expect: wire.ExpectLogin}, nil)
	// Redirects are wanted without flags: session.open understands a host and a port, or a URL.
	c.queue(wire.Login{PID: uint32(unix.Getpid()), User: "root", Ability: wire.LoginAbilities &^ wire.AbilityRedirFlags, Capabilities: wire.LoginCapVer}, nil)
	if err := c.flush(); err != nil {
		return err
	}
	var body []byte
	// Of the handshake, kXR_protocol and kXR_login, in the order of the requests.
	for range 3 {
		var err error
		if body, err = c.ok(); err != nil {
			return err
		}
	}
	login, err := wire.ParseLoginReply(body)
	// A server that asks for no proof, or for none that is known here, has logged the connection in already or will refuse.
	if err != nil || !strings.Contains(login.Security, "&P=unix") {
		return err
	}
	c.queue(wire.Auth{Type: "unix"}, []byte("unix\x00root\x00"))
	_, err = c.call()
	return err
}

// close closes the socket.
func (c *conn) close() { _ = unix.Close(c.fd) }

// queue appends a request to what flush sends.
// All requests use stream 1: the answers of a connection come in order, as far as rows depend on it.
func (c *conn) queue(r wire.Request, payload []byte) {
	c.out = append(wire.AppendRequest(c.out, wire.StreamID{0, 1}, r, len(payload)), payload...)
}

// flush sends the requests that are collected.
func (c *conn) flush() error {
	err := c.write(c.out)
	c.out = c.out[:0]
	return err
}

// write sends all bytes.
func (c *conn) write(b []byte) error {
	// A server that closed the connection causes EPIPE, not a signal that ends the program.
	for len(b) > 0 {
		n, err := unix.SendmsgN(c.fd, b, nil, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// take returns the next n bytes, valid until the next call.
// It reads as much as fits its buffer, so that answers that came together cost one system call.
func (c *conn) take(n int) ([]byte, error) {
	// Rare: an answer longer than any before.
	if n > len(c.in) {
		c.in = append(make([]byte, 0, n), c.r...)[:n]
		c.r = c.in[:len(c.r)]
	}
	for len(c.r) < n {
		// What is there moves to the front, to leave room behind it.
		have := copy(c.in, c.r)
		got, err := unix.Read(c.fd, c.in[have:])
		switch {
		case err == unix.EINTR:
			got = 0
		case err != nil:
			return nil, err
		case got == 0:
			return nil, io.ErrUnexpectedEOF
		}
		c.r = c.in[:have+got]
	}
	b := c.r[:n]
	c.r = c.r[n:]
	return b, nil
}

// drop discards n bytes without copying them out of the kernel.
// MSG_TRUNC makes the kernel count the bytes without copying them: clients would otherwise use the cores that they share.
func (c *conn) drop(n int) error {
	// What was received with the header is in the buffer already.
	k := min(n, len(c.r))
	c.r, n = c.r[k:], n-k
	for n > 0 {
		// The size of the buffer bounds each call; its content does not change.
		got, _, err := unix.Recvfrom(c.fd, c.in[:cap(c.in)][:min(n, cap(c.in))], unix.MSG_TRUNC|unix.MSG_WAITALL)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case got == 0:
			return io.ErrUnexpectedEOF
		}
		n -= got
	}
	return nil
}

// answer reads one answer whole. One that is promised is waited for.
// kXR_waitresp says that the answer comes later, as kXR_attn with the answer in it.
func (c *conn) answer() (wire.Status, []byte, error) {
	for {
		b, err := c.take(wire.ResponseHeaderSize)
		if err != nil {
			return 0, nil, err
		}
		h := wire.ParseResponseHeader(b)
		// A length that makes no sense means that the stream is out of step.
		if h.Length < 0 || h.Length > bodyMax {
			return 0, nil, fmt.Errorf("answer of %d bytes", h.Length)
		}
		body, err := c.take(int(h.Length))
		switch {
		case err != nil:
			return 0, nil, err
		case h.Status == wire.StatusWaitResp:
			continue
		case h.Status == wire.StatusAttn:
			// Other messages than a late answer are not expected in a measurement.
			late, body, ok, err := wire.ParseAttn(body)
			if err != nil || !ok {
				return 0, nil, fmt.Errorf("unexpected message from the server: %w", err)
			}
			return late.Status, body, nil
		}
		return h.Status, body, nil
	}
}

// ok reads an answer that must be one of success.
func (c *conn) ok() ([]byte, error) {
	// A part of an answer counts as well: the caller asks for the rest.
	status, body, err := c.answer()
	switch {
	case err != nil:
		return nil, err
	case status == wire.StatusError:
		return nil, wire.ParseError(body)
	case status == wire.StatusOK, status == wire.StatusOKSoFar:
		return body, nil
	case status == wire.StatusStatus:
		// A status frame without data, as for pgwrite; page errors would follow it.
		f, err := wire.ParseStatusFrame(body)
		if err == nil && f.DataLength != 0 {
			err = fmt.Errorf("the server reports bad pages")
		}
		return body, err
	}
	return nil, fmt.Errorf("answer with status %d", status)
}

// call sends what is queued and reads one answer.
func (c *conn) call() ([]byte, error) {
	if err := c.flush(); err != nil {
		return nil, err
	}
	return c.ok()
}

// data reads the answer to kXR_read or kXR_pgread, discarding it, and returns how many bytes came.
// An answer may come in several parts; the bytes of page checksums count as received.
func (c *conn) data() (total int, err error) {
	for {
		b, err := c.take(wire.ResponseHeaderSize)
		if err != nil {
			return total, err
		}
		h := wire.ParseResponseHeader(b)
		n, more := int(h.Length), h.Status == wire.StatusOKSoFar
		switch h.Status {
		// Plain data follows the header without more framing.
		case wire.StatusOK, wire.StatusOKSoFar:
		case wire.StatusStatus:
			if b, err = c.take(int(h.Length)); err != nil {
				return total, err
			}
			// The answer to a pgread has a frame of its own behind the header, and its data behind that.
			f, err := wire.ParseStatusFrame(b)
			if err != nil {
				return total, err
			}
			n, more = int(f.DataLength), f.Partial
		default:
			// An error ends the request, whatever came before.
			if b, err = c.take(int(h.Length)); err != nil {
				return total, err
			}
			return total, wire.ParseError(b)
		}
		if err := c.drop(n); err != nil {
			return total, err
		}
		total += n
		if !more {
			return total, nil
		}
	}
}
