package observe

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// block is the size of one request. depth is the number of concurrent requests: about 20 saturated the drive of the
// published sweep.
const (
	block = 1 << 20
	depth = 16
)

// tempFile is a file without a name, for reads.
type tempFile struct {
	*os.File         // without direct I/O unless direct is true
	direct   bool    // its reads and writes go past the page cache
	size     int64   // bytes that are written
	write    float64 // the rate of making it
}

// makeFile makes a file of at most size bytes in a directory, in at most twice the time atMost. It has random bytes,
// which devices cannot compress. Its blocks are durable. It has no name where the file system allows that; otherwise its
// name is removed soon.
func makeFile(ctx context.Context, dir string, size int64, atMost time.Duration) (*tempFile, error) {
	// The file disappears with its last descriptor, however this process ends.
	f, direct, err := openUnnamed(dir)
	if err != nil {
		return nil, err
	}
	t := &tempFile{File: f, direct: direct}
	// Allocated at once, so that the number of extents does not depend on the order of writes.
	_ = unix.Fallocate(int(f.Fd()), 0, 0, size)
	// One block of random bytes for all: no device compares blocks in so short a time.
	data := aligned(block)
	defer free(data)
	_, _ = rand.Read(data) // never fails
	began := time.Now()
	// Few writers: the rate of writes is only a by-product.
	written, err := eachBlock(ctx, size, began.Add(2*atMost), depth/4, func(_ []byte, at int64) error {
		_, err := f.WriteAt(data, at)
		return err
	})
	// Durable before it is read: dirty pages cannot be dropped from the page cache.
	if err == nil {
		err = unix.Fdatasync(int(f.Fd()))
	}
	// Blocks that were not written in time are only allocated; reads of them would not use the disk.
	if err == nil {
		err = f.Truncate(written)
	}
	if err != nil || written == 0 {
		_ = f.Close()
		return nil, errs.Wrap(err, "observe.MakeFile", dir)
	}
	t.size, t.write = written, float64(written)/time.Since(began).Seconds()
	return t, nil
}

// openUnnamed opens a new file without a name, with direct I/O if the file system supports it.
func openUnnamed(dir string) (f *os.File, direct bool, err error) {
	for _, flags := range []int{unix.O_TMPFILE | unix.O_DIRECT, unix.O_TMPFILE} {
		// os.O_RDWR and the rest are the system's own flags on Linux.
		f, err = os.OpenFile(dir, os.O_RDWR|flags, 0o600) // #nosec G304 -- the user names it
		if err == nil {
			return f, flags&unix.O_DIRECT != 0, nil
		}
		// Another way of opening it would not help.
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EROFS) {
			return nil, false, err
		}
	}
	// File systems without O_TMPFILE: tmpfs of old kernels, FUSE, NFS.
	f, err = os.CreateTemp(dir, ".hemera-doctor-")
	if err != nil {
		return nil, false, err
	}
	name := f.Name()
	// Opened again for direct I/O, which some support only for files with names.
	if d, again := os.OpenFile(name, os.O_RDWR|unix.O_DIRECT, 0); again == nil { // #nosec G304 -- made above
		_ = f.Close()
		f, direct = d, true
	}
	return f, direct, os.Remove(name)
}

// reopen opens the file again, for reads through the page cache.
func (t *tempFile) reopen() (*os.File, error) {
	return os.Open(filepath.Join("/proc/self/fd", strconv.Itoa(int(t.Fd())))) // #nosec G304 -- our own file
}

// eachBlock calls f for each block of size bytes in order, concurrently from several goroutines, each with an aligned
// buffer. It also ends at the deadline. It returns the length of the prefix whose blocks are done.
func eachBlock(ctx context.Context, size int64, deadline time.Time, workers int, f func(buffer []byte, at int64) error) (int64, error) {
	// Blocks are assigned in order, so that concurrent requests are neighbours.
	var next atomic.Int64
	var first error
	var once sync.Once
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			buffer := aligned(block)
			defer free(buffer)
			for ctx.Err() == nil && time.Now().Before(deadline) {
				at := next.Add(block) - block
				// An incomplete last block is left out.
				if at+block > size {
					return
				}
				if err := f(buffer, at); err != nil {
					once.Do(func() { first = err })
					return
				}
			}
		})
	}
	group.Wait()
	// The end of ctx is an error, the deadline is not.
	if first == nil {
		first = ctx.Err()
	}
	return min(next.Load(), size/block*block), first
}

// aligned returns memory for direct I/O: whole pages. free returns it.
func aligned(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return make([]byte, n) // direct I/O then fails with an error
	}
	return b
}

// free releases memory of aligned.
func free(b []byte) { _ = unix.Munmap(b) } // fails for memory of make
