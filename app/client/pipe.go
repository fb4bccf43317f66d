package client

import (
	"context"
	"io"

	"hemera"
	"hemera/errs"
)

// CopyFrom makes a file of a server from what a reader gives up to its end. The file appears when it is
// whole and verified; after a failure of the reader nothing is left. Of the options it takes Force, Persist
// and Verify.
func (c *Client) CopyFrom(ctx context.Context, r io.Reader, to URL, o CopyOptions) (int64, error) {
	x := &copier{c: c, o: o, umask: umask(), track: newTracker(nil), atomic: map[Endpoint]bool{}}
	j := job{to: Place{Remote: true, URL: to}}
	at, err := x.publisher(ctx, j)
	if err != nil {
		return 0, err
	}
	at.whole = at.atomic // a content of unknown length, that cannot be gone on with, needs no part there
	if !at.whole {
		there, err := servers{c}.stat(ctx, j.to)
		if err != nil {
			return 0, err
		}
		if _, err := choose(state{}, there, j.to.String(), CopyOptions{Force: o.Force}); err != nil {
			return 0, err
		}
	}
	dst, err := servers{c}.target(ctx, j.to, targetOptions{replace: o.Force, persist: o.Persist, mode: x.mode(state{}, 0o644), at: at})
	if err != nil {
		return 0, err
	}
	sum := x.newSum()
	n, err := x.pump(&readerSource{r, make([]byte, c.opts.Chunk)}, dst, sum)
	if err == nil {
		err = errs.Wrap(ctx.Err(), "copy", j.to.String())
	}
	if err != nil {
		dst.abandon(ctx, false)
		return n, err
	}
	var want hemera.Checksum
	if o.Verify != VerifyNever {
		want = sumOf(sum)
	}
	return n, dst.commit(ctx, want)
}

// readerSource is any reader as a source.
type readerSource struct {
	r   io.Reader
	buf []byte
}

func (s *readerSource) next() ([]byte, error) {
	n, err := readFull(s.r, s.buf)
	if err != nil && err != io.EOF {
		return nil, errs.Wrap(err, "read", "standard input")
	}
	return s.buf[:n], err
}

func (s *readerSource) close() {}
