package bench

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"hemera/platform/iovec"
	"hemera/rules/erasure"
	"hemera/transfer/ahead"
	"hemera/words/hemera"
)

// What a head does more than a node with plain files is measured in seconds of CPU for a byte of the file, done by one thread that
// does nothing else. Bytes go over a TCP connection of the machine as they do between nodes: in pages, each behind its checksum,
// from and to their places in memory.

// writeCost measures the cost of n bytes that are encoded, and sent to the other pieces. The bytes that are received from
// the client, and stored once, are in the plain file's CPU.
func writeCost(l hemera.Layout, n int64) (float64, error) {
	encode, err := encodeCost(l, n)
	if err != nil {
		return 0, err
	}
	send, err := sendCost(n)
	return encode + send*sentOn(l), err
}

// readCost measures the cost of n bytes. Those of the other data pieces are asked for and received. The bytes that are
// sent to the client are in the plain file's CPU, as are the checksums.
func readCost(l hemera.Layout, n int64) (float64, error) {
	receive, err := receiveCost(n)
	return receive * received(l), err
}

// sentOn returns the number of bytes that a head sends for each of a file: all pieces but its own.
func sentOn(l hemera.Layout) float64 { return float64(l.Pieces-1) / float64(l.Data) }

// received returns the number of bytes that a head receives for each of a file: all data but its own piece.
func received(l hemera.Layout) float64 { return float64(l.Data-1) / float64(l.Data) }

const (
	costStep     = 512 << 10 // bytes that are sent or asked for at once, as a node does
	receivePages = 32        // that one system call receives, as a node does
	sumLen       = 4         // bytes of a page's checksum
)

// threadTime returns the CPU time of the calling thread.
// The caller has locked its goroutine to it.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

// moved calls move for n bytes or a little more, with costStep bytes of a memory after the other, and returns the CPU of this
// thread for each. The kernel does part of what receiving takes in the thread that sends, as it does for servers on one machine.
func moved(n, memory int64, move func([]byte) error) (float64, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all := pattern(int(memory)) // touched, or the first use would pay for memory
	before, done := threadTime(), int64(0)
	for ; done < n; done += costStep {
		if err := move(all[done%memory:][:costStep]); err != nil {
			return 0, err
		}
	}
	return (threadTime() - before).Seconds() / float64(done), nil
}

// peer is one end of a TCP connection of the machine. What waits for it is the calling thread, which so pays for that.
type peer struct {
	file *os.File
	fd   int // of file; it does not block
	list iovec.List
	sums [costStep / hemera.PageSize * sumLen]byte
}

// newPeer connects to a goroutine that serves the other end until the peer's file is closed.
// The kernel chooses the port.
func newPeer(serve func(net.Conn)) (*peer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // the file has a descriptor of its own
	other, err := l.Accept()
	if err != nil {
		return nil, err
	}
	go func() {
		defer func() { _ = other.Close() }()
		serve(other)
	}()
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		return nil, err
	}
	p := &peer{file: f, fd: int(f.Fd())}
	if err := unix.SetNonblock(p.fd, true); err != nil {
		_ = f.Close()
		return nil, err
	}
	return p, nil
}

// pages moves some pages, each behind its checksum, with as many calls as it takes.
// The checksums are any: nobody looks at them.
func (p *peer) pages(data []byte, call func(*iovec.List, int) error, ready int16) error {
	places := make([][]byte, 0, 2*len(data)/hemera.PageSize)
	for at := 0; at < len(data); at += hemera.PageSize {
		places = append(places, p.sums[at/hemera.PageSize*sumLen:][:sumLen], data[at:at+hemera.PageSize])
	}
	p.list.Set(places...)
	for !p.list.Done() {
		err := call(&p.list, p.fd)
		if errors.Is(err, unix.EAGAIN) {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: ready}}, -1)
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return nil
}

// sendCost measures the sending of n bytes or a little more, from memory that is used again at once. The other end throws
// them away.
func sendCost(n int64) (float64, error) {
	to, err := newPeer(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	if err != nil {
		return 0, err
	}
	defer func() { _ = to.file.Close() }()
	return moved(n, costStep, func(p []byte) error { return to.pages(p, (*iovec.List).Send, unix.POLLOUT) })
}

// receiveCost measures the receipt of n bytes or a little more, into as much memory as is read ahead of a file. The next
// ones are always asked for, or it would be a way there and back for each answer.
func receiveCost(n int64) (float64, error) {
	from, err := newPeer(func(c net.Conn) {
		ask, answer := make([]byte, 1), pattern(costStep+costStep/hemera.PageSize*sumLen)
		for err := error(nil); err == nil; { // until the peer is closed
			if _, err = io.ReadFull(c, ask); err == nil {
				_, err = c.Write(answer)
			}
		}
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = from.file.Close() }()
	ask := func() error { _, err := unix.Write(from.fd, []byte{0}); return err }
	if err := ask(); err != nil {
		return 0, err
	}
	return moved(n, ahead.WindowMax, func(p []byte) error {
		if err := ask(); err != nil {
			return err
		}
		for ; len(p) > 0; p = p[receivePages*hemera.PageSize:] {
			if err := from.pages(p[:receivePages*hemera.PageSize], (*iovec.List).Receive, unix.POLLIN); err != nil {
				return err
			}
		}
		return nil
	})
}

// encodeCost measures the code alone: no other step has its blocks in a cache, and nothing is stored. It encodes rows of
// 1 MiB blocks with n bytes of data or a little more, and returns the CPU for each.
func encodeCost(l hemera.Layout, n int64) (float64, error) {
	code, err := erasure.ReedSolomon(int(l.Data), l.Parity())
	if err != nil {
		return 0, err
	}
	const block = 1 << 20
	blocks := make([][]byte, l.Pieces)
	for i := range blocks {
		blocks[i] = pattern(block) // touched, or the first row would pay for memory
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	row := int64(l.Data) * block
	rows := (n + row - 1) / row // at least one
	before := threadTime()
	for range rows {
		if err := code.Encode(blocks); err != nil {
			return 0, err
		}
	}
	return (threadTime() - before).Seconds() / float64(rows*row), nil
}
