package load

import (
	"context"
	"io"

	"hemera/words/errs"
)

// Target is what one client does. Names are relative to the target, with slashes. Its methods may be called concurrently.
type Target interface {
	// Mkdir makes a directory. Exists.
	Mkdir(ctx context.Context, name string) error
	// Create makes a file that was not there and will have a size. Exists.
	Create(ctx context.Context, name string, size int64) (File, error)
	// Open opens a file to read it.
	Open(ctx context.Context, name string) (File, error)
	// Stat asks for the attributes of an entry. NotFound.
	Stat(ctx context.Context, name string) error
	// Remove removes a file, Rmdir an empty directory.
	Remove(ctx context.Context, name string) error
	Rmdir(ctx context.Context, name string) error
	// Close ends the client's connections.
	Close() error
}

// File is an open file. Calls of one file come one after the other.
type File interface {
	// ReadAt fills p, WriteAt writes all of it.
	ReadAt(ctx context.Context, p []byte, off int64) error
	WriteAt(ctx context.Context, p []byte, off int64) error
	// ReadVector fills the elements of p from the offsets, in one request where the target has such.
	ReadVector(ctx context.Context, p [][]byte, offsets []int64) error
	// NewWriter writes from the beginning, ahead of the target's answers. NewReader reads size bytes, ahead of its user.
	NewWriter(ctx context.Context) Stream
	NewReader(ctx context.Context, size int64) io.ReadCloser
	// Close returns when the file is complete, and durable if that is wanted.
	Close(ctx context.Context) error
}

// Stream is a file that is written in order.
type Stream interface {
	io.Writer
	// Flush returns when everything is accepted.
	Flush() error
}

// place makes the clients of a target.
type place interface {
	// open makes one client.
	open(ctx context.Context) (Target, error)
	// layout has new files of a directory stored in a layout. Unsupported if the target has no layouts.
	layout(ctx context.Context, dir, layout string) error
	// path is how other programs call a name of the target, and errors.
	path(name string) string
	// String is the target in results.
	String() string
}

// noLayouts is the error of targets that have no layouts to choose.
func noLayouts(at string) error {
	return errs.New(errs.Unsupported, "load.Layout", at, "it has no layouts that a client can choose").WithRemedy("leave --layout out, or measure a Hemera cluster")
}
