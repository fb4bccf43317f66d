package vfs

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// OS is the FS of the operating system.
type OS struct{}

// Open opens a file; new files are readable by their owner and group alone. It does not go through
// os.OpenFile, which takes five more system calls to find that regular files cannot be polled.
func (OS) Open(name string, flag int) (File, error) {
	for {
		fd, err := unix.Open(name, flag|unix.O_CLOEXEC, 0o640)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &osFile{File: os.NewFile(uintptr(fd), name)}, nil
	}
}

// Stat describes what name leads to.
func (OS) Stat(name string) (Info, error) {
	var s unix.Stat_t
	for {
		err := unix.Stat(name, &s)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return Info{}, &fs.PathError{Op: "stat", Path: name, Err: err}
		}
		return Info{Size: s.Size, Modified: time.Unix(s.Mtim.Unix()), IsDir: s.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
	}
}

// Rename is rename(2), without the look at the target that os.Rename takes before.
func (OS) Rename(from, to string) error {
	for {
		err := unix.Rename(from, to)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
		return nil
	}
}

// Move is renameat2(2) with RENAME_NOREPLACE, which all but a few filesystems can do.
func (OS) Move(from, to string) error {
	for {
		err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
		switch err {
		case nil:
			return nil
		case unix.EINTR:
		case unix.EINVAL, unix.ENOSYS:
			return moveByLooking(from, to, func() error { _, err := os.Lstat(to); return err }, os.Rename)
		default:
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
	}
}

// Remove is unlink(2) or rmdir(2).
func (OS) Remove(name string) error { return os.Remove(name) }

// Mkdir is mkdir(2).
func (OS) Mkdir(name string) error { return os.Mkdir(name, 0o750) }

// ReadDir lists the sorted names of a directory.
func (OS) ReadDir(name string) ([]string, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// SyncDir is fsync(2) of the directory.
func (OS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync() // the close after it has nothing left to say
	_ = d.Close()
	return err
}

// Space is statfs(2).
func (OS) Space(name string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(name, &s); err != nil {
		return Space{}, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	unit := s.Frsize // what blocks are counted in; Bsize is what reads and writes should have
	if unit == 0 {
		unit = s.Bsize
	}
	return Space{
		ID:       uint64(uint32(s.Fsid.Val[0]))<<32 | uint64(uint32(s.Fsid.Val[1])),
		Total:    int64(s.Blocks) * unit,
		Free:     int64(s.Bavail) * unit, // without what is reserved for root
		ReadOnly: s.Flags&unix.ST_RDONLY != 0,
		Inodes:   int64(s.Files), InodesFree: int64(s.Ffree),
	}, nil
}

// osFile adds to *os.File what package disk asks for.
type osFile struct {
	*os.File
	cached atomic.Int32 // how ReadCached reads: readsCached and those after it
}

// How a file is read without waiting for a device.
const (
	// readsCached: the kernel fails a read that would wait (RWF_NOWAIT). It is the first attempt with every file.
	readsCached = iota
	// readsMemory: the filesystem is memory (tmpfs, ramfs), which knows no such flag and has no device to wait for.
	readsMemory
	// readsWait: neither holds, as with most network filesystems: every read may wait.
	readsWait
)

// OSFile is the file that splice, sendfile and mmap take.
func (f *osFile) OSFile() *os.File { return f.File }

// Cached is cachestat(2), which kernels have since 6.5.
func (f *osFile) Cached(off, n int64) bool {
	if n <= 0 {
		return false
	}
	size := int64(os.Getpagesize())
	var have unix.Cachestat_t
	all := unix.CachestatRange{Off: uint64(off), Len: uint64(n)}
	err := unix.Cachestat(uint(f.Fd()), &all, &have, 0)
	return err == nil && int64(have.Cache) >= (off+n-1)/size-off/size+1
}

// ReadCached is preadv2(2) with RWF_NOWAIT, and ReadAt where the filesystem is memory.
func (f *osFile) ReadCached(p []byte, off int64) (int, error) {
	switch f.cached.Load() {
	case readsCached:
	case readsMemory:
		return f.ReadAt(p, off)
	case readsWait:
		return 0, unix.EOPNOTSUPP
	}
	n, err := unix.Preadv2(int(f.Fd()), [][]byte{p}, off, unix.RWF_NOWAIT)
	if err != unix.EOPNOTSUPP {
		return n, err
	}
	var s unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &s) == nil && (s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC) {
		f.cached.Store(readsMemory)
		return f.ReadAt(p, off)
	}
	f.cached.Store(readsWait)
	return 0, err
}

// Size is fstat(2).
func (f *osFile) Size() (int64, error) {
	var s unix.Stat_t
	if err := f.control(func(fd int) error { return unix.Fstat(fd, &s) }); err != nil {
		return 0, &fs.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return s.Size, nil
}

// Sync is fdatasync(2): content, size and what is needed to find both, but not times.
func (f *osFile) Sync() error {
	err := f.control(func(fd int) error {
		for {
			if err := unix.Fdatasync(fd); err != unix.EINTR {
				return err
			}
		}
	})
	if err != nil {
		return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	return nil
}

// Preallocate is fallocate(2) that keeps the size; filesystems that cannot do it do nothing.
// It spares later writes the search for room, and a full disk shows before data is sent.
func (f *osFile) Preallocate(n int64) error {
	err := f.control(func(fd int) error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, n) })
	if errors.Is(err, unix.ENOSPC) {
		return &fs.PathError{Op: "fallocate", Path: f.Name(), Err: unix.ENOSPC}
	}
	return nil
}

// StartWriteback is sync_file_range(2), without waiting.
func (f *osFile) StartWriteback(off, n int64) {
	_ = f.control(func(fd int) error { return unix.SyncFileRange(fd, off, n, unix.SYNC_FILE_RANGE_WRITE) })
}

// ReadAhead is posix_fadvise(2) with WILLNEED; it waits while the queue of the device is full.
func (f *osFile) ReadAhead(off, n int64) {
	_ = f.control(func(fd int) error { return unix.Fadvise(fd, off, n, unix.FADV_WILLNEED) })
}

// Forget is posix_fadvise(2) with DONTNEED: it drops pages that are neither dirty nor mapped.
func (f *osFile) Forget(off, n int64) {
	_ = f.control(func(fd int) error { return unix.Fadvise(fd, off, n, unix.FADV_DONTNEED) })
}

// NextData is lseek(2) with SEEK_DATA; filesystems that know no holes say that all is data. The offset that it
// moves is used by nobody.
func (f *osFile) NextData(off int64) (next int64, err error) {
	err = f.control(func(fd int) error {
		next, err = unix.Seek(fd, off, unix.SEEK_DATA)
		return err
	})
	switch {
	case errors.Is(err, unix.ENXIO): // a hole to the end, or beyond it
		size, err := f.Size()
		return max(off, size), err
	case errors.Is(err, unix.EINVAL): // not known there: all is data
		return off, nil
	case err != nil:
		return off, &fs.PathError{Op: "lseek", Path: f.Name(), Err: err}
	}
	return next, nil
}

// Clone is ioctl(2) with FICLONE, which XFS, btrfs, bcachefs and OCFS2 can do, among others.
func (f *osFile) Clone(from File) error {
	return f.with(from, "ficlone", func(to, fd int) error {
		for {
			if err := unix.IoctlFileClone(to, fd); err != unix.EINTR {
				return err
			}
		}
	})
}

// with calls with the descriptors of both files. Failures that say that the kernel or the filesystem cannot do the call with
// these two become errors.ErrUnsupported.
func (f *osFile) with(from File, op string, call func(to, from int) error) error {
	other, ok := from.(*osFile)
	if !ok {
		return errors.ErrUnsupported
	}
	err := f.control(func(to int) error {
		return other.control(func(fd int) error { return call(to, fd) })
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, unix.ENOTTY), errors.Is(err, unix.EXDEV), errors.Is(err, unix.EINVAL),
		errors.Is(err, unix.EPERM), errors.Is(err, unix.ETXTBSY):
		return errors.ErrUnsupported
	}
	return &fs.PathError{Op: op, Path: f.Name(), Err: err}
}

// Allocated is what fstat(2) says of blocks, which have 512 bytes whatever the filesystem's have.
func (f *osFile) Allocated() (int64, error) {
	var s unix.Stat_t
	if err := f.control(func(fd int) error { return unix.Fstat(fd, &s) }); err != nil {
		return 0, &fs.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return s.Blocks * 512, nil
}

// control calls with the descriptor while it cannot be closed.
func (f *osFile) control(call func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = call(int(fd)) }); err != nil {
		return err
	}
	return inner
}
