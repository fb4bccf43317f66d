package load

import (
	"context"
	"errors"
	"io"

	"hemera/client/xrootd"
	"hemera/words/errs"
)

// server is a target at an XRootD server or cluster.
type server struct {
	url xrootd.URL // of the directory that the user named
	// durable states that a close makes a file durable. Other servers need a kXR_sync before it.
	durable bool
	sync    bool              // files must be durable
	wishes  map[string]string // by directory: the layout of opens, if it could not be set at the directory
}

// newServer asks the server for its kind. It fails with Unavailable if the server does not answer.
func newServer(ctx context.Context, url xrootd.URL, sync bool) (*server, error) {
	// Only a Hemera server publishes; layouts and syncs depend on that.
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	durable, err := c.Publishes(ctx, url.Endpoint)
	if err != nil {
		return nil, err
	}
	return &server{url: url, durable: durable, sync: sync, wishes: map[string]string{}}, nil
}

func (s *server) open(context.Context) (Target, error) {
	return &session{server: s, client: xrootd.New(xrootd.Options{})}, nil
}

// layout sets the layout as the policy of the directory, if the client is an admin. Otherwise each open asks for it.
func (s *server) layout(ctx context.Context, dir, layout string) error {
	if !s.durable {
		return noLayouts(s.String())
	}
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	err := c.Xattrs(s.url.Join(dir)).Set(ctx, "sys.forced.layout", []byte(layout), false)
	if errors.Is(err, errs.Denied) {
		s.wishes[dir] = layout // before the clients begin
		return nil
	}
	return err
}

func (s *server) path(name string) string { return s.url.Join(name).String() }

func (s *server) String() string { return s.url.Redacted() }

// session is one client of a server, with connections of its own.
type session struct {
	*server
	client *xrootd.Client
}

// Mkdir implements Target.
func (s *session) Mkdir(ctx context.Context, name string) error {
	return s.client.Mkdir(ctx, s.url.Join(name), 0o755, false)
}

// Create implements Target.
func (s *session) Create(ctx context.Context, name string, size int64) (File, error) {
	u := s.url.Join(name)
	if wish := s.wishes[dirOf(name)]; wish != "" {
		u.Opaque = u.Opaque.With("hem.layout", wish)
	}
	f, err := s.client.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Exclusive: true, Mode: 0o644, Size: size})
	if err != nil {
		return nil, err
	}
	// Hemera's close is durable; a sync before it would measure the same twice.
	return &remoteFile{f, s.sync && !s.durable}, nil
}

// Open implements Target.
func (s *session) Open(ctx context.Context, name string) (File, error) {
	f, err := s.client.Open(ctx, s.url.Join(name), xrootd.OpenOptions{})
	if err != nil {
		return nil, err
	}
	return &remoteFile{f, false}, nil
}

// Stat implements Target.
func (s *session) Stat(ctx context.Context, name string) error {
	_, err := s.client.Stat(ctx, s.url.Join(name))
	return err
}

// Remove implements Target.
func (s *session) Remove(ctx context.Context, name string) error {
	return s.client.Remove(ctx, s.url.Join(name))
}

// Rmdir implements Target.
func (s *session) Rmdir(ctx context.Context, name string) error {
	return s.client.Rmdir(ctx, s.url.Join(name))
}

// Close implements Target.
func (s *session) Close() error { return s.client.Close() }

// remoteFile is an open file of a server.
type remoteFile struct {
	f    *xrootd.File
	sync bool // before the close
}

// ReadAt implements File.
func (r *remoteFile) ReadAt(ctx context.Context, p []byte, off int64) error {
	// For a file that is shorter than written the error is the end of file.
	_, err := r.f.ReadAt(ctx, p, off)
	return err
}

// WriteAt implements File.
func (r *remoteFile) WriteAt(ctx context.Context, p []byte, off int64) error {
	return r.f.WriteAt(ctx, p, off)
}

// ReadVector implements File.
func (r *remoteFile) ReadVector(ctx context.Context, p [][]byte, offsets []int64) error {
	ranges := make([]xrootd.Range, len(p))
	for i := range p {
		ranges[i] = xrootd.Range{Off: offsets[i], P: p[i]}
	}
	return r.f.ReadVector(ctx, ranges)
}

// NewWriter implements File.
func (r *remoteFile) NewWriter(ctx context.Context) Stream { return r.f.NewWriter(ctx, 0) }

// NewReader implements File.
func (r *remoteFile) NewReader(ctx context.Context, size int64) io.ReadCloser {
	return r.f.NewReader(ctx, 0, size)
}

// Close implements File.
func (r *remoteFile) Close(ctx context.Context) error {
	if r.sync {
		if err := r.f.Sync(ctx); err != nil {
			// The error of the sync is returned; the close is sent without waiting.
			r.f.Release()
			return err
		}
	}
	return r.f.Close(ctx)
}
