package files

import (
	"context"
	"io"
	"time"
)

// input is standard input of a command that an interruption ends. Ctrl-C also ends the program in front of a pipe. The
// end of its output may arrive before our own signal; it must not pass for a complete file.
// It is read by one goroutine. After the context has ended it must not be read again.
type input struct {
	ctx context.Context // of the command
	r   io.Reader       // standard input
	buf []byte          // of the read under way, never the caller's
}

// signalGrace is how long a signal may arrive after the end of the input.
// Both programs of a pipe get the signal at the same moment; 100 ms is long for that, and short for a person.
const signalGrace = 100 * time.Millisecond

// Read implements io.Reader. If the context ends it returns at once and leaves the read of the input to its goroutine.
// The bytes are copied, because an abandoned read may still write to its buffer.
func (i *input) Read(p []byte) (int, error) {
	if len(i.buf) < len(p) {
		i.buf = make([]byte, len(p))
	}
	type result struct {
		n   int
		err error
	}
	// The buffer lets an abandoned read end its goroutine.
	done := make(chan result, 1)
	b := i.buf[:len(p)]
	go func() {
		n, err := i.r.Read(b)
		done <- result{n, err}
	}()
	select {
	case <-i.ctx.Done():
		i.buf = nil // the reader may still write to it
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
