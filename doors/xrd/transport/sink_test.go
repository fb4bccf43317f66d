package transport

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/rules/wire"
)

// carried returns the bytes that the other end of a connection receives until it is closed.
func carried(there net.Conn) <-chan string {
	all := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(there)
		all <- string(b)
	}()
	return all
}

func memoryPart(p *Pool, data string) *Part {
	k := p.Chunk()
	return &Part{Len: int64(copy(k.Buf[:], data)), chunk: k}
}

// TestNoAnswerComesIntoAFrame checks that answers and flushes during a frame neither wait nor mix with its bytes.
func TestNoAnswerComesIntoAFrame(t *testing.T) {
	here, there := net.Pipe()
	all := carried(there)
	s := NewSink(here, new(Pool), time.Minute)
	if err := s.Collect([]byte("before ")); err != nil {
		t.Fatal(err)
	}
	parts := []string{"second ", "third "}
	err := s.SendFrame([]byte("head "), memoryPart(s.pool, "first "), func() (Part, error) {
		if len(parts) == 0 {
			return Part{}, io.EOF
		}
		// In this goroutine, which has the turn: neither may wait for it.
		if err := errors.Join(s.Collect([]byte("other ")), s.Flush()); err != nil {
			return Part{}, err
		}
		part := memoryPart(s.pool, parts[0])
		parts = parts[1:]
		return *part, nil
	})
	if err := errors.Join(err, s.FlushLast(), here.Close()); err != nil {
		t.Fatal(err)
	}
	if got := <-all; got != "before head first second third other other " {
		t.Errorf("the connection carried %q", got)
	}
}

// TestTornFrame checks that a frame that cannot be finished breaks the connection, also after a panic, and that others do
// not wait for the turn.
func TestTornFrame(t *testing.T) {
	cause := errors.New("the disk is gone")
	for name, next := range map[string]func() (Part, error){
		"error": func() (Part, error) { return Part{}, cause },
		"panic": func() (Part, error) { panic(cause) },
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			all := carried(there)
			s := NewSink(here, new(Pool), time.Minute)
			err := func() (err error) {
				defer func() {
					if p := recover(); p != nil {
						err = Broken{p.(error)}
					}
				}()
				return s.SendFrame([]byte("head "), memoryPart(s.pool, "first"), next)
			}()
			if broken := (Broken{}); !errors.As(err, &broken) || !errors.Is(err, cause) {
				t.Errorf("the frame ends with %v", err)
			}
			for i, err := range []error{s.Collect([]byte("x")), s.Flush(), s.FlushLast(), s.Answer(wire.StreamID{}, wire.StatusOK, nil)} {
				if err == nil {
					t.Errorf("call %d after a torn frame succeeds", i)
				}
			}
			_ = here.Close()
			if got := <-all; got != "head first" {
				t.Errorf("the connection carried %q", got)
			}
		})
	}
}

// slowFile blocks in every read until it is released.
type slowFile struct{ begun, release chan struct{} }

func (f slowFile) ReadPages(p []byte, _ []uint32, _ int64) (int, error) {
	close(f.begun)
	<-f.release
	return copy(p, strings.Repeat("d", len(p))), nil
}

