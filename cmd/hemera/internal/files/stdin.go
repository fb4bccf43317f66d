package files

import (
	"context"
	"io"
	"time"
)

// input is standard input of a command that an interruption ends. Ctrl-C also ends the program in front of a pipe, and
// the end of its output may arrive before our own signal: it must not count as the end of a complete file. One goroutine
// reads it. After the end of ctx it must not be read again.
type input struct {
	ctx context.Context // of the command
	r   io.Reader       // standard input
	buf []byte          // of the current read, never the caller's
}

// signalGrace bounds the time by which a signal may follow the end of the input. Both programs of a pipe get the signal
// at the same moment; 100 ms is long for that, and short for a person.
const signalGrace = 100 * time.Millisecond

// Read implements io.Reader. When ctx ends it returns at once and leaves the read of the input to its goroutine. The
// bytes are copied, because an abandoned read may still write to its buffer.
func (i *input) Read(p []byte) (int, error) {
	if len(i.buf) < len(p) {
		i.buf = make([]byte, len(p))
	}
	type result struct {
		n   int
		err error
	}
	// The buffer lets the goroutine of an abandoned read end.
	done := make(chan result, 1)
	b := i.buf[:len(p)]
	go func() {
		n, err := i.r.Read(b)
		done <- result{n, err}
	}()
	select {
	case <-i.ctx.Done():
		i.buf = nil // the goroutine may still write to it
		return 0, i.ctx.Err()
	case r := <-done:
		if r.err == io.EOF {
			select {
			case <-i.ctx.Done():
				return 0, i.ctx.Err()
			case <-time.After(signalGrace):
			}
		}
		return copy(p, b[:r.n]), r.err
	}
}
