package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"hemera/platform/poll"
	"hemera/platform/zerocopy"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// Sink writes answers to a connection. Small answers are collected until [Sink.Flush]; large ones are written at once,
// behind what was collected. A frame is never torn. After an error every call returns it. It is safe for concurrent
// use.
//
// Only the goroutine that has the turn writes to the socket. It takes what was collected along, and writes without the
// mutex. Others go on collecting meanwhile, into a new buffer.
type Sink struct {
	conn  net.Conn
	sock  *poll.Socket // conn, if it is one
	stall time.Duration
	pool  *Pool

	mu         sync.Mutex // guards these; held over memory only
	turnEnded  sync.Cond
	turn       bool // a goroutine writes to the socket, or is in the middle of a frame
	flushAfter bool // the goroutine that has the turn is to write what was collected meanwhile
	collected  outBuffer
	err        error

	// These belong to the goroutine that has the turn.
	leading outBuffer // collected before the turn began; it goes out first
	armed   time.Time // when the write deadline was last set
}

// outBuffer is a pooled buffer with framed answers, nil while there are none.
type outBuffer struct {
	memory *[BufferSize]byte
	data   []byte // within memory
}

// NewSink makes the sink of a connection. A client that takes no byte for the stall time breaks the connection.
func NewSink(conn net.Conn, pool *Pool, stall time.Duration) *Sink {
	sock, _ := conn.(*poll.Socket)
	s := &Sink{conn: conn, sock: sock, stall: stall, pool: pool}
	s.turnEnded.L = &s.mu
	return s
}

// ZeroCopy reports whether the connection can take pages from a pipe or a file.
func (s *Sink) ZeroCopy() bool { return s.sock != nil }

// Pool returns the pool that the sink was made with.
func (s *Sink) Pool() *Pool { return s.pool }

// Answer collects one response, or writes it at once if its body is long.
func (s *Sink) Answer(stream wire.StreamID, status wire.Status, body []byte) error {
	head := wire.ResponseHeader{Stream: stream, Status: status, Length: int32(len(body))}
	if len(body) > BufferSize/2 {
		var b [wire.ResponseHeaderSize]byte
		return s.write([][]byte{nil, head.Append(b[:0]), body})
	}
	return s.collect(wire.ResponseHeaderSize+len(body), func(b []byte) []byte { return append(head.Append(b), body...) })
}

// Collect appends bytes that are already framed; at most half of BufferSize.
func (s *Sink) Collect(framed []byte) error {
	return s.collect(len(framed), func(b []byte) []byte { return append(b, framed...) })
}

// PageReader is what an answer reads from: [hemera.Handle] without the rest.
type PageReader interface {
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
}

// StalledTries is how often a read is made, each time into other memory, while devices do not answer: after the first
// a file is read from another piece. The memory belongs to the call that is stuck; see [hemera.KeepsBuffers].
const StalledTries = 2

// CollectRead collects the answer to a read of n bytes, at most SmallRead. The data goes from the file to its place behind
// the other collected answers. The mutex is not held while it is read: until then the caller has the buffer, and others
// collect into a new one. An error of the file collects nothing.
func (s *Sink) CollectRead(stream wire.StreamID, f PageReader, off int64, n int) error {
	b, err := s.borrow(wire.ResponseHeaderSize + n)
	if err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		at := len(b.data) + wire.ResponseHeaderSize
		got, err := f.ReadPages(b.memory[at:at+n], nil, off)
		if hemera.KeepsBuffers(err) {
			b = s.pool.copyOf(b) // the memory is the stuck call's
			if tries < StalledTries {
				continue
			}
		}
		if err == nil || err == io.EOF {
			err = nil
			wire.ResponseHeader{Stream: stream, Length: int32(got)}.Append(b.data)
			b.data = b.memory[:at+got]
		}
		if e := s.giveBack(b); err == nil {
			err = e
		}
		return err
	}
}

// borrow takes the buffer of collected answers out of the sink, if n more bytes fit into it. Else it writes them first, and
// returns a new buffer. The caller owns what it gets until [Sink.giveBack]. A flush meanwhile does not write it, so the
// caller flushes afterwards.
func (s *Sink) borrow(n int) (outBuffer, error) {
	for {
		s.mu.Lock()
		b, err := s.collected, s.err
		fits := err == nil && b.memory != nil && len(b.data)+n <= BufferSize
		if fits {
			s.collected = outBuffer{}
		}
		s.mu.Unlock()
		switch {
		case err != nil || fits:
			return b, err
		case b.memory == nil:
			return s.pool.outBuffer(), nil
		}
		if err := s.write(nil); err != nil {
			return outBuffer{}, err
		}
	}
}

