package disk

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"hemera/platform/vfs"
)

// The window of reads kept in flight ahead of a sequential reader. The kernel's own window is 128
// KiB by default, which halves the rate of many devices; see disk/DESIGN.md.
const (
	aheadStart = 1 << 20  // window when a reader was found to be sequential
	aheadMax   = 16 << 20 // the window doubles with every use up to this
	aheadStep  = 512 << 10
	// aheadSlack bounds the distance of a read from the expected offset: clients send several requests at once, and they
	// may be served in any order.
	aheadSlack = 16 << 20
	// aheadAfter is the number of bytes that must have been read in order first.
	aheadAfter = 512 << 10
	// aheadKernel is a window of the kernel's own that is good enough: then asking twice only costs.
	aheadKernel = 4 << 20
)

// kernelAhead returns the kernel's read-ahead, in bytes, for the device that holds the file; 0 if that cannot be found
// out.
func kernelAhead(fsys vfs.FS, name string) int64 {
	f, err := fsys.Open(name, os.O_RDONLY)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	b, ok := f.(vfs.Backed)
	if !ok { // a disk in memory
		return 0
	}
	info, err := b.OSFile().Stat()
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	device := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	// A partition has no queue of its own; its disk is the directory above.
	for _, queue := range []string{"/queue", "/../queue"} { // of a disk, of a partition
		text, err := os.ReadFile(device + queue + "/read_ahead_kb")
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			return n << 10
		}
	}
	return 0
}

// readAhead finds out whether one handle reads in order.
type readAhead struct {
	mu     sync.Mutex
	next   int64 // one past the furthest byte read
	run    int64 // bytes read in order
	window int64 // bytes in flight ahead of next; 0 before it is known that reads are in order
	end    int64 // read-ahead was asked for up to here

	due            atomic.Bool // the kernel is to read ahead:
	dueFrom, dueTo int64
}

// note records a read of n bytes at off, before it is made. It answers from memory.
func (a *readAhead) note(p *piece, off, n int64) {
	if p.hint == nil {
		return
	}
	from, to := a.step(off, n, p.stat.Size)
	if from < to && p.disk.ahead {
		a.due.Store(true)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.dueFrom, a.dueTo = from, to
	}
}

// ask has the kernel read ahead what note found to be due, by wait.
func (a *readAhead) ask(wait Waiter, p *piece) {
	if !a.due.Load() {
		return
	}
	if wait == nil {
		a.askNow(p)
		return
	}
	wait.Wait(func() { a.askNow(p) })
}

// askNow asks the kernel, once for each range that is due. It may wait while the queue of the device is full.
func (a *readAhead) askNow(p *piece) {
	a.mu.Lock()
	from, to := a.dueFrom, a.dueTo
	a.dueFrom, a.dueTo = 0, 0
	a.due.Store(false)
	a.mu.Unlock()
	for ; from < to; from += aheadStep { // the kernel takes no more at a time
		p.hint.ReadAhead(from, min(aheadStep, to-from))
	}
}

// sequential reports whether the handle has been reading in order.
func (a *readAhead) sequential() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run >= aheadAfter
}

// step notes a read and returns the range to read ahead, if any.
func (a *readAhead) step(off, n, size int64) (from, to int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if off > a.next+aheadSlack || off+aheadSlack < a.next { // it continues elsewhere
		a.next, a.run, a.window, a.end = off+n, n, 0, 0
		return 0, 0
	}
	// In order, or nearly so.
	a.run += n
	a.next = max(a.next, off+n)
	if a.run < aheadAfter {
		return 0, 0
	}
	a.window = max(a.window, aheadStart)
	from, to = max(a.end, a.next), min(a.next+a.window, size)
	if to-from < a.window/4 && to < size || from >= to { // not worth a call yet
		return 0, 0
	}
	a.window = min(2*a.window, aheadMax) // it grows with each use: short reads cost little, long ones get all
	a.end = to
	return from, to
}
