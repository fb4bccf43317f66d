package copy

import (
	"context"
	"io"
	"os"

	"hemera/client/direct"
	"hemera/client/xrootd"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// FromReader makes a file of a server from a reader's bytes up to its end. The file appears when it is complete and
// verified; after an error of the reader nothing is left. Of the options it uses Force, Persist, Direct and Verify. It
// returns the number of bytes written.
func FromReader(ctx context.Context, c *xrootd.Client, r io.Reader, to xrootd.URL, o Options) (int64, error) {
	if hemera.OfDirectory(to.Path) {
		return 0, errs.New(errs.IsDirectory, "copy.Copy", to.Redacted(), "the path ends in a slash").WithRemedy("name the file")
	}
	x := newCopier(c, o, newTracker(nil))
	j := job{to: Place{Remote: true, URL: to}}
	at, err := x.publisher(ctx, j)
	if err != nil {
		return 0, err
	}
	// A part could not be continued after a failure, so it is only needed if files are visible before their close.
	at.direct = at.atomic // a content of unknown length, which cannot be continued, needs no part there
	if !at.direct {
		there, err := servers{c: c}.stat(ctx, j.to)
		if err != nil {
			return 0, err
		}
		if _, err := choose(state{}, there, j.to.String(), Options{Force: o.Force}); err != nil {
			return 0, err
		}
	}
	nodes := direct.New(c, o.Direct)
	defer nodes.Close()
	dst, err := servers{c, nodes}.target(ctx, j.to, targetOptions{replace: o.Force, persist: o.Persist, mode: x.mode(state{}, 0o644), at: at})
	if err != nil {
		return 0, err
	}
	sum := x.newHasher()
	n, err := x.pumpUnchanged(&readerSource{r, make([]byte, c.Options().Chunk)}, dst, sum, "")
	if err == nil { // an interrupted program before this one in a pipe also ends its output, but not completely
		err = errs.Wrap(ctx.Err(), "copy.Copy", j.to.String())
	}
	if err != nil {
		dst.abandon(ctx, false)
		return n, err
	}
	var want hemera.Checksum
	if o.Verify != VerifyNever {
		want = sum.Sum()
	}
	return n, dst.commit(ctx, want)
}

// readerSource is a reader as a source.
type readerSource struct {
	r   io.Reader
	buf []byte
}

// next implements source.
func (s *readerSource) next() ([]byte, error) {
	n, err := readFull(s.r, s.buf)
	if err != nil && err != io.EOF {
		return nil, errs.Wrap(err, "copy.Read", "standard input")
	}
	return s.buf[:n], err
}

// version implements source: standard input may be a file.
func (s *readerSource) version() (string, error) {
	f, ok := s.r.(*os.File)
	if !ok {
		return "", nil
	}
	return versionNow(f)
}

// close implements source. The caller closes the reader.
func (s *readerSource) close() {}
