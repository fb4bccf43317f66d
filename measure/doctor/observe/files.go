package observe

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hemera/measure/doctor"
)

// streams is the number of concurrent programs for the level of many streams. single is the size of their reads: small
// enough that the kernel's read-ahead decides about the requests in flight, as in most programs. The kernel does not
// split larger reads than its own limit of a request.
const (
	streams = 4
	single  = 64 << 10
	least   = 8 << 20 // bytes of a pass
	// Rates that look like a fault are measured again, so that other work is not taken for a fault.
	suspect = 0.8
	repeats = 2
	// window is the number of bytes requested in advance, for comparison with the kernel's own read-ahead.
	window = 16 << 20
)

// files measures each file system and the device below it.
func (v *observer) files(ctx context.Context) {
	const measurements = 12 // at most: suspicious ones are repeated
	// With many disks each gets less time, so that the total stays below two minutes.
	each := v.For
	if n := len(v.s.Filesystems); n > 0 {
		each = min(each, budget/time.Duration(n*measurements))
	}
	for i := range v.s.Filesystems {
		f := &v.s.Filesystems[i]
		v.step("file system %s", f.Path)
		if ctx.Err() == nil {
			v.file(ctx, f, each)
		}
	}
}

// file measures one file system, with the time each for each measurement.
func (v *observer) file(ctx context.Context, f *doctor.Filesystem, each time.Duration) {
	// A tenth of the free space: a measurement must not fill a disk.
	size := min(v.Size, f.Free/10) / block * block
	if f.Total == 0 { // some that are not disks do not report it
		size = v.Size
	}
	if size < 16*block {
		// Too little space to measure; an empty file shows whether a file can be made.
		f.MakeFailed = tryFile(f.Path)
		v.unseen("rates of "+f.Path, "there is no room for a temporary file", "make room, or name another directory with --dir")
		return
	}
	// The first directory that takes a file counts; the error of the last is reported.
	var t *tempFile
	var err error
	for _, dir := range places(f.Path) {
		// Users may write to few places.
		if t, err = makeFile(ctx, dir, size, each); err == nil {
			break
		}
	}
	if err != nil {
		v.failed(f, err)
		return
	}
	defer func() { _ = t.Close() }()
	// The order matters: reads past the page cache precede those that fill it.
	r := reader{ctx: ctx, t: t, each: each}
	f.Test = &doctor.FileTest{
		Bytes: t.size, Depth: depth, Streams: streams, Write: t.write, Buffered: !t.direct,
		Direct: r.deep(t.File),
	}
	f.Test.Stream, f.Test.Ahead = r.alone()
	f.Test.Many, f.Test.Cached = r.inOrder(streams), r.cached()
	// The extents show how fragmented the free space is, and where to read the device.
	parts, ok := extents(t.File, t.size)
	if ok {
		f.Test.Extents = len(parts)
	}
	for i := range v.s.Disks {
		// Of two file systems on a disk the first one measures the device.
		if d := &v.s.Disks[i]; d.Name == f.Disk && d.Direct == 0 {
			v.device(&r, d, f, parts)
		}
	}
	if r.err != nil {
		// The values of a failing device are useless.
		f.Test = nil
		v.unseen("rates of "+f.Path, r.err.Error(), "dmesg may have the cause")
	}
}

// failed records that a temporary file could not be made.
func (v *observer) failed(f *doctor.Filesystem, err error) {
	f.MakeFailed = reason(err)
	v.unseen("rates of "+f.Path, "no temporary file could be made: "+f.MakeFailed, "run it as root, or name a directory that you may write to with --dir")
}

// reason returns the system's error text without the path.
func reason(err error) string {
	var number unix.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Error()
}

// tryFile makes and removes an empty file. It returns the reason of a failure, or "".
func tryFile(dir string) string {
	f, err := os.CreateTemp(dir, ".hemera-doctor-")
	if err != nil {
		return reason(err)
	}
	_, _ = f.Close(), os.Remove(f.Name()) // the owner would see an empty file that remains
	return ""
}

// places returns the directories of a file system to try, for users who may not write everywhere.
func places(at string) []string {
	list := []string{at}
	var here, there unix.Stat_t
	// The same device number: others would be of another disk.
	if unix.Stat(at, &here) != nil {
		return list
	}
	for _, dir := range []string{"/var/tmp", "/tmp", os.Getenv("HOME")} {
		if dir != "" && unix.Stat(dir, &there) == nil && there.Dev == here.Dev {
			list = append(list, dir)
		}
	}
	return list
}

// reader measures reads of one file.
type reader struct {
	ctx  context.Context
	t    *tempFile
	each time.Duration
	// amount is the number of bytes that several concurrent reads get in the time of a measurement: the size of a pass of
	// sequential readers.
	amount int64
	// window is the number of bytes that a sequential reader requests in advance; 0 leaves that to the kernel.
	window int64
	err    error // the first error other than the end of ctx
}

