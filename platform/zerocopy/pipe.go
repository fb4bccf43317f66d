// Package zerocopy sends pages of mapped files to sockets without a copy through this process.
//
// A [Source] is an open file that can know whether pages are verified and in memory: it can put them into a [Pipe], or,
// as the fallback, return the file for sendfile. The disk's pieces are Sources, and the door uses them; disk/windows.go
// explains why the bytes that are sent are the bytes that were verified.
//
// The safety rests on two facts of Linux. A page in a pipe is held by reference: it can neither leave memory nor be read
// from the device again. And if vmsplice takes a page without a fault, the page was mapped before, so it is the page that
// was verified; [Faultless] counts the thread's faults to know that (getrusage, RUSAGE_THREAD). On a system that does not
// count them, [NewPipe] fails and callers copy.
package zerocopy

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// PipeBytes is the capacity of one Pipe. All pipes of a user who is not root may have 64 MiB together, unless the
// system's fs.pipe-user-pages-soft has another value.
const PipeBytes = 1 << 20

// SizeMin is the shortest range, in bytes, for which splice or sendfile is faster than a copy (measured).
const SizeMin = 16 << 10

// Source is an open file or piece that can know whether pages are verified and in memory. Offsets and lengths are bytes
// of the file. Methods are safe for concurrent use and do not wait for the device.
type Source interface {
	// Splice puts pages at off, at most n bytes, into the empty pipe, and returns the number of bytes. The pages were
	// verified and have been in memory since. If it returns 0, the range must be sent in another way.
	Splice(pipe *Pipe, off, n int64) int64
	// Verified is the fallback without a pipe. It returns the file that has the range at the same offset, for sendfile;
	// ok is false unless every page was verified a moment ago and is still in memory.
	Verified(off, n int64) (f *os.File, ok bool)
}

// Pipe carries pages of mapped files to a socket without a copy. It holds references to its pages: they can neither leave
// memory nor be replaced by another read from the device. A Pipe is not safe for concurrent use.
type Pipe struct {
	in, out int
	held    int // bytes in the pipe
}

// NewPipe makes an empty Pipe. It fails if this user, or this process, has its maximum, and if the system does not report
// the faults that Put must know.
func NewPipe() (*Pipe, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	p := &Pipe{out: ends[0], in: ends[1]}
	if _, err := unix.FcntlInt(uintptr(p.in), unix.F_SETPIPE_SZ, PipeBytes); err != nil {
		p.Close()
		return nil, os.NewSyscallError("fcntl(F_SETPIPE_SZ)", err)
	}
	if !p.tells() {
		p.Close()
		return nil, os.NewSyscallError("vmsplice", unix.ENOSYS)
	}
	return p, nil
}

// tells tests the pipe with a page that is not mapped and with one that is: emulators may report wrong counts.
func (p *Pipe) tells() bool {
	size := os.Getpagesize()
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(b) }()
	defer p.Drop()
	if _, steady := p.Put(b); steady {
		return false
	}
	for range 10 { // the thread may have had another fault
		p.Drop()
		if n, steady := p.Put(b); steady {
			return n == size
		}
	}
	return false
}

// Close releases the descriptors and the pages.
func (p *Pipe) Close() {
	_ = unix.Close(p.in)
	_ = unix.Close(p.out)
	p.held = 0
}

// Len returns the number of bytes in the pipe.
func (p *Pipe) Len() int { return p.held }

// Put puts the pages of b, a part of a mapped file, into the pipe, as many as fit, and returns the number of bytes.
// steady reports that each of these pages was mapped before this call. If it is false, the pipe may have other bytes than
// those that the caller has seen in b.
func (p *Pipe) Put(b []byte) (n int, steady bool) {
	if len(b) == 0 {
		return 0, true
	}
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	steady = Faultless(func() {
		var err error
		if n, err = unix.Vmsplice(p.in, []unix.Iovec{v}, unix.SPLICE_F_NONBLOCK); err != nil {
			n = 0
		}
	})
	p.held += n
	return n, steady
}

// Faultless reports whether no page of this process's memory had to be mapped while do ran: then everything that do found
// in a mapping had been there before. It may report false because of an unrelated page.
func Faultless(do func()) bool {
	// The kernel counts faults for each thread, including those of system calls.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, ok := threadFaults()
	do()
	after, still := threadFaults()
	return ok && still && before == after
}

func threadFaults() (n int64, ok bool) {
	var u unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_THREAD, &u)
	return u.Minflt + u.Majflt, err == nil
}

// Send moves the content of the pipe to the socket, as much as that accepts now; EAGAIN if nothing.
func (p *Pipe) Send(socket int) error {
	n, err := unix.Splice(p.out, nil, socket, nil, p.held, unix.SPLICE_F_NONBLOCK)
	if err == nil {
		p.held -= int(n)
	}
	return err
}

// Drop empties the pipe.
func (p *Pipe) Drop() {
	var buf [16 << 10]byte
	for p.held > 0 {
		n, err := unix.Read(p.out, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		p.held -= n
	}
}
