package files

import (
	"context"
	"io"
	"time"
)

// input is standard input of a command that an interruption ends. Ctrl-C also ends the program in front of a pipe. The
// end of its output may arrive before our own signal; it must not pass for a complete file.
type input struct {
	ctx context.Context
	r   io.Reader
	buf []byte
}

// signalGrace is how long a signal may arrive after the end of the input.
const signalGrace = 100 * time.Millisecond

// Read implements io.Reader. If the context ends it returns at once and leaves the read of the input to its goroutine.
func (i *input) Read(p []byte) (int, error) {
	if len(i.buf) < len(p) {
		i.buf = make([]byte, len(p))
	}
	type result struct {
		n   int
		err error
	}
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