// giveBack puts a borrowed buffer back. If others have collected answers meanwhile, it appends to these, which may write them
// first. Answers may go out in any order: the client knows them by their stream.
func (s *Sink) giveBack(b outBuffer) error {
	s.mu.Lock()
	if s.err == nil && s.collected.memory == nil && len(b.data) > 0 {
		s.collected = b
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	defer s.pool.buffers.Put(b.memory)
	if len(b.data) == 0 {
		return nil
	}
	return s.collect(len(b.data), func(to []byte) []byte { return append(to, b.data...) })
}

// Send sends one frame: the slices of vec, whose first must be nil, as it is the place for what was collected before.
// It uses up vec. A short frame is only collected.
func (s *Sink) Send(vec [][]byte) error {
	total := 0
	for _, p := range vec {
		total += len(p)
	}
	if total > SmallRead {
		return s.write(vec)
	}
	return s.collect(total, func(b []byte) []byte {
		for _, p := range vec {
			b = append(b, p...)
		}
		return b
	})
}

// SendPart sends a frame of one part behind head.
func (s *Sink) SendPart(head []byte, p *Part) error {
	if p.chunk != nil {
		return s.Send(p.chunk.Vec(head, int(p.Len)))
	}
	if p.lent.Data != nil {
		return s.write([][]byte{nil, head, p.lent.Data})
	}
	if err := s.beginTurn(); err != nil {
		return err
	}
	return s.endTurn(s.writePart(head, p))
}

// errTorn is what breaks a connection whose frame was begun and not finished.
var errTorn = errors.New("an answer was begun and could not be finished")

// SendFrame sends a frame of several parts: first, which the caller got before, behind head, and then those that next
// returns, until it returns io.EOF. SendFrame releases all of them. Other answers stay in the buffer until it returns:
// the protocol cannot interrupt a frame.
//
// This is the only place where the turn is kept while file data may be read. It is for frames that do not fit into
// memory, or whose pages were all found verified in memory, and are read again only if they have left it since. If next
// fails the connection is broken: only its end tells the client that the rest does not come.
func (s *Sink) SendFrame(head []byte, first *Part, next func() (Part, error)) error {
	defer s.pool.Release(first)
	if err := s.beginTurn(); err != nil {
		return err
	}
	outcome := errTorn
	defer func() { _ = s.endTurn(outcome) }() // also when next panics
	err := s.writePart(head, first)
	for err == nil {
		var part Part
		if part, err = next(); err == nil {
			err = s.writePart(nil, &part)
			s.pool.Release(&part)
		}
	}
	if err == io.EOF {
		outcome = nil
		return nil
	}
	outcome = err
	return broken(err)
}

// Flush writes what was collected. While another goroutine has the turn, it leaves that to it and returns at
// once.
func (s *Sink) Flush() error { return s.flush(false) }

// FlushLast is Flush before the connection is closed: it waits until everything was written.
func (s *Sink) FlushLast() error { return s.flush(true) }

func (s *Sink) flush(wait bool) error {
	s.mu.Lock()
	for wait && s.turn {
		s.turnEnded.Wait()
	}
	if s.err != nil || len(s.collected.data) == 0 {
		defer s.mu.Unlock()
		return s.err
	}
	if s.turn {
		s.flushAfter = true
		s.mu.Unlock()
		return nil
	}
	s.takeTurn()
	s.mu.Unlock()
	return s.endTurn(s.writeLeading(nil))
}

// write sends what was collected, and vec behind it.
func (s *Sink) write(vec [][]byte) error {
	if err := s.beginTurn(); err != nil {
		return err
	}
	return s.endTurn(s.writeLeading(vec))
}

// collect has add append n bytes to what was collected. If they do not fit it writes what was collected first, which may
// wait for another goroutine's turn.
func (s *Sink) collect(n int, add func([]byte) []byte) error {
	for {
		if done, err := s.tryCollect(n, add); done {
			return err
		}
		if err := s.write(nil); err != nil {
			return err
		}
	}
}

// tryCollect returns false if the n bytes do not fit behind what was collected.
func (s *Sink) tryCollect(n int, add func([]byte) []byte) (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return true, s.err
	case s.collected.memory == nil:
		s.collected = s.pool.outBuffer()
	case len(s.collected.data)+n > BufferSize:
		return false, nil
	}
	s.collected.data = add(s.collected.data)
	return true, nil
}

// beginTurn waits for the turn. After nil the caller has it, and must end it.
func (s *Sink) beginTurn() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.turn {
		s.turnEnded.Wait()
	}
	if s.err != nil {
		return s.err
	}
	s.takeTurn()
	return nil
}

// takeTurn gives the turn to the caller, which holds mu.
func (s *Sink) takeTurn() {
	s.turn = true
	s.leading, s.collected = s.collected, outBuffer{}
}

// endTurn ends the turn. err, if not nil, is what writing failed with: the connection is broken then.
func (s *Sink) endTurn(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if err != nil && s.err == nil {
			s.err = broken(err)
		}
		if s.err != nil || !s.flushAfter || len(s.collected.data) == 0 {
			break
		}
		s.flushAfter = false
		s.takeTurn()
		s.mu.Unlock()
		err = s.writeLeading(nil)
		s.mu.Lock()
	}
	s.release(&s.leading)
	if s.err != nil {
		s.release(&s.collected)
	}
	s.turn, s.flushAfter = false, false
	s.turnEnded.Broadcast()
	return s.err
}