// TestSlowFileDelaysNoOtherAnswer checks that other answers are sent while a read waits for its disk.
func TestSlowFileDelaysNoOtherAnswer(t *testing.T) {
	here, there := net.Pipe()
	s := NewSink(here, new(Pool), time.Minute)
	f := slowFile{make(chan struct{}), make(chan struct{})}
	read := make(chan error, 1)
	go func() { read <- errors.Join(s.CollectRead(wire.StreamID{0, 1}, f, 0, 4), s.Flush()) }()
	<-f.begun
	go func() { _ = errors.Join(s.Collect([]byte("other")), s.Flush()) }()
	got := make([]byte, 5)
	if _, err := io.ReadFull(there, got); err != nil || string(got) != "other" {
		t.Fatalf("%q, %v", got, err)
	}
	close(f.release)
	frame := make([]byte, wire.ResponseHeaderSize+4)
	if _, err := io.ReadFull(there, frame); err != nil || string(frame[wire.ResponseHeaderSize:]) != "dddd" {
		t.Errorf("%q, %v", frame, err)
	}
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// keeper is the error of a call that still uses its memory.
type keeper struct{ error }

func (keeper) KeepsBuffers() bool { return true }

// constant is a file of one byte value. While stuck is positive its calls end without an answer, and keep their memory.
type constant struct {
	value byte
	stuck *int
	kept  *[]byte
}

func (f constant) ReadPages(p []byte, _ []uint32, _ int64) (int, error) {
	if *f.stuck > 0 {
		*f.stuck--
		*f.kept = p
		return 0, keeper{errors.New("the disk does not answer")}
	}
	for i := range p {
		p[i] = f.value
	}
	return len(p), nil
}

// Answers to reads keep their order and bytes beside others, with full buffers, failures, and calls that keep their
// memory.
func TestCollectedReadsAreWhole(t *testing.T) {
	here, there := net.Pipe()
	s := NewSink(here, new(Pool), time.Minute)
	sent := make(chan error, 1)
	stuck, kept := 0, []byte(nil)
	const n, rounds = 20 << 10, 40
	go func() {
		sent <- func() error {
			for i := range rounds {
				if i%5 == 3 {
					stuck = 1 + i%2 // the second is the last try
				}
				f := constant{byte(i), &stuck, &kept}
				err := s.CollectRead(wire.StreamID{0, byte(i)}, f, 0, n)
				if kept != nil {
					clear(kept) // the late call
					kept = nil
				}
				if err != nil {
					if err = s.Answer(wire.StreamID{0, byte(i)}, wire.StatusError, []byte("no")); err != nil {
						return err
					}
				}
				if err := s.Answer(wire.StreamID{1, byte(i)}, wire.StatusOK, []byte("small")); err != nil {
					return err
				}
			}
			return s.Flush()
		}()
	}()
	failed := 0
	for i := range rounds {
		for _, kind := range []byte{0, 1} {
			head := make([]byte, wire.ResponseHeaderSize)
			if _, err := io.ReadFull(there, head); err != nil {
				t.Fatal(err)
			}
			h := wire.ParseResponseHeader(head)
			body := make([]byte, h.Length)
			if _, err := io.ReadFull(there, body); err != nil {
				t.Fatal(err)
			}
			want := bytes.Repeat([]byte{byte(i)}, n)
			switch {
			case kind == 1:
				want = []byte("small")
			case h.Status == wire.StatusError:
				failed++
				want = []byte("no")
			}
			if h.Stream != (wire.StreamID{kind, byte(i)}) || !bytes.Equal(body, want) {
				t.Fatalf("round %d: an answer of %d bytes for stream %v", i, h.Length, h.Stream)
			}
		}
	}
	if failed != rounds/10 {
		t.Errorf("%d reads failed, want %d", failed, rounds/10)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// TestSlowClientDelaysNoCollector checks that others collect and flush answers without waiting while one goroutine writes
// to a slow client. A goroutine with more than fits into the buffer waits.
func TestSlowClientDelaysNoCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		s := NewSink(here, new(Pool), time.Minute)
		if err := s.Collect([]byte("first ")); err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() { written <- s.Flush() }()
		synctest.Wait() // it waits for the client
		if err := errors.Join(s.Collect([]byte("second ")), s.Flush()); err != nil {
			t.Fatal(err)
		}
		full := make(chan error, 1)
		go func() { full <- s.Collect(make([]byte, BufferSize)) }()
		synctest.Wait()
		select {
		case err := <-full:
			t.Errorf("more than fits is collected: %v", err)
		default:
		}
		all := carried(there)
		if err := errors.Join(<-written, <-full, s.FlushLast(), here.Close()); err != nil {
			t.Fatal(err)
		}
		if got := <-all; !strings.HasPrefix(got, "first second \x00") || len(got) != len("first second ")+BufferSize {
			t.Errorf("%d bytes, %.20q", len(got), got)
		}
	})
}

// TestFailedWriteBreaksTheSink checks that every later call fails.
func TestFailedWriteBreaksTheSink(t *testing.T) {
	here, there := net.Pipe()
	s := NewSink(here, new(Pool), time.Minute)
	_ = there.Close()
	if err := errors.Join(s.Collect([]byte("x")), s.Flush()); err == nil {
		t.Error("written to nobody")
	}
	if broken := (Broken{}); !errors.As(s.Collect([]byte("y")), &broken) {
		t.Error("the sink goes on")
	}
}

// TestPipesOfBrokenConnectionsAreNotUsedAgain checks that a pipe with data for a client that has left is not reused.
func TestPipesOfBrokenConnectionsAreNotUsedAgain(t *testing.T) {
	var s Pool
	p := s.Pipe()
	if p == nil {
		t.Skip("no pipes")
	}
	data := make([]byte, 1000)
	p.Put(data)
	s.PutPipe(p)
	if len(s.unused) != 0 || s.made != 0 {
		t.Errorf("%d pipes wait, %d made", len(s.unused), s.made)
	}
	a := s.Pipe()
	s.PutPipe(a)
	if b := s.Pipe(); b != a || s.made != 1 {
		t.Error("an empty pipe is not used again")
	}
	s.Close()
	s.PutPipe(a)
	if s.made != 0 || s.Pipe() != nil {
		t.Error("pipes after the end")
	}
}

// TestSourceKeepsPartOfAHeader checks that a parked connection with part of a header has no buffer.
func TestSourceKeepsPartOfAHeader(t *testing.T) {
	s := NewSource(nil, new(Pool), nil)
	s.compact()
	copy(s.buffer[:], "12345")
	if err := s.received(5, nil); err != nil {
		t.Fatal(err)
	}
	s.Skip(1)
	s.shrink()
	if s.buffer != nil || string(s.data) != "2345" {
		t.Errorf("buffer %v, %q", s.buffer != nil, s.data)
	}
	s.compact()
	copy(s.buffer[len(s.data):], "67")
	if err := s.received(2, nil); err != nil || string(s.data) != "234567" {
		t.Errorf("%q, %v", s.data, err)
	}
	s.Skip(6)
	s.shrink()
	if s.buffer != nil {
		t.Error("a buffer is held for nothing")
	}
}