// best repeats a pass for the time of a measurement, and returns the best rate. A pass returns the number of bytes read
// until the deadline.
func (r *reader) best(pass func(deadline time.Time) (int64, error)) (rate float64) {
	began := time.Now()
	for time.Since(began) < r.each && r.err == nil && r.ctx.Err() == nil {
		// A pass that reaches its deadline counts with the bytes that it read.
		start := time.Now()
		n, err := pass(start.Add(r.each))
		if err != nil && r.ctx.Err() == nil {
			r.err = err
			return 0
		}
		rate = max(rate, float64(n)/time.Since(start).Seconds())
	}
	return rate
}

// deep reads a file with many concurrent requests.
func (r *reader) deep(f *os.File) float64 {
	rate := r.best(func(deadline time.Time) (int64, error) {
		// Without direct I/O the page cache must be emptied.
		if !r.t.direct {
			r.drop()
		}
		return eachBlock(r.ctx, r.t.size, deadline, depth, func(b []byte, at int64) error {
			_, err := f.ReadAt(b, at)
			return err
		})
	})
	r.amount = int64(rate * r.each.Seconds())
	return rate
}

// drop removes the file from the page cache. Its pages are clean, so all are removed.
func (r *reader) drop() { _ = unix.Fadvise(int(r.t.Fd()), 0, 0, unix.FADV_DONTNEED) }

// inOrder reads the file through an empty page cache, like count independent programs, each in a part of its own.
func (r *reader) inOrder(count int) float64 {
	return r.best(func(deadline time.Time) (int64, error) {
		r.drop()
		return r.parts(count, deadline)
	})
}

// alone measures one reader with the kernel's read-ahead, and with more, in turn, so that other work of the machine
// affects both.
func (r *reader) alone() (plain, ahead float64) {
	for range 1 + repeats {
		// Both begin with an empty page cache.
		r.window = 0
		plain = max(plain, r.inOrder(1))
		r.window = window
		ahead = max(ahead, r.inOrder(1))
		if plain >= suspect*ahead {
			break
		}
	}
	r.window = 0
	return plain, ahead
}

// cached reads the file again from the page cache.
func (r *reader) cached() float64 {
	// The first pass fills the cache, and does not count.
	if _, err := r.parts(1, time.Now().Add(2*r.each)); err != nil {
		return 0
	}
	return r.best(func(deadline time.Time) (int64, error) { return r.parts(1, deadline) })
}

// parts reads the end of the file in equal concurrent parts, each sequentially, and returns the number of bytes. A pass
// is bounded by bytes: at a deadline, much of the data read from a slow disk would be unused read-ahead. The file ends
// with the last part, so no read-ahead is wasted.
func (r *reader) parts(count int, deadline time.Time) (sum int64, err error) {
	var group sync.WaitGroup
	var mu sync.Mutex // guards sum and err
	// A rest of less than count bytes is not read.
	all := min(r.t.size, max(r.amount, least))
	part := all / int64(count)
	for i := range count {
		group.Go(func() {
			n, cause := r.part(r.t.size-all+int64(i)*part, part, deadline)
			mu.Lock()
			defer mu.Unlock()
			sum += n
			if cause != nil {
				err = cause
			}
		})
	}
	group.Wait()
	return sum, err
}

// part reads one part in order.
func (r *reader) part(at, size int64, deadline time.Time) (n int64, err error) {
	// A separate descriptor has its own read-ahead, like another program.
	f, err := r.t.reopen()
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	buffer := make([]byte, single)
	asked := int64(0) // bytes that were requested, from the begin of the part
	for n < size && r.ctx.Err() == nil {
		if time.Since(deadline) > 3*r.each { // far slower than several at once, and enough was read to show that
			break
		}
		for ; asked < min(size, n+r.window); asked += block { // the kernel cuts longer requests
			_ = unix.Fadvise(int(f.Fd()), at+asked, min(block, size-asked), unix.FADV_WILLNEED)
		}
		m, err := f.Read(buffer[:min(single, size-n)])
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// device measures direct reads of a file system's device: of the blocks of the file, if the file system reports them.
func (v *observer) device(r *reader, d *doctor.Disk, f *doctor.Filesystem, parts []extent) {
	// Read-only, so that a mistake here cannot harm the disk.
	dev, err := os.OpenFile(filepath.Clean(f.Source), os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		remedy := "run it as root"
		if os.Geteuid() == 0 { // like in containers
			remedy = "this environment hides devices, also from root"
		}
		v.unseen("rate of the device "+d.Name, "it could not be opened: "+reason(err), remedy)
		return
	}
	defer func() { _ = dev.Close() }()
	// The same blocks as the file: disks are faster at their beginning than at their end.
	places := chunks(parts, r.t.size)
	// With the same depth as reads of the file, so that the two can be compared.
	read := func() float64 {
		return r.best(func(deadline time.Time) (int64, error) {
			return eachBlock(r.ctx, int64(len(places))*block, deadline, depth, func(b []byte, at int64) error {
				_, err := dev.ReadAt(b, places[at/block])
				return err
			})
		})
	}
	d.Direct = read()
	// A difference is measured again, in turn: other work may have disturbed it.
	for range repeats {
		// Equal enough.
		if f.Test.Direct >= suspect*d.Direct {
			break
		}
		f.Test.Direct, d.Direct = max(f.Test.Direct, r.deep(r.t.File)), max(d.Direct, read())
	}
}
