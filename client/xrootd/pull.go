package xrootd

import (
	"context"
	"io"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// PullRequest is the order of a destination of a third-party copy, with the keys of the client's URL.
type PullRequest struct {
	Source Endpoint // tpc.src
	Path   string   // tpc.lfn, at the source
	Key    string   // tpc.key: the source gives the file to a client that presents it
	// Origins are names that the source may have for the client that ordered the copy, user.pid@host, the most likely
	// first: it gives the file only to a puller that uses the same name.
	Origins []string
	Opaque  wire.Opaque // tpc.scgi, for the source
	Opened  func()      // called when the source is open; may be nil
}

// Pull reads the source's file into dst, checks every page and keeps its checksum, and calls progress, if not nil, with
// the number of bytes written so far. It returns that number at the end. dst stays open; after an error it has a part. If
// the source sends "wait", Pull obeys.
func Pull(ctx context.Context, c *Client, r PullRequest, dst hemera.Handle, progress func(int64)) (int64, error) {
	path, err := wire.CleanPath(r.Path)
	if err != nil {
		return 0, errs.As(err, errs.Invalid, "xrootd.Pull", r.Path)
	}
	u := URL{Endpoint: r.Source, Path: path, Opaque: r.Opaque.With("tpc.key", r.Key)}
	f, err := openPull(ctx, c, u, r.Origins)
	if err != nil {
		return 0, err
	}
	defer f.Close(ctx) // tells the source that its part is done
	if r.Opened != nil {
		r.Opened()
	}
	src := f.NewReader(ctx, 0, hemera.FileSizeMax)
	src.KeepSums() // so that no page is summed twice
	defer src.Close()
	done := int64(0) // bytes that dst has accepted
	for {
		p, err := src.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return done, err
		}
		sums, off := src.Sums()
		if err := dst.WritePages(p, sums[:wire.Fragments(off, int64(len(p)))], off); err != nil {
			return done, err
		}
		if done += int64(len(p)); progress != nil {
			progress(done)
		}
	}
	if size := f.Info().Size; done != size {
		return done, errs.New(errs.IO, "xrootd.Pull", u.Redacted(), "the source changed its size while it was read")
	}
	return done, nil
}

// originTimeout is the time that a source may take to recognize its client by one name: otherwise a wrong name would make
// the puller wait until the client's permission has expired too.
const originTimeout = 2 * time.Second

// openPull opens the source's file, trying each name that the client may have.
func openPull(ctx context.Context, c *Client, u URL, origins []string) (f *File, err error) {
	opaque := u.Opaque
	err = errs.New(errs.Invalid, "xrootd.Pull", u.Redacted(), "the client that ordered the copy has no name")
	// The last name gets all the time that is left: then the source may wait until its client announces the copy.
	for i, origin := range origins {
		u.Opaque = opaque.With("tpc.org", origin)
		attempt, cancel := ctx, func() {}
		if i < len(origins)-1 {
			attempt, cancel = context.WithTimeout(ctx, originTimeout)
		}
		f, err = c.Open(attempt, u, OpenOptions{})
		cancel()
		if err == nil || ctx.Err() != nil {
			return f, err
		}
	}
	return nil, err
}
