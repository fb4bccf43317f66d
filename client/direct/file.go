package direct

import (
	"context"
	"fmt"
	"io"
	"sync"

	"hemera/client/xrootd"
	"hemera/platform/turn"
	"hemera/rules/wire"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// File is a file that is open for reading. Methods are safe for concurrent use.
type File struct {
	client *Client
	url    xrootd.URL   // as passed to Open
	head   *xrootd.File // open as for every client; bytes that cannot be read from the nodes are read here
	first  hemera.Capability

	// turn belongs to the caller that replaces the pieces; mu is not held meanwhile.
	turn turn.Turn

	mu     sync.Mutex // guards the following fields
	pieces *read.Reader
	grant  int // counts the capabilities with which pieces were opened
	closed bool
}

// Open opens a file for reading, and decides how to read it. It blocks and fails as [xrootd.Client.Open] does. With
// Always, if a coded file cannot be read from its nodes, it fails with the kind of the reason.
func (c *Client) Open(ctx context.Context, u xrootd.URL) (*File, error) {
	if c.opts.Mode == Always { // a manager with nodes in its process opens small files itself, unless the client asks for the place
		u.Opaque = u.Opaque.With(wire.OpaqueWhere, "1")
	}
	head, err := c.xrd.Open(ctx, u, xrootd.OpenOptions{})
	if err != nil {
		return nil, err
	}
	f := &File{client: c, url: u, head: head, turn: turn.New()}
	if c.opts.Mode == Never {
		return f, nil
	}
	if err := f.begin(ctx); err != nil {
		_ = head.Close(ctx)
		return nil, err
	}
	return f, nil
}

// begin opens the pieces at the nodes if the file is suited.
func (f *File) begin(ctx context.Context) error {
	c, always := f.client, f.client.opts.Mode == Always
	token := f.head.URL().Opaque.Value(wire.OpaqueCapability)
	if token == "" {
		c.note(f.url.Redacted(), "the server that was asked has opened it itself, as servers do with small files, and those that are not Hemera's with all")
		return nil
	}
	permit, err := parse(token, f.head.Info().Size)
	if err != nil {
		c.note(f.url.Redacted(), err.Error())
		return nil
	}
	reason := suited(c.opts.Mode, &permit.Capability, c.reach.reachable)
	if reason == "" {
		f.first = permit.Capability
		f.pieces, err = c.host.OpenReader(permit)
		if err == nil {
			c.straight(f.url.Redacted(), permit.Layout)
			return nil
		}
		reason = err.Error()
	}
	if always && permit.Layout.Coded() && permit.Size > 0 {
		return errs.New(errs.NoReplicas, "direct.Open", f.url.Redacted(), reason).WithRemedy("it can be read through one node, without --direct always")
	}
	c.note(f.url.Redacted(), reason)
	return nil
}

// where asks the manager for a capability. It returns "" if it gets none.
func (f *File) where(ctx context.Context, u xrootd.URL) string {
	to, err := f.client.xrd.Where(ctx, u, xrootd.OpenOptions{})
	if err != nil {
		return ""
	}
	return to.Opaque.Value(wire.OpaqueCapability)
}

// Version returns a value that changes with each change of the file, as far as its server can detect it: stock servers
// report times in whole seconds. It returns "" if all reads until Close are of one content, which a capability names.
func (f *File) Version(ctx context.Context) (string, error) {
	if f.head.URL().Opaque.Value(wire.OpaqueCapability) != "" {
		return "", nil
	}
	i, err := f.client.xrd.Stat(ctx, f.url)
	if errs.KindOf(err) == errs.NotFound {
		return "gone", nil
	}
	return fmt.Sprint(i.ID, i.Size, i.Mtime, i.Ctime), err
}

// Info returns the server's description from the time of the open.
func (f *File) Info() xrootd.Info { return f.head.Info() }

// Direct reports whether the file is currently read from the nodes of its pieces.
func (f *File) Direct() bool {
	pieces, _ := f.now()
	return pieces != nil
}

// ReadAt reads like io.ReaderAt, with a context. It reads from all pieces with these bytes at once, and needs up to 64
// MiB for that.
func (f *File) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errs.New(errs.Invalid, "direct.Read", f.url.Redacted(), "the offset is negative")
	}
	if !f.Direct() {
		return f.head.ReadAt(ctx, p, off)
	}
	r := f.NewReader(ctx, off, off+int64(len(p)))
	defer r.Close()
	done := 0
	for done < len(p) {
		b, err := r.Next()
		done += copy(p[done:], b)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// Close ends all use. It waits for no node but the head, as [xrootd.File.Close] does. If the file was read without the
// head, it does not wait for the head either, which may have stopped.
func (f *File) Close(ctx context.Context) error {
	f.mu.Lock()
	old := f.pieces
	f.pieces, f.closed = nil, true
	f.mu.Unlock()
	if old != nil {
		leave(old)
		f.head.Release()
		return nil
	}
	return f.head.Close(ctx)
}

// leave closes pieces in the background, as reads in flight may take long to end.
func leave(r *read.Reader) {
	if r != nil {
		go r.Close()
	}
}

// now returns the pieces in use and their grant; nil pieces mean that the head is read.
func (f *File) now() (*read.Reader, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pieces, f.grant
}

// swap replaces the pieces in use, and closes the old ones.
func (f *File) swap(fresh *read.Reader) {
	f.mu.Lock()
	old := f.pieces
	if f.closed {
		old, fresh = fresh, nil
	}
	f.pieces = fresh
	f.grant++
	f.mu.Unlock()
	leave(old)
}

// read returns n bytes at off, which must be within the file, in memory of the client's pool; the caller gives it back.
//
// If a read from the nodes fails, it is tried once more with a new capability. Then the file is read through its head.
func (f *File) read(ctx context.Context, off, n int64) ([]byte, error) {
	for tries := 0; ; tries++ {
		pieces, grant := f.now()
		if pieces == nil {
			return f.readHead(ctx, off, n)
		}
		p, err := f.readPieces(pieces, off, n)
		if err == nil {
			return p, nil
		}
		if ctx.Err() != nil {
			return nil, errs.Wrap(ctx.Err(), "direct.Read", f.url.Redacted())
		}
		if err := f.recover(ctx, grant, err, tries == 0); err != nil {
			return nil, err
		}
	}
}

// readPieces reads from the nodes.
func (f *File) readPieces(pieces *read.Reader, off, n int64) ([]byte, error) {
	// An abandoned read keeps its memory. After the first, the reader copies, so this ends soon.
	for tries := 0; ; tries++ {
		p := f.client.spare.get(n)
		got, err := pieces.ReadPages(p, nil, off)
		switch {
		case int64(got) == n:
			return p, nil
		case err == nil || err == io.EOF:
			err = errs.New(errs.Corrupt, "direct.Read", f.url.Redacted(), "the file ends before its size")
		}
		if !hemera.KeepsBuffers(err) {
			f.client.spare.put(p)
			return nil, err
		}
		if tries == hemera.CodedPiecesMax {
			return nil, err
		}
	}
}

// readHead reads through the head.
func (f *File) readHead(ctx context.Context, off, n int64) ([]byte, error) {
	p := f.client.spare.get(n)
	got, err := f.head.ReadAt(ctx, p, off)
	if err == nil || int64(got) == n {
		return p[:got], nil
	}
	f.client.spare.put(p)
	if err == io.EOF {
		err = errs.New(errs.Conflict, "direct.Read", f.url.Redacted(), "the file became shorter while it was read")
	}
	return nil, err
}

// recover finds another way after a read failed with the grant: a new capability if renew is set and there is one, else
// the head. It returns cause if there is no other way. It blocks while another caller does the same.
func (f *File) recover(ctx context.Context, failed int, cause error, renew bool) error {
	if err := f.turn.Acquire(ctx); err != nil {
		return errs.Wrap(err, "direct.Read", f.url.Redacted())
	}
	defer f.turn.Release()
	if _, grant := f.now(); grant != failed { // another caller has done it
		return nil
	}
	if renew {
		if fresh := f.renew(ctx); fresh != nil {
			f.swap(fresh)
			return nil
		}
	}
	if f.client.opts.Mode == Always {
		return errs.Wrap(cause, "direct.Read", f.url.Redacted())
	}
	f.client.note(f.url.Redacted(), cause.Error())
	f.swap(nil)
	return nil
}

// renew opens the pieces with a new capability for the same content. It returns nil if it gets none.
func (f *File) renew(ctx context.Context) *read.Reader {
	u := f.url
	u.Opaque = u.Opaque.With(wire.OpaqueAgain, "1") // the manager grants the same content, even if it was replaced
	permit, err := parse(f.where(ctx, u), f.first.Size)
	if err != nil || permit.File != f.first.File || permit.Gen != f.first.Gen || permit.Layout != f.first.Layout {
		return nil
	}
	pieces, err := f.client.host.OpenReader(permit)
	if err != nil {
		return nil
	}
	return pieces
}
