package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"
	"syscall"
)

// memoryFile is one open of a file in memory.
type memoryFile struct {
	fs       *Memory
	node     *node
	name     string // with which it was opened, for errors
	epoch    int    // of the FS at the open: a power cut invalidates the handle
	writable bool
	closed   atomic.Bool
}

// alive fails if the handle cannot be used. It and the next two functions are called with fs.mu held.
func (f *memoryFile) alive(op string) error {
	if f.closed.Load() {
		return pathError(op, f.name, fs.ErrClosed)
	}
	if f.epoch != f.fs.epoch {
		return pathError(op, f.name, syscall.EIO)
	}
	return nil
}

// changeable fails if the file cannot be written to.
func (f *memoryFile) changeable(op string) error {
	if err := f.alive(op); err != nil {
		return err
	}
	if !f.writable {
		return pathError(op, f.name, syscall.EBADF)
	}
	return nil
}

// ReadAt implements File.
func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.alive("read"); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", f.name, syscall.EINVAL)
	}
	// As for io.ReaderAt: fewer bytes than requested only with an error.
	if off >= int64(len(f.node.data)) {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements File. Without room it writes nothing.
func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.changeable("write"); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("write", f.name, syscall.EINVAL)
	}
	if end := off + int64(len(p)); end > int64(len(f.node.data)) {
		if err := f.resize(end); err != nil {
			return 0, err
		}
	}
	f.node.modified = f.fs.now()
	return copy(f.node.data[off:], p), nil
}

// Truncate sets the size; added bytes are zeros. It fails with ENOSPC without room.
func (f *memoryFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.changeable("truncate"); err != nil {
		return err
	}
	if size < 0 {
		return pathError("truncate", f.name, syscall.EINVAL)
	}
	f.node.modified = f.fs.now()
	return f.resize(size)
}

// resize sets the size of the content. The caller holds fs.mu. Unlike on a device, holes occupy room.
func (f *memoryFile) resize(size int64) error {
	d := f.node.data
	// In whole blocks, as devices allocate.
	more := room(int(size)) - room(len(d))
	if f.fs.size > 0 && f.fs.used+more > f.fs.size {
		return pathError("write", f.name, syscall.ENOSPC)
	}
	if size > 1<<40 {
		return pathError("write", f.name, syscall.EFBIG)
	}
	f.fs.used += more
	if n := int(size) - len(d); n > 0 {
		d = slices.Grow(d, n)
		clear(d[len(d) : len(d)+n])
	}
	f.node.data = d[:size]
	return nil
}

// Clone copies the content of another file in the same memory. The copy occupies room too.
func (f *memoryFile) Clone(from File) error {
	other, ok := from.(*memoryFile)
	if !ok || other.fs != f.fs {
		return errors.ErrUnsupported
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.changeable("clone"); err != nil {
		return err
	}
	if err := other.alive("clone"); err != nil {
		return err
	}
	if err := f.resize(int64(len(other.node.data))); err != nil {
		return err
	}
	f.node.modified = f.fs.now()
	copy(f.node.data, other.node.data)
	return nil
}

// Size returns the current size, synced or not.
func (f *memoryFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.node.data)), f.alive("size")
}

// Allocated returns the size: holes occupy memory.
func (f *memoryFile) Allocated() (int64, error) { return f.Size() }

// holeUnit is the smallest hole that a file in memory reports.
const holeUnit = 4096

// NextData skips zeros, written or not.
func (f *memoryFile) NextData(off int64) (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.alive("seek"); err != nil {
		return off, err
	}
	data, zeros := f.node.data, make([]byte, holeUnit)
	for off < int64(len(data)) {
		end := min(off-off%holeUnit+holeUnit, int64(len(data)))
		if !bytes.Equal(data[off:end], zeros[:end-off]) {
			break
		}
		off = end
	}
	return off, nil
}

// Sync keeps a copy of the content for a power cut.
func (f *memoryFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.alive("sync"); err != nil {
		return err
	}
	f.node.synced = slices.Clone(f.node.data)
	return nil
}

// Close makes the handle unusable. Content that was not synced stays in memory, as in a page cache.
func (f *memoryFile) Close() error {
	if f.closed.Swap(true) {
		return pathError("close", f.name, fs.ErrClosed)
	}
	return nil
}
