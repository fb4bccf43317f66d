package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/client/xrootd"
	"hemera/words/errs"
)

// driveXrdcp prepares copies with stock xrdcp. It skips them if xrdcp is not installed, or the target is a directory.
func (r *run) driveXrdcp(ctx context.Context, at place) (ready bool, err error) {
	if !xrootd.IsRemote(r.o.Targets[0]) {
		r.rec.Skip("driver xrdcp", at.String()+" is a directory", "name a target root://host//directory")
		return false, nil
	}
	// The version matters for the result.
	v, err := version(ctx, DriverXrdcp, "--version")
	if errors.Is(err, errs.NotFound) {
		r.rec.Skip("driver xrdcp", "xrdcp is not installed", "apt install xrootd-client, or dnf install xrootd-client")
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.rec.Tool(DriverXrdcp, v)
	r.rec.Note("Each copy is a process of xrdcp. It reads from a pipe or writes to one, so that no disk of the client takes part, and every byte is compared.")
	if s, ok := at.(*server); ok && !s.durable && r.o.Sync {
		r.rec.Note("xrdcp sends no kXR_sync: files count as written when this server has closed them.")
	}
	return true, nil
}

// stopWait bounds the wait for the pipes of a stopped xrdcp.
const stopWait = 5 * time.Second

// xrdcp makes one copy with a process. An error has the last line of the process's output.
func xrdcp(ctx context.Context, from, to string, in io.Reader, out io.Writer) error {
	var said bytes.Buffer
	// Stock settings except for colours and bars, because users have these.
	c := exec.CommandContext(ctx, DriverXrdcp, "--nopbar", from, to) // #nosec G204 -- names of this run
	c.Stdin, c.Stdout, c.Stderr, c.WaitDelay = in, out, &said, stopWait
	err := c.Run()
	if err == nil {
		return nil
	}
	// A stopped process has no reason to report.
	if ctx.Err() != nil {
		return errs.Wrap(ctx.Err(), "load.Copy", to)
	}
	// The last line is the reason; those before are attempts.
	lines := strings.FieldsFunc(said.String(), func(r rune) bool { return r == '\n' || r == '\r' })
	if text := strings.TrimSpace(strings.Join(lines[max(0, len(lines)-1):], "")); text != "" {
		return errs.New(errs.IO, "load.Copy", to, "xrdcp: "+text)
	}
	return errs.Wrap(err, "load.Copy", to)
}

// putXrdcp copies one file to the target. The process reads it from a pipe.
func (c *client) putXrdcp(ctx context.Context, o *Options, s set, i int) error {
	it := s.file(c.id, i)
	c.tree.file(it.name)
	// The URL is used unchanged, with the user's query.
	to := c.at.path(it.name)
	// Servers that know the size may use it to place the file; xrdcp does not know it for a pipe.
	to += opaqueMark(to) + "oss.asize=" + strconv.FormatInt(o.Size, 10)
	return xrdcp(ctx, "-", to, &contentReader{data: c.data, key: it.key, left: o.Size}, nil)
}

// opaqueMark returns the separator before another element of a URL's query.
func opaqueMark(url string) string {
	if strings.Contains(url, "?") {
		return "&"
	}
	return "?"
}

// getXrdcp copies one file of another client from the target, and compares it.
func (c *client) getXrdcp(ctx context.Context, o *Options, s set, i int) error {
	it := s.file(c.neighbour(), i)
	w := &contentWriter{c: c, it: it}
	if err := xrdcp(ctx, c.at.path(it.name), "-", nil, w); err != nil {
		return errors.Join(w.failed, err) // if the pipe closed, the reason is the wrong data
	}
	if err := errors.Join(w.failed, w.end()); err != nil {
		return err
	}
	// xrdcp does not detect a file that ends early.
	if w.off != o.Size {
		return errs.New(errs.IO, "load.Verify", c.at.path(it.name), strconv.FormatInt(w.off, 10)+" bytes came of "+strconv.FormatInt(o.Size, 10))
	}
	return nil
}

// contentReader reads the content of a file, which it makes meanwhile: the process at the other end of the pipe waits for
// it, as for a disk.
type contentReader struct {
	data *content
	key  uint64 // of the file
	off  int64  // bytes that were read
	left int64  // bytes that are to come
}

// Read implements io.Reader.
func (r *contentReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.left)]
	r.data.fill(p, r.key, r.off)
	r.off, r.left = r.off+int64(len(p)), r.left-int64(len(p))
	return len(p), nil
}

// contentWriter compares written data with the content of a file, in whole pages. Besides the pipe it needs one page of
// memory.
type contentWriter struct {
	c      *client // whose content it is
	it     item    // the file
	off    int64   // compared bytes
	rest   []byte  // less than a page
	failed error   // wrong data; the process reports only that its pipe closed
}

// Write implements io.Writer. It fails when the data differs from the file's content.
func (w *contentWriter) Write(p []byte) (int, error) {
	n := len(p)
	// Writes to a pipe may split pages; a split page is put together.
	if len(w.rest) > 0 {
		k := min(len(p), pageSize-len(w.rest))
		w.rest, p = append(w.rest, p[:k]...), p[k:]
		if len(w.rest) < pageSize {
			return n, nil
		}
		if err := w.end(); err != nil {
			return 0, err
		}
	}
	whole := len(p) - len(p)%pageSize
	if err := w.compare(p[:whole]); err != nil {
		return 0, err
	}
	w.rest = append(w.rest[:0], p[whole:]...)
	return n, nil
}

// end compares the rest.
func (w *contentWriter) end() error {
	// Less than a page at the end of the file, or a page that was put together.
	rest := slices.Clone(w.rest)
	w.rest = w.rest[:0]
	return w.compare(rest)
}

func (w *contentWriter) compare(p []byte) error {
	if err := w.c.verify(p, w.it, w.off); err != nil {
		w.failed = err
		return err
	}
	w.off += int64(len(p))
	return nil
}
