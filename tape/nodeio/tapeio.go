package nodeio

import (
	"context"
	"fmt"
	"io"
	"time"

	"hemera/client/xrootd"
	"hemera/rules/wire"
	"hemera/tape/session"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// WindowBytes is the part of one file that is written which is in flight at once: what a drive of 400 MB/s gives in 80 ms, the time of a slow disk's
// answer.
const WindowBytes = 32 << 20

// Files opens files at nodes. Its methods may be called concurrently.
type Files struct{ client *xrootd.Client }

// New makes one; Close it. Fields of o that are zero get values for tape servers.
func New(o xrootd.Options) *Files {
	if o.Window == 0 {
		o.Window = WindowBytes
	}
	if o.App == "" {
		o.App = "hemera-tape"
	}
	return &Files{xrootd.New(o)}
}

// OnTheWay returns the time for which contents have been on their way to and from nodes, see [xrootd.Client.OnTheWay].
func (f *Files) OnTheWay() time.Duration { return f.client.OnTheWay() }

// Close ends all sessions; files that are open fail.
func (f *Files) Close() error { return f.client.Close() }

// urlOf returns the URL of a granted file, with the capability. The token is a secret: errors show the URL without it.
func urlOf(g tapeapi.Grant) (xrootd.URL, error) {
	e, err := xrootd.ParseEndpoint(g.Addr)
	if err != nil {
		return xrootd.URL{}, err
	}
	return xrootd.URL{Endpoint: e, Path: g.Path, Opaque: wire.Opaque("").With(wire.OpaqueCapability, g.Token)}, nil
}

// Source is a file that is read: a session.Content. Several reads may be under way.
type Source struct {
	file *xrootd.File
	size int64
}

// Open opens a file to archive. It fails as [xrootd.Client.Open] does, and with Conflict if the file has another size than was granted.
func (f *Files) Open(ctx context.Context, g tapeapi.Grant) (session.Content, error) {
	u, err := urlOf(g)
	if err != nil {
		return nil, err
	}
	file, err := f.client.Open(ctx, u, xrootd.OpenOptions{})
	if err != nil {
		return nil, err
	}
	if size := file.Info().Size; size != g.Size {
		file.Release()
		return nil, errs.New(errs.Conflict, "nodeio.Open", g.Path, fmt.Sprintf("it has %d bytes, not %d", size, g.Size))
	}
	return &Source{file, g.Size}, nil
}

// ReadAt fills p with verified bytes, or fails. A read that has to go on at another node does so by itself.
func (s *Source) ReadAt(ctx context.Context, p []byte, offset int64) error {
	n, err := s.file.ReadAt(ctx, p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return errs.As(err, errs.Corrupt, "nodeio.Read", s.file.URL().Redacted())
}

// Close ends all use. It does not wait for the server.
func (s *Source) Close() error {
	s.file.Release()
	return nil
}

// Sink is a file that is written in order, behind its user: a session.Target. Use it from one goroutine, and end it with Commit or Abort.
type Sink struct {
	file *xrootd.File
	out  *xrootd.Writer
	path string
	size int64
}

// Create begins a recall. Nothing is visible before Commit. The context bounds the Sink too. It fails as [xrootd.Client.Open] does.
func (f *Files) Create(ctx context.Context, g tapeapi.Grant) (session.Target, error) {
	u, err := urlOf(g)
	if err != nil {
		return nil, err
	}
	file, err := f.client.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Size: g.Size})
	if err != nil {
		return nil, err
	}
	return &Sink{file: file, out: file.NewWriter(ctx, 0), path: g.Path, size: g.Size}, nil
}

// Write accepts p, which the caller may use again. A failure may show at any later call. The context of Create bounds it, so its own is not
// looked at.
func (s *Sink) Write(_ context.Context, p []byte) error {
	_, err := s.out.Write(p)
	return err
}

// Commit makes the content durable and visible. Conflict: the file was written or removed meanwhile, and the recall is void. After
// Unavailable and Timeout it is not known whether the content is there. Whatever it returns, the Sink is closed.
func (s *Sink) Commit(ctx context.Context) error {
	err := s.out.Flush()
	if err == nil && s.out.Offset() != s.size {
		err = errs.New(errs.Corrupt, "nodeio.Commit", s.path, fmt.Sprintf("%d bytes came, not %d", s.out.Offset(), s.size))
	}
	if err != nil {
		s.Abort(ctx)
		return err
	}
	return s.file.Close(ctx)
}

// Abort drops what was written. It does not wait for the server.
func (s *Sink) Abort(context.Context) { s.file.Release() }
