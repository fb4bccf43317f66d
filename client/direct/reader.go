package direct

import (
	"context"
	"io"
	"sync"
	"time"

	"hemera/client/xrootd"
	"hemera/words/errs"
)

// Reader reads a range of a file in order, ahead of its user. It is not safe for concurrent use and must be closed. It
// uses up to 64 MiB: two rows of the file, or 16 MiB if they are less.
type Reader struct {
	ctx     context.Context
	cancel  context.CancelFunc
	file    *File
	through *xrootd.Reader // for a file that was not opened at its nodes; nil otherwise

	begun    bool // Next was called
	window   window
	block    int64
	next     int64 // offset of the next read
	end      int64
	inFlight int64      // bytes
	reads    []*request // in flight, in order
	now      []byte     // the last result of Next
	err      error      // final
}

// request is one read in flight. Its goroutine writes the fields and then closes done.
type request struct {
	n    int64
	done chan struct{}
	p    []byte
	err  error
	took time.Duration
}

// NewReader reads from off up to end, or to the end of the file if that comes first. It sends nothing before the first
// Next. The context bounds all of its calls.
func (f *File) NewReader(ctx context.Context, off, end int64) *Reader {
	ctx, cancel := context.WithCancel(ctx)
	r := &Reader{ctx: ctx, cancel: cancel, file: f}
	if !f.Direct() {
		r.through = f.head.NewReader(ctx, off, end)
		return r
	}
	r.block = int64(f.first.Layout.BlockSize)
	r.next, r.end = off, min(end, f.first.Size)
	r.window = newWindow(r.block * int64(f.first.Layout.Data))
	return r
}

// Next returns the next bytes, at most 1 MiB, verified. They are valid until the next call. At the end it returns io.EOF.
func (r *Reader) Next() ([]byte, error) {
	if r.through != nil {
		return r.through.Next()
	}
	r.file.client.spare.put(r.now)
	r.now = nil
	if r.err != nil {
		return nil, r.err
	}
	if !r.begun {
		r.begun = true
		r.openRow()
	}
	r.fill() // before waiting, so that reads overlap with the work of the user
	if len(r.reads) == 0 {
		r.err = io.EOF
		return nil, r.err
	}
	first := r.reads[0]
	select {
	case <-first.done:
	case <-r.ctx.Done():
		r.err = errs.Wrap(r.ctx.Err(), "direct.Read", r.file.url.Redacted())
		return nil, r.err
	}
	r.reads = r.reads[1:]
	r.inFlight -= first.n
	if first.err != nil {
		r.err = first.err
		return nil, r.err
	}
	r.window.took(first.n, first.took)
	r.now = first.p
	return r.now, nil
}

// openRow opens the other pieces of the first row in parallel, with reads of one byte. The first reads are all of one
// piece, and opening a session far away takes some round trips.
func (r *Reader) openRow() {
	pieces, _ := r.file.now()
	if pieces == nil {
		return
	}
	end := min(r.end, r.next+r.block*int64(r.file.first.Layout.Data))
	for off := (r.next/r.block + 1) * r.block; off < end; off += r.block {
		go func() {
			// An error here appears again at the real read.
			p, _ := r.file.readPieces(pieces, off, 1)
			r.file.client.spare.put(p)
		}()
	}
}

// fill keeps the window full.
func (r *Reader) fill() {
	for r.next < r.end && (len(r.reads) == 0 || r.inFlight < r.window.size) {
		one := &request{n: r.window.next(r.next, r.end, r.block), done: make(chan struct{})}
		off := r.next
		go func() {
			defer close(one.done)
			began := time.Now()
			one.p, one.err = r.file.read(r.ctx, off, one.n)
			one.took = time.Since(began)
		}()
		r.reads = append(r.reads, one)
		r.inFlight += one.n
		r.next += one.n
	}
}

// Close cancels reads in flight. The file stays open.
func (r *Reader) Close() error {
	r.cancel()
	if r.through != nil {
		return r.through.Close()
	}
	r.reads = nil
	if r.err == nil {
		r.err = io.ErrClosedPipe
	}
	return nil
}

// chunks has the memory of earlier reads. The zero value is ready to use.
type chunks struct{ pool sync.Pool }

// get returns n bytes with any content, at most chunkLarge.
func (c *chunks) get(n int64) []byte {
	if b, ok := c.pool.Get().(*[chunkLarge]byte); ok {
		return b[:n]
	}
	return new([chunkLarge]byte)[:n]
}

// put returns memory of get to the pool, once it is not used any more. It ignores nil.
func (c *chunks) put(b []byte) {
	if cap(b) == chunkLarge {
		c.pool.Put((*[chunkLarge]byte)(b[:chunkLarge]))
	}
}
