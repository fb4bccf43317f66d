package link

import (
	"net"
	"sync"
	"syscall"
)

// Faults is what shall go wrong with a connection. Counts are bytes from the connection's
// beginning, so a test with the same traffic fails at the same byte each time. The zero value is a
// sound connection, except that zero is a count too: use [Sound] and change what shall fail.
type Faults struct {
	// Chunk cuts every read and write into pieces of at most this many bytes. Zero: none.
	Chunk int
	// ReadUntil and WriteUntil are where the connection is reset. Bytes up to there pass.
	ReadUntil, WriteUntil int64
	// FlipRead and FlipWrite are the positions of one byte whose lowest bit is turned.
	FlipRead, FlipWrite int64
}

// Sound is no fault.
func Sound() Faults { return Faults{ReadUntil: -1, WriteUntil: -1, FlipRead: -1, FlipWrite: -1} }

// Faulty wraps a connection so that it fails as told. Negative positions never come.
func Faulty(conn net.Conn, f Faults) net.Conn { return &faulty{Conn: conn, faults: f} }

type faulty struct {
	net.Conn
	faults Faults

	reading sync.Mutex // guards read
	read    int64
	writing sync.Mutex // guards written
	written int64
}

func (f *faulty) Read(p []byte) (int, error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	n, whole := f.faults.allow(len(p), f.read, f.faults.ReadUntil)
	if n == 0 && !whole {
		return 0, f.reset("read")
	}
	n, err := f.Conn.Read(p[:n])
	flip(p[:n], f.faults.FlipRead-f.read)
	f.read += int64(n)
	return n, err
}

func (f *faulty) Write(p []byte) (int, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	done := 0
	for done < len(p) {
		n, whole := f.faults.allow(len(p)-done, f.written, f.faults.WriteUntil)
		if n == 0 && !whole {
			return done, f.reset("write")
		}
		part := append([]byte(nil), p[done:done+n]...)
		flip(part, f.faults.FlipWrite-f.written)
		n, err := f.Conn.Write(part)
		done += n
		f.written += int64(n)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// allow is how many of want bytes may pass at position, and whether the end is not there yet.
func (f Faults) allow(want int, position, until int64) (int, bool) {
	if f.Chunk > 0 {
		want = min(want, f.Chunk)
	}
	if until < 0 || position+int64(want) <= until {
		return want, true
	}
	return int(max(until-position, 0)), false
}

func flip(p []byte, at int64) {
	if at >= 0 && at < int64(len(p)) {
		p[at] ^= 1
	}
}

func (f *faulty) reset(op string) error {
	f.Conn.Close()
	return &net.OpError{Op: op, Net: "faulty", Addr: f.RemoteAddr(), Err: syscall.ECONNRESET}
}
