package xrd

import (
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"hemera"
	"hemera/platform/link"
	"hemera/platform/vfs"
	"hemera/rules/wire"
)

// sink writes answers to a connection. Small ones are collected until flush; big ones are written
// at once, behind what was collected. Its methods may be called from several goroutines; an answer
// is never torn. After an error every call returns it.
type sink struct {
	conn  net.Conn
	sock  *link.Socket // conn, if it is one
	stall time.Duration
	pool  *pool

	mu    sync.Mutex
	armed time.Time         // when the write deadline was last set
	whole *[bufferSize]byte // nil while nothing is collected
	buf   []byte            // collected; within whole
	err   error
}

func newSink(conn net.Conn, pool *pool, stall time.Duration) *sink {
	sock, _ := conn.(*link.Socket)
	return &sink{conn: conn, sock: sock, stall: stall, pool: pool}
}

// answer collects one response.
func (o *sink) answer(stream wire.StreamID, status wire.Status, body []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.put(stream, status, body)
}

// put is answer for who holds the lock.
func (o *sink) put(stream wire.StreamID, status wire.Status, body []byte) error {
	head := wire.ResponseHeader{Stream: stream, Status: status, Length: int32(len(body))}
	if len(body) > bufferSize/2 {
		var b [wire.ResponseHeaderSize]byte
		return o.write([][]byte{nil, head.Append(b[:0]), body})
	}
	if err := o.room(wire.ResponseHeaderSize + len(body)); err != nil {
		return err
	}
	o.buf = append(head.Append(o.buf), body...)
	return nil
}

// collect appends bytes that are already framed; at most half a buffer.
func (o *sink) collect(framed []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.room(len(framed)); err != nil {
		return err
	}
	o.buf = append(o.buf, framed...)
	return nil
}

// read collects the answer to a read of n bytes, at most smallRead, reading straight into the
// buffer. An error of the file leaves nothing behind.
func (o *sink) read(stream wire.StreamID, f hemera.Handle, off int64, n int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.room(wire.ResponseHeaderSize + n); err != nil {
		return err
	}
	at := len(o.buf)
	b := o.buf[:at+wire.ResponseHeaderSize+n]
	got, err := f.ReadPages(b[at+wire.ResponseHeaderSize:], nil, off)
	if err != nil && err != io.EOF {
		return err
	}
	wire.ResponseHeader{Stream: stream, Length: int32(got)}.Append(b[:at])
	o.buf = b[:at+wire.ResponseHeaderSize+got]
	return nil
}

// send writes what was collected and then the slices of vec, whose first must be nil: it is the
// place for what was collected. It uses up vec. What is small is only collected.
func (o *sink) send(vec [][]byte) error {
	return o.together(func() error { return o.sendPart(vec) })
}

// together calls send, which writes one frame in several parts: no other answer comes between them.
func (o *sink) together(send func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return send()
}

// sendPart is send within together.
func (o *sink) sendPart(vec [][]byte) error {
	total := 0
	for _, p := range vec {
		total += len(p)
	}
	if total > smallRead {
		return o.write(vec)
	}
	if err := o.room(total); err != nil {
		return err
	}
	for _, p := range vec {
		o.buf = append(o.buf, p...)
	}
	return nil
}

// filePart writes head and n bytes of the file at off, without copying them through memory, within
// together.
func (o *sink) filePart(head []byte, f *os.File, off, n int64) error {
	return o.partBehind(head, func(collected []byte) error { return o.sock.SendFile(collected, f, off, n) })
}

// pipePart writes head and what is in the pipe, within together.
func (o *sink) pipePart(head []byte, p *vfs.Pipe) error {
	return o.partBehind(head, func(collected []byte) error { return o.sock.SendPages(collected, p) })
}

// partBehind has send write what was collected, which ends with head, and what belongs behind it.
func (o *sink) partBehind(head []byte, send func(collected []byte) error) error {
	if err := o.room(len(head)); err != nil {
		return err
	}
	o.buf = append(o.buf, head...)
	o.arm()
	o.fail(send(o.buf))
	o.release()
	return o.err
}

// flush writes what was collected.
func (o *sink) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.write(nil)
}

// room makes sure that n more bytes fit behind what was collected.
func (o *sink) room(n int) error {
	if o.whole != nil && len(o.buf)+n > bufferSize {
		if err := o.write(nil); err != nil {
			return err
		}
	}
	if o.whole == nil {
		o.whole = o.pool.buffer()
		o.buf = o.whole[:0]
	}
	return o.err
}

func (o *sink) write(vec [][]byte) error {
	if o.err == nil && (len(o.buf) > 0 || len(vec) > 0) {
		o.arm()
		o.fail(o.writeAll(vec))
	}
	o.release()
	return o.err
}

func (o *sink) writeAll(vec [][]byte) error {
	if len(vec) == 0 {
		_, err := o.conn.Write(o.buf)
		return err
	}
	vec[0] = o.buf
	if o.sock != nil {
		return o.sock.Writev(vec)
	}
	// Anything but a socket would make a message of every slice.
	_, err := o.conn.Write(slices.Concat(vec...))
	return err
}

func (o *sink) fail(err error) {
	if err != nil {
		o.err = broken{err}
	}
}

// arm gives the peer a while to take what is written next: the stall time, or up to an eighth less,
// because setting a deadline costs as much as a small answer.
func (o *sink) arm() {
	now := time.Now()
	if now.Sub(o.armed) < o.stall/8 {
		return
	}
	o.armed = now
	_ = o.conn.SetWriteDeadline(now.Add(o.stall))
}

func (o *sink) release() {
	if o.whole != nil {
		o.pool.buffers.Put(o.whole)
		o.whole, o.buf = nil, nil
	}
}
