package vfs

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// FS is a tree of files. Methods may be called concurrently. Calls block for the device. Errors are those of package
// os: fs.ErrNotExist if there is no such name, and the numbers of the system. A name that was made, moved or removed
// is durable once its directory was synced (SyncDir).
type FS interface {
	// Open opens a file with the flags of package os: O_RDONLY or O_RDWR, O_CREATE, O_EXCL, O_TRUNC.
	Open(name string, flag int) (File, error)
	// Stat describes a file or directory.
	Stat(name string) (Info, error)
	// Rename moves a file, replacing one with the new name, or a directory to a name that is free. It is atomic, and durable
	// once both directories were synced.
	Rename(from, to string) error
	// Remove removes a file or an empty directory. A file that is open stays until it is closed.
	Remove(name string) error
	// Mkdir makes a directory. It fails with fs.ErrExist if the name is taken.
	Mkdir(name string) error
	// ReadDir lists the names in a directory in byte order.
	ReadDir(name string) ([]string, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// Space describes the filesystem of name.
	Space(name string) (Space, error)
}

// Mover is an FS that can move a file to a name that nothing has, in one step. It blocks for the device, and is
// durable as Rename is.
type Mover interface {
	// Move is Rename, but fails with fs.ErrExist if the new name is taken.
	Move(from, to string) error
}

// Move moves a file to a free name. It fails with fs.ErrExist if the name is taken. If the FS is not a [Mover], another
// process may create the name between the check and the move, and its file is replaced.
func Move(fsys FS, from, to string) error {
	if m, ok := fsys.(Mover); ok {
		return m.Move(from, to)
	}
	return moveByLooking(from, to, func() error { _, err := fsys.Stat(to); return err }, fsys.Rename)
}

// moveByLooking implements Move in two steps. look returns nil if the new name is taken, and fs.ErrNotExist if it is
// free.
func moveByLooking(from, to string, look func() error, rename func(from, to string) error) error {
	err := look()
	switch {
	case err == nil:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return rename(from, to)
}

// File is one open file. Methods may be called concurrently; Close ends all use. Calls block for the device. They
// fail with ENOSPC where there is no room, EIO where the device fails, and the other numbers of the system. Durable
// is what a Sync came after.
type File interface {
	// ReadAt implements io.ReaderAt: fewer bytes than requested only with an error, at the end io.EOF.
	ReadAt(p []byte, off int64) (int, error)
	// WriteAt implements io.WriterAt. A gap before off reads as zeros.
	WriteAt(p []byte, off int64) (int, error)
	// Truncate sets the size; added bytes read as zeros.
	Truncate(size int64) error
	// Size returns the file's size in bytes.
	Size() (int64, error)
	// Sync makes content and size durable (fdatasync). After an error written bytes may be lost although a later Sync
	// succeeds: the file must not be used any more.
	Sync() error
	// Close releases the file. Bytes that were written and not synced may never reach the device, without an error.
	Close() error
}

// Hinter is a File that takes hints. A hint that is not supported does nothing, and is not an error. Only Preallocate
// blocks for the device.
type Hinter interface {
	// Preallocate reserves room for the first n bytes without changing the size. It fails only if there is not that much
	// room.
	Preallocate(n int64) error
	// StartWriteback begins writing a dirty range to the device without waiting for it.
	StartWriteback(off, n int64)
	// ReadAhead begins reading a range into memory without waiting for it.
	ReadAhead(off, n int64)
	// Forget drops a clean range from memory, so that the next read comes from the device.
	Forget(off, n int64)
}

// Sparse is a File that knows its holes. Calls block for the device, and fail only if that does.
type Sparse interface {
	// NextData returns the first offset at or after off where there may be something else than zeros: callers need not
	// read the zeros between. It returns the file's size if only zeros follow.
	NextData(off int64) (int64, error)
	// Allocated returns the number of bytes that the file occupies on its filesystem.
	Allocated() (int64, error)
}

// Cloner is a File that can take over what another file of its filesystem holds, without the bytes passing through the
// process. It fails with errors.ErrUnsupported, and changes nothing, where that is not possible. It blocks for the
// device; the content is durable after a Sync.
type Cloner interface {
	// Clone makes the content the same as that of from. It copies no bytes: both files share blocks until one of them
	// is written to.
	Clone(from File) error
}

// CachedReader is a File that reports which parts of it are in memory. Its methods do not wait for the device.
type CachedReader interface {
	// Cached reports whether all of the n bytes at off are in memory. It returns false if this is unknown.
	Cached(off, n int64) bool
	// ReadCached reads like ReadAt, but only the bytes in memory. It returns their number, and an error if there are
	// none.
	ReadCached(p []byte, off int64) (int, error)
}

// Backed is a File that has a file of the operating system, for sendfile and mmap.
type Backed interface {
	// OSFile returns that file. Callers must not close it, and must not rely on its offset.
	OSFile() *os.File
}

// Info describes a file.
type Info struct {
	Size     int64 // bytes; for a directory any number
	Modified time.Time
	IsDir    bool
}

// Space describes a filesystem, in bytes. Free is the room for an ordinary user. ID is the same for all paths of one
// filesystem; zero if unknown. Inodes and InodesFree count files; zero if there is no bound.
type Space struct {
	ID          uint64
	Total, Free int64
	ReadOnly    bool

	Inodes, InodesFree int64
}