// The functions below write to the socket. The caller has the turn, and does not hold mu: a client may take as long as
// the stall time to accept one write.

// writeLeading writes what was collected before the turn, and vec behind it. vec is nil, or its first element is.
func (s *Sink) writeLeading(vec [][]byte) error {
	defer s.release(&s.leading)
	if len(s.leading.data) == 0 && len(vec) == 0 {
		return nil
	}
	s.arm()
	if len(vec) == 0 {
		_, err := s.conn.Write(s.leading.data)
		return err
	}
	vec[0] = s.leading.data
	if s.sock != nil {
		return s.sock.Writev(vec)
	}
	// Anything but a socket would make a message of every slice.
	_, err := s.conn.Write(slices.Concat(vec...))
	return err
}

// writePart writes head and a part behind what was collected before the turn.
func (s *Sink) writePart(head []byte, p *Part) error {
	switch {
	case p.pipe != nil:
		return s.writeBehind(head, func(first []byte) error { return s.sock.SendPages(first, p.pipe) })
	case p.file != nil:
		return s.writeBehind(head, func(first []byte) error { return s.sock.SendFile(first, p.file, p.off, p.Len) })
	}
	if p.lent.Data != nil {
		return s.writeLeading([][]byte{nil, head, p.lent.Data})
	}
	return s.writeLeading(p.chunk.Vec(head, int(p.Len)))
}

// writeBehind calls send with what has to go out first: what was collected before the turn, and head.
func (s *Sink) writeBehind(head []byte, send func(first []byte) error) error {
	defer s.release(&s.leading)
	s.arm()
	first := head
	switch {
	case len(s.leading.data)+len(head) > BufferSize:
		if err := s.writeLeading(nil); err != nil {
			return err
		}
	case len(s.leading.data) > 0:
		first = append(s.leading.data, head...)
	}
	return send(first)
}

// arm gives the peer a while to take what is written next: the stall time, or up to an eighth less,
// because setting a deadline costs as much as a small answer.
func (s *Sink) arm() {
	now := time.Now()
	if now.Sub(s.armed) < s.stall/8 {
		return
	}
	s.armed = now
	_ = s.conn.SetWriteDeadline(now.Add(s.stall))
}

func (s *Sink) release(b *outBuffer) {
	if b.memory != nil {
		s.pool.buffers.Put(b.memory)
		*b = outBuffer{}
	}
}

// Part is file data on its way to a client, with Len bytes: pages in a pipe, a range of a file, or bytes in memory, lent or of a
// chunk. It is made by [Pool.Part], [LentPart] or [Pool.ReadPart] and must be released.
type Part struct {
	Len  int64
	Ends bool // the file ends with these bytes, or those that were asked for do

	pipe  *zerocopy.Pipe
	file  *os.File
	off   int64
	lent  hemera.Loan
	chunk *Chunk
}

// LentPart gets some of n bytes at off that the file has in memory; false if they have to be read.
func LentPart(f hemera.Lender, off, n int64) (part Part, ok bool) {
	loan := f.Lend(off, n)
	if len(loan.Data) == 0 {
		return Part{}, false
	}
	return Part{Len: int64(len(loan.Data)), lent: loan}, true
}

// Part gets verified pages of the range without a copy; false if they have to be read. It may leave out the end of the
// range.
func (p *Pool) Part(f zerocopy.Source, off, n int64) (part Part, ok bool) {
	pipe := p.Pipe()
	if pipe == nil {
		file, ok := f.Verified(off, n)
		return Part{Len: n, file: file, off: off}, ok
	}
	if got := f.Splice(pipe, off, n); got > 0 {
		return Part{Len: got, pipe: pipe}, true
	}
	p.PutPipe(pipe)
	return Part{}, false
}

// ReadPart reads the next of n bytes at off into memory, at most a chunk.
func (p *Pool) ReadPart(f PageReader, off, n int64) (Part, error) {
	want := ChunkLen(off, n)
	var k *Chunk
	var got int
	var err error
	for range StalledTries {
		k = p.Chunk()
		got, err = f.ReadPages(k.Buf[:want], nil, off)
		if !hemera.KeepsBuffers(err) {
			break
		}
	}
	if err != nil && err != io.EOF {
		if !hemera.KeepsBuffers(err) {
			p.PutChunk(k)
		}
		return Part{}, err
	}
	return Part{Len: int64(got), Ends: int64(got) == n || int64(got) < want, chunk: k}, nil
}

// Release gives the memory or the pipe of a part back.
func (p *Pool) Release(part *Part) {
	if part.lent.Data != nil {
		part.lent.Return()
	}
	if part.pipe != nil {
		p.PutPipe(part.pipe)
	}
	if part.chunk != nil {
		p.PutChunk(part.chunk)
	}
	*part = Part{}
}
