package load

import (
	"context"
	"io"

	"hemera/words/errs"
)

// Target is a target from the view of one client. Names are relative to the target, with slashes. Its methods may be
// called concurrently.
type Target interface {
	// Mkdir makes a directory. It fails with Exists if the name exists.
	Mkdir(ctx context.Context, name string) error
	// Create creates a file that will have the size. It fails with Exists if the name exists.
	Create(ctx context.Context, name string, size int64) (File, error)
	// Open opens a file for reading.
	Open(ctx context.Context, name string) (File, error)
	// Stat gets the attributes of an entry. It fails with NotFound.
	Stat(ctx context.Context, name string) error
	// Remove removes a file, Rmdir an empty directory.
	Remove(ctx context.Context, name string) error
	Rmdir(ctx context.Context, name string) error
	// Close ends the client's connections.
	Close() error
}

// File is an open file. Its methods are not called concurrently.
type File interface {
	// ReadAt fills p, WriteAt writes all of it.
	ReadAt(ctx context.Context, p []byte, off int64) error
	WriteAt(ctx context.Context, p []byte, off int64) error
	// ReadVector fills the elements of p from the offsets, in one request if the target supports that.
	ReadVector(ctx context.Context, p [][]byte, offsets []int64) error
	// NewWriter writes from the beginning, ahead of the target's answers. NewReader reads size bytes, ahead of its user.
	NewWriter(ctx context.Context) Stream
	NewReader(ctx context.Context, size int64) io.ReadCloser
	// Close returns when the file is complete, and durable if the options ask for it.
	Close(ctx context.Context) error
}

// Stream is a file that is written sequentially.
type Stream interface {
	io.Writer
	// Flush returns when everything is accepted.
	Flush() error
}

// place makes the clients of a target.
type place interface {
	// open makes one client.
	open(ctx context.Context) (Target, error)
	// layout sets the layout of new files of a directory. It fails with Unsupported if the target has no layouts.
	layout(ctx context.Context, dir, layout string) error
	// path returns the name for other programs and errors.
	path(name string) string
	// String returns the name of the target in results.
	String() string
}

// noLayouts returns the error of targets without layouts.
func noLayouts(at string) error {
	return errs.New(errs.Unsupported, "load.Layout", at, "it has no layouts that a client can choose").WithRemedy("leave --layout out, or measure a Hemera cluster")
}
