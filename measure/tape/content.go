package tape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hemera/client/xrootd"
	"hemera/words/errs"
)

const (
	// pageSize is the length of a run of one byte. Cartridges keep such a page as one byte; see package emulated.
	pageSize = 4096
	// chunkSize is the size of a write.
	chunkSize = 1 << 20
	// writers is the number of files that are written at once.
	writers = 4
	// requestSize is the size of the single stream's requests: the kernel's default read-ahead.
	requestSize = 128 << 10
)

// fill makes the content of a file from an offset, which is a multiple of a page.
func fill(p []byte, seed, offset int64) {
	for page := offset / pageSize; len(p) > 0; page++ {
		part := p[:min(pageSize, len(p))]
		// Pages differ from their neighbours, and those of one file from those of another. 251 is prime, so powers of two
		// do not repeat them.
		part[0] = byte((page*7+seed*31)%251 + 1)
		for n := 1; n < len(part); n *= 2 {
			copy(part[n:], part[:n])
		}
		p = p[len(part):]
	}
}

// file is a file that is archived and recalled.
type file struct {
	path string
	seed int64
	size int64
}

// write creates all files at the server, some at once. It stops at the first error.
func write(ctx context.Context, c *xrootd.Client, server string, files []file) error {
	// Several at once, so that they are spread over the disks, like the files of users.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan file)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			buf := make([]byte, chunkSize)
			for f := range next {
				if err := writeOne(ctx, c, server, f, buf); err != nil {
					cancel(err)
				}
			}
		})
	}
	// In their order, because the queue is sorted by time.
	for _, f := range files {
		if ctx.Err() != nil {
			break
		}
		next <- f
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}

// writeOne creates a file. It is visible, and queued for tape, when writeOne returns.
func writeOne(ctx context.Context, c *xrootd.Client, server string, f file, buf []byte) error {
	u, err := xrootd.ParseURL("root://" + server + "/" + f.path)
	if err != nil {
		return err
	}
	// The server knows the size and places the file where there is room.
	out, err := c.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644, Size: f.size})
	if err != nil {
		return err
	}
	// In the background, with a window of requests in flight.
	w := out.NewWriter(ctx, 0)
	for offset := int64(0); offset < f.size; {
		part := buf[:min(int64(len(buf)), f.size-offset)]
		fill(part, f.seed, offset)
		if _, err := w.Write(part); err != nil {
			out.Release()
			return err
		}
		offset += int64(len(part))
	}
	// A close after a failure would make a part of the file visible.
	if err := w.Flush(); err != nil {
		out.Release()
		return err
	}
	return out.Close(ctx)
}

// chill writes everything below directories to disk and drops it from the page cache, so that it is read from the disk.
func chill(dirs []string) error {
	// Dirty pages would stay in the cache.
	unix.Sync()
	return each(dirs, func(path string, _ fs.FileInfo) error {
		f, err := os.Open(path) // #nosec G304 G122 -- in a directory of the run
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) // advice
		return f.Close()
	})
}

// held returns the number of bytes of all files below directories.
func held(dirs []string) (bytes int64, err error) {
	// Sizes and not blocks, because blocks may not be allocated yet.
	err = each(dirs, func(_ string, info fs.FileInfo) error {
		bytes += info.Size()
		return nil
	})
	return bytes, err
}

// each visits the files below directories. The cluster makes and removes some meanwhile.
func each(dirs []string, visit func(path string, info fs.FileInfo) error) error {
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // it is gone
			}
			info, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // it is gone
			}
			return visit(path, info)
		})
		if err != nil {
			return errs.Wrap(err, "tape.Disks", dir)
		}
	}
	return nil
}

// occupy fills the page cache with a file of holes in a directory, which takes no room on its disk, until ctx ends.
// Servers that have run for a while have no free memory. A virtual machine returns free memory, and memory that was not
// used for some seconds, to its host, and using it again costs more than all copies of the measured data. The file must
// stay, because its removal would free the memory.
func occupy(ctx context.Context, dir string) error {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return errs.Wrap(err, "tape.Occupy", dir)
	}
	path := filepath.Join(dir, "holes")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- in a directory of the run
	if err != nil {
		return errs.Wrap(err, "tape.Occupy", path)
	}
	// As large as the memory, so that none is left free and unneeded pages make room for others, as at a server. With a
	// smaller file a second pass would find each page, and the kernel would count it as used.
	size := int64(info.Totalram) * int64(info.Unit) // #nosec G115 -- memory has fewer bytes
	err = f.Truncate(size)
	buf := make([]byte, chunkSize)
	for at := int64(0); at < size && err == nil && ctx.Err() == nil; at += chunkSize {
		if _, err = f.ReadAt(buf, at); err == io.EOF {
			err = nil // the last one is shorter
		}
	}
	return errs.Wrap(errors.Join(err, f.Close()), "tape.Occupy", path)
}

// stream writes a file of size bytes and reads it with one buffered stream. It returns the rate in B/s.
func stream(ctx context.Context, dir string, size int64) (rate float64, err error) {
	path := filepath.Join(dir, "stream")
	f, err := os.Create(path) // #nosec G304 -- in a directory of the run
	if err != nil {
		return 0, errs.Wrap(err, "tape.Stream", dir)
	}
	// It must not affect the files that follow.
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	buf := make([]byte, chunkSize)
	for offset := int64(0); offset < size && ctx.Err() == nil; offset += int64(len(buf)) {
		fill(buf, 1, offset)
		if _, err := f.Write(buf); err != nil {
			return 0, errs.Wrap(err, "tape.Stream", path)
		}
	}
	if err := errors.Join(ctx.Err(), f.Sync()); err != nil {
		return 0, errs.Wrap(err, "tape.Stream", path)
	}
	if err := chill([]string{dir}); err != nil {
		return 0, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, errs.Wrap(err, "tape.Stream", path)
	}
	// One request after the other; only the kernel reads ahead.
	begun, bytes := time.Now(), int64(0)
	for ctx.Err() == nil {
		n, err := f.Read(buf[:requestSize])
		bytes += int64(n)
		if errors.Is(err, io.EOF) {
			return float64(bytes) / time.Since(begun).Seconds(), nil
		}
		if err != nil {
			return 0, errs.Wrap(err, "tape.Stream", path)
		}
	}
	return 0, errs.Wrap(ctx.Err(), "tape.Stream", path)
}

// batch names the files of one drive in one condition.
func batch(dir string, count int, size, seed int64) (files []file) {
	// Consecutive seeds differ in every page.
	for i := range count {
		files = append(files, file{path: fmt.Sprintf("%s/f%d", dir, i), seed: seed + int64(i), size: size})
	}
	return files
}
