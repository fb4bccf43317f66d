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

// Open opens a file; only their owner and group can read new files. It does not use os.OpenFile, which makes five more
// system calls to find that regular files cannot be polled.
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

// Stat describes the file with the name.
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

// Rename calls rename(2), without the check of the target that os.Rename makes before.
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

// Move calls renameat2(2) with RENAME_NOREPLACE, which nearly all filesystems support.
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

// Remove calls unlink(2) or rmdir(2).
func (OS) Remove(name string) error { return os.Remove(name) }

// Mkdir calls mkdir(2).
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

// SyncDir calls fsync(2) on the directory.
func (OS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync() // an error of the close has no meaning
	_ = d.Close()
	return err
}

// Space calls statfs(2).
func (OS) Space(name string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(name, &s); err != nil {
		return Space{}, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	unit := s.Frsize // the unit of blocks; Bsize is the preferred size of reads and writes
	if unit == 0 {
		unit = s.Bsize
	}
	return Space{
		ID:       uint64(uint32(s.Fsid.Val[0]))<<32 | uint64(uint32(s.Fsid.Val[1])),
		Total:    int64(s.Blocks) * unit,
		Free:     int64(s.Bavail) * unit, // without the blocks reserved for root
		ReadOnly: s.Flags&unix.ST_RDONLY != 0,
		Inodes:   int64(s.Files), InodesFree: int64(s.Ffree),
	}, nil
}

// osFile adds the methods that package disk needs to *os.File.
type osFile struct {
	*os.File
	cached atomic.Int32 // how ReadCached reads: one of the constants below
}

// Ways to read a file without waiting for a device.
const (
	// readsCached: the kernel fails a read that would block (RWF_NOWAIT). It is the first attempt with every file.
	readsCached = iota
	// readsMemory: the filesystem is memory (tmpfs, ramfs), which does not support this flag and has no device to wait
	// for.
	readsMemory
	// readsWait: neither is possible, as with most network filesystems: every read may block.
	readsWait
)

// OSFile returns the file for splice, sendfile and mmap.
func (f *osFile) OSFile() *os.File { return f.File }

// Cached calls cachestat(2), which kernels have since 6.5.
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

// ReadCached calls preadv2(2) with RWF_NOWAIT, or ReadAt if the filesystem is memory.
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

// Size calls fstat(2).
func (f *osFile) Size() (int64, error) {
	var s unix.Stat_t
	if err := f.control(func(fd int) error { return unix.Fstat(fd, &s) }); err != nil {
		return 0, &fs.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return s.Size, nil
}

// Sync calls fdatasync(2): content, size and the metadata to find both are durable, but not times.
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

// Preallocate calls fallocate(2) without a change of the size. On filesystems that do not support it, it does nothing. It
// makes later writes faster, and a full disk is noticed before data is sent.
func (f *osFile) Preallocate(n int64) error {
	err := f.control(func(fd int) error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, n) })
	if errors.Is(err, unix.ENOSPC) {
		return &fs.PathError{Op: "fallocate", Path: f.Name(), Err: unix.ENOSPC}
	}
	return nil
}

// StartWriteback calls sync_file_range(2), without waiting.
func (f *osFile) StartWriteback(off, n int64) {
	_ = f.control(func(fd int) error { return unix.SyncFileRange(fd, off, n, unix.SYNC_FILE_RANGE_WRITE) })
}

// ReadAhead calls posix_fadvise(2) with WILLNEED; it blocks while the queue of the device is full.
func (f *osFile) ReadAhead(off, n int64) {
	_ = f.control(func(fd int) error { return unix.Fadvise(fd, off, n, unix.FADV_WILLNEED) })
}

// Forget calls posix_fadvise(2) with DONTNEED: it drops pages that are neither dirty nor mapped.
func (f *osFile) Forget(off, n int64) {
	_ = f.control(func(fd int) error { return unix.Fadvise(fd, off, n, unix.FADV_DONTNEED) })
}

// NextData calls lseek(2) with SEEK_DATA; filesystems without holes report all as data. The file offset, which it moves,
// is not used otherwise.
func (f *osFile) NextData(off int64) (next int64, err error) {
	err = f.control(func(fd int) error {
		next, err = unix.Seek(fd, off, unix.SEEK_DATA)
		return err
	})
	switch {
	case errors.Is(err, unix.ENXIO): // a hole up to the end, or off is beyond it
		size, err := f.Size()
		return max(off, size), err
	case errors.Is(err, unix.EINVAL): // not supported: all is data
		return off, nil
	case err != nil:
		return off, &fs.PathError{Op: "lseek", Path: f.Name(), Err: err}
	}
	return next, nil
}

// Clone calls ioctl(2) with FICLONE, which XFS, btrfs, bcachefs and OCFS2 support, among others.
func (f *osFile) Clone(from File) error {
	return f.with(from, "ficlone", func(to, fd int) error {
		for {
			if err := unix.IoctlFileClone(to, fd); err != unix.EINTR {
				return err
			}
		}
	})
}

// with runs call with the descriptors of both files. If the kernel or the filesystem does not support the call for these
// two, it returns errors.ErrUnsupported.
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

// Allocated returns the blocks in fstat(2), which have 512 bytes on any filesystem.
func (f *osFile) Allocated() (int64, error) {
	var s unix.Stat_t
	if err := f.control(func(fd int) error { return unix.Fstat(fd, &s) }); err != nil {
		return 0, &fs.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return s.Blocks * 512, nil
}

// control runs call with the descriptor, which cannot be closed meanwhile.
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
