package files

import (
	"context"
	"io"
	"time"
)

// input is standard input of a command that can be interrupted. Ctrl-C ends the whole pipeline: the end of
// what the program in front wrote may be seen before the own signal, and must not pass for the end of its
// output.
type input struct {
	ctx context.Context
	r   io.Reader
	buf []byte
}

// signalGrace is how long a signal may take that was sent before the input ended.
const signalGrace = 100 * time.Millisecond

// Read is io.Reader. An interruption does not wait for the program in front.
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
