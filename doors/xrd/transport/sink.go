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

// Sink writes answers to a connection. It collects small answers until [Sink.Flush], and writes large ones at once,
// behind the collected ones. The bytes of a frame stay together. After an error every call returns it. It is safe for
// concurrent use.
//
// Only the goroutine with the turn writes to the socket. It also writes the answers collected before, without the mutex.
// Others collect meanwhile, into a new buffer.
type Sink struct {
	conn  net.Conn
	sock  *poll.Socket // conn, if it is one
	stall time.Duration
	pool  *Pool

	mu         sync.Mutex // guards these; held over memory only
	turnEnded  sync.Cond
	turn       bool // a goroutine writes to the socket, or is within a frame
	flushAfter bool // the goroutine with the turn must write the answers collected meanwhile
	collected  outBuffer
	err        error

	// Fields of the goroutine with the turn.
	leading outBuffer // collected before the turn began; written first
	armed   time.Time // when the write deadline was last set
}

// outBuffer is a pooled buffer with framed answers; nil while it is empty.
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

// ZeroCopy reports whether the connection can send pages from a pipe or a file.
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

// Collect appends framed bytes; at most half of BufferSize.
func (s *Sink) Collect(framed []byte) error {
	return s.collect(len(framed), func(b []byte) []byte { return append(b, framed...) })
}

// PageReader is the part of [hemera.Handle] that an answer reads from.
type PageReader interface {
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
}

// StalledTries bounds the attempts of one read, each into other memory, while devices do not answer: the second reads
// another piece of the file. The memory of the first belongs to the stuck call; see [hemera.KeepsBuffers].
const StalledTries = 2

// CollectRead collects the answer to a read of n bytes, at most SmallRead. The data is read directly to its place behind
// the other collected answers. The mutex is not held meanwhile: the caller has the buffer, and others collect into a new
// one. If the file fails nothing is collected.
func (s *Sink) CollectRead(stream wire.StreamID, f PageReader, off int64, n int) error {
	b, err := s.borrow(wire.ResponseHeaderSize + n)
	if err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		at := len(b.data) + wire.ResponseHeaderSize
		got, err := f.ReadPages(b.memory[at:at+n], nil, off)
		if hemera.KeepsBuffers(err) {
			b = s.pool.copyOf(b) // the memory belongs to the stuck call
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

// borrow takes the buffer of collected answers out of the sink if n more bytes fit into it. Otherwise it writes them
// first, and returns a new buffer. The caller owns the buffer until [Sink.giveBack], and then flushes, because a flush
// meanwhile does not write it.
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

// giveBack puts a borrowed buffer back. If others have collected answers meanwhile, it appends to them, which may write
// them first. The order of answers does not matter: the client identifies them by their stream.
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

// Send sends one frame: the slices of vec. The first must be nil, as the place for the collected answers. It consumes
// vec. A short frame is only collected.
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

// SendPart sends a frame of head and one part.
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

// errTorn is the error of a connection with a frame that was begun and not finished.
var errTorn = errors.New("an answer was begun and could not be finished")

// SendFrame sends a frame of head and several parts: first, and then those that next returns until it returns io.EOF.
// SendFrame releases all parts. Other answers stay in the buffer meanwhile, because the protocol cannot interrupt a
// frame.
//
// Only SendFrame reads file data while it holds the turn: for frames that do not fit into memory, or whose pages were all
// verified in memory, and are read again only if they have left it since. If next fails the connection is broken: only
// its end tells the client that the rest of the frame will not come.
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

// Flush writes the collected answers. While another goroutine has the turn, Flush leaves them to it and returns at once.
func (s *Sink) Flush() error { return s.flush(false) }

// FlushLast flushes before the connection is closed: it waits until everything is written.
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

// write writes the collected answers, and then vec.
func (s *Sink) write(vec [][]byte) error {
	if err := s.beginTurn(); err != nil {
		return err
	}
	return s.endTurn(s.writeLeading(vec))
}

// collect appends n bytes to the collected answers by calling add. If they do not fit it writes the collected answers
// first, which may wait for another goroutine's turn.
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

// tryCollect returns false if the n bytes do not fit behind the collected answers.
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

// beginTurn waits for the turn. If it returns nil the caller has the turn and must end it.
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

// endTurn ends the turn. A non-nil err is the error of writing: then the connection is broken.
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

// The functions below write to the socket. The caller has the turn and does not hold mu, because one write may block for
// the stall time.

// writeLeading writes the answers collected before the turn, and then vec. vec, or its first element, is nil.
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
	// Other connections than sockets would send each slice separately.
	_, err := s.conn.Write(slices.Concat(vec...))
	return err
}

// writePart writes the answers collected before the turn, head, and a part.
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

// writeBehind calls send with the bytes that precede the part: the answers collected before the turn, and head.
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

// arm sets the write deadline after the stall time. The deadline may be up to an eighth earlier, because setting it costs
// as much as a small answer.
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

// Part is Len bytes of file data for a client: pages in a pipe, a range of a file, or bytes in memory, lent or of a
// chunk. [Pool.Part], [LentPart] and [Pool.ReadPart] make parts, which must be released.
type Part struct {
	Len  int64
	Ends bool // these are the last bytes of the file or of the request

	pipe  *zerocopy.Pipe
	file  *os.File
	off   int64
	lent  hemera.Loan
	chunk *Chunk
}

// LentPart returns a part of the n bytes at off that the file has in memory. It returns false if they must be read.
func LentPart(f hemera.Lender, off, n int64) (part Part, ok bool) {
	loan := f.Lend(off, n)
	if len(loan.Data) == 0 {
		return Part{}, false
	}
	return Part{Len: int64(len(loan.Data)), lent: loan}, true
}

// Part returns verified pages of the range without a copy. It returns false if they must be read. The part may be shorter
// than the range.
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

// ReadPart reads a part of the n bytes at off into memory, at most a chunk.
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

// Release returns the memory or the pipe of a part.
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
