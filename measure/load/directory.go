package load

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// directory is a target in a mounted file system.
type directory struct {
	root   string // named by the user
	reads  string // the same directory in another mount, for opens for reading; "" for root
	direct bool   // O_DIRECT
	sync   bool   // fsync before close
}

func (d directory) open(context.Context) (Target, error) { return d, nil }

func (d directory) layout(context.Context, string, string) error { return noLayouts(d.root) }

func (d directory) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

func (d directory) String() string { return d.root }

// Mkdir implements Target.
func (d directory) Mkdir(_ context.Context, name string) error {
	return errs.Wrap(os.Mkdir(d.path(name), 0o777), "load.Mkdir", d.path(name)) // #nosec G301 -- the umask decides
}

// Create implements Target.
func (d directory) Create(_ context.Context, name string, _ int64) (File, error) {
	return d.file(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open implements Target. Through another mount, the file is not in the caches of the client that wrote it.
func (d directory) Open(_ context.Context, name string) (File, error) {
	if d.reads != "" {
		d.root = d.reads
	}
	return d.file(name, os.O_RDONLY)
}

func (d directory) file(name string, flags int) (File, error) {
	// Direct I/O needs whole pages; Options.Check ensures that.
	if d.direct {
		flags |= unix.O_DIRECT
	}
	f, err := os.OpenFile(d.path(name), flags, 0o666) // #nosec G302 G304 -- a name of this run
	if err != nil {
		return nil, errs.Wrap(err, "load.Open", d.path(name))
	}
	return &localFile{f: f, written: flags&os.O_CREATE != 0, sync: d.sync}, nil
}

// Stat implements Target.
func (d directory) Stat(_ context.Context, name string) error {
	if d.reads != "" {
		d.root = d.reads
	}
	var st unix.Stat_t
	return errs.Wrap(unix.Lstat(d.path(name), &st), "load.Stat", d.path(name))
}

// Remove implements Target.
func (d directory) Remove(_ context.Context, name string) error {
	return errs.Wrap(os.Remove(d.path(name)), "load.Remove", d.path(name))
}

// Rmdir implements Target.
func (d directory) Rmdir(_ context.Context, name string) error {
	return errs.Wrap(unix.Rmdir(d.path(name)), "load.Rmdir", d.path(name))
}

// Close implements Target.
func (d directory) Close() error { return nil }

// localFile is a file of a directory. The kernel writes behind and reads ahead, so streams are plain calls.
type localFile struct {
	f       *os.File // its name is in errors
	written bool     // created by this open
	sync    bool
	off     int64 // of the stream
}

// ReadAt implements File.
func (l *localFile) ReadAt(_ context.Context, p []byte, off int64) error {
	// A short file is io.EOF: written data was lost.
	_, err := l.f.ReadAt(p, off)
	return errs.Wrap(err, "load.Read", l.f.Name())
}

// WriteAt implements File.
func (l *localFile) WriteAt(_ context.Context, p []byte, off int64) error {
	// Into the page cache, unless the file is direct.
	_, err := l.f.WriteAt(p, off)
	return errs.Wrap(err, "load.Write", l.f.Name())
}

// ReadVector implements File. POSIX has no call for several places of a file, so there is one call for each.
func (l *localFile) ReadVector(ctx context.Context, p [][]byte, offsets []int64) error {
	for i := range p {
		if err := l.ReadAt(ctx, p[i], offsets[i]); err != nil {
			return err
		}
	}
	return nil
}

// NewWriter implements File.
func (l *localFile) NewWriter(context.Context) Stream { return l }

// Write implements Stream.
func (l *localFile) Write(p []byte) (int, error) {
	n, err := l.f.WriteAt(p, l.off)
	l.off += int64(n)
	return n, errs.Wrap(err, "load.Write", l.f.Name())
}

// Flush implements Stream.
func (l *localFile) Flush() error { return nil }

// NewReader implements File.
func (l *localFile) NewReader(_ context.Context, size int64) io.ReadCloser {
	return io.NopCloser(io.NewSectionReader(l.f, 0, size))
}

// Close implements File. Written pages are dropped from the page cache if the kernel allows it, so that a later read uses
// the target.
func (l *localFile) Close(context.Context) error {
	var err error
	if l.written && l.sync {
		err = l.f.Sync()
	}
	if l.written {
		_ = unix.Fadvise(int(l.f.Fd()), 0, 0, unix.FADV_DONTNEED) // advice only
	}
	if closeErr := l.f.Close(); err == nil {
		err = closeErr
	}
	return errs.Wrap(err, "load.Close", l.f.Name())
}
