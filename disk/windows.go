package disk

import (
	"container/list"
	"os"
	"runtime/debug"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hemera/platform/vfs"
	"hemera/platform/zerocopy"
	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// Verified reads without a copy. A window is windowSize of a piece, mapped; its pages were compared
// with their CRCs in the page cache, from where they are sent. What makes this safe:
//
//   - A page that leaves the page cache is unmapped first, and stays unmapped until the process
//     touches that window again, which it does only to verify all of it in a new mapping. So a page
//     that is still mapped (the kernel says so in /proc/self/pagemap) is the very page that was
//     verified. Residency alone (mincore) would not say this: the page could have gone and come
//     back with other bytes.
//   - Every window is a mapping of its own that overlaps the next by one memory page, which is never
//     touched: mappings with overlapping offsets are never merged, so that the kernel, which maps
//     neighbours of a touched page, cannot map pages of another window.
//   - Sealed pieces do not change; RepairPages only writes content that matches the CRCs.
//   - A device error while a mapping is read raises SIGBUS; debug.SetPanicOnFault makes it a panic
//     of the one goroutine, which is caught, and the range is left to ReadPages, which gets EIO.
//
// Mapped pages are put into a pipe (splice), which keeps them from leaving; putting one there that was not
// mapped any more costs a fault, and then the pipe is emptied and the window verified again. Where there is no
// pipe to be had, sendfile takes them from the page cache after a look at pagemap (verified). What remains
// then is the time between the two: a page just seen mapped would have to be reclaimed and read again,
// wrongly, in these microseconds.
const (
	// windowSize is the size that one entry of a directory of page tables maps: with large folios in the page cache a
	// window needs no page table.
	windowSize  = 2 << 20
	windowPages = windowSize / hemera.PageSize
	// windowWorth is the number of bytes that must be asked of a window before all of it is verified: a few small reads
	// are cheaper by ReadPages.
	windowWorth = windowSize / 4
	// markEvery is the interval at which the disk tells the kernel that pages are in use.
	markEvery = 10 * time.Second
)

// windowCache bounds the windows of one disk; those not used for longest go first.
type windowCache struct {
	max     int      // windows that may be mapped; guarded by mu once the disk is open
	pagemap *os.File // nil: no windows

	mu   sync.Mutex
	used list.List // of *window, the longest unused first
}

// window is one mapped and verified window, or one to be.
type window struct {
	index int64

	mu       sync.Mutex
	data     []byte        // nil: not mapped
	bits     []byte        // pagemap's answer
	marked   time.Time     // when the kernel last heard that the pages are in use
	checking chan struct{} // a goroutine maps and verifies the window, without mu; closed when it ends
	stale    bool          // drop came meanwhile: what is being verified must not be kept
	elem     *list.Element // guarded by windowCache.mu
}

// pieceWindows are the windows of one piece.
type pieceWindows struct {
	piece *piece
	file  *os.File // nil: not a file of the operating system

	mu      sync.Mutex
	windows map[int64]*window // nil until the first is asked for, as asked
	asked   []uint32          // bytes asked of windows that are not mapped, by index modulo
}

// askedSlots bounds what is remembered of windows that are not mapped.
const askedSlots = 256

// init opens pagemap, unless there are to be no windows.
func (c *windowCache) init(bytes int64) {
	if c.max = int(bytes / windowSize); c.max <= 0 {
		return
	}
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return
	}
	if !pagemapWorks(f) {
		_ = f.Close()
		return
	}
	c.pagemap = f
}

// pagemapWorks tries pagemap on a page that is mapped and one that is not: emulators may lie.
func pagemapWorks(f *os.File) bool {
	size := os.Getpagesize()
	b, err := unix.Mmap(-1, 0, 2*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(b) }()
	b[0] = 1
	bits := make([]byte, 16)
	return mapped(f, b[:size], bits) && !mapped(f, b[size:], bits)
}

// mapped reports whether every memory page of b is mapped now. bits has room for eight bytes a page.
func mapped(pagemap *os.File, b, bits []byte) bool {
	size := uintptr(os.Getpagesize())
	first := uintptr(unsafe.Pointer(&b[0])) / size
	last := (uintptr(unsafe.Pointer(&b[0])) + uintptr(len(b)) - 1) / size
	bits = bits[:8*(last-first+1)]
	// Eight bytes for each page; see pagemap in the kernel's documentation.
	if n, err := unix.Pread(int(pagemap.Fd()), bits, int64(8*first)); n != len(bits) || err != nil {
		return false
	}
	for i := 7; i < len(bits); i += 8 {
		if bits[i]&0x80 == 0 { // bit 63: present
			return false
		}
	}
	return true
}

// init leaves the piece without windows if its file is not one of the operating system, or nothing tells what is mapped.
func (w *pieceWindows) init(p *piece) {
	w.piece = p
	if b, ok := p.file.(vfs.Backed); ok && p.disk.windows.pagemap != nil {
		w.file = b.OSFile()
	}
}

// verified reports whether the range may be sent from the file; eager says that the rest of its
// windows will be wanted too. Windows are verified by wait.
func (w *pieceWindows) verified(wait Waiter, off, n int64, eager bool) (*os.File, bool) {
	if w.file == nil || n < zerocopy.SizeMin {
		return nil, false
	}
	// All of the range must be good: sendfile takes it without another look.
	for at := off; at < off+n; {
		index := at / windowSize
		end := min((index+1)*windowSize, off+n)
		v := w.window(index, end-at, eager)
		if v == nil || !w.check(v, at, end) && (!w.prepare(wait, v) || !w.check(v, at, end)) {
			return nil, false
		}
		at = end
	}
	return w.file, true
}

// check reports whether the window is verified, and [from, to) of it still mapped.
func (w *pieceWindows) check(v *window, from, to int64) bool {
	c := &w.piece.disk.windows
	v.mu.Lock()
	defer v.mu.Unlock()
	if !w.ready(v) {
		return false
	}
	start := v.index * windowSize
	if v.bits == nil {
		v.bits = make([]byte, 8*(windowSize/os.Getpagesize()+1))
	}
	if !mapped(c.pagemap, v.data[from-start:to-start], v.bits) {
		c.unmap(v)
		return false
	}
	return true
}

// ready reports whether a window is mapped, was verified since, and needs no mark. It answers from memory. It is
// called with v.mu held.
func (w *pieceWindows) ready(v *window) bool {
	if v.data == nil || v.checking != nil || time.Since(v.marked) > markEvery {
		return false
	}
	w.piece.disk.windows.touch(v)
	return true
}

// prepare makes a window ready, as far as that is possible, by wait. It reports whether a look at it is of use.
func (w *pieceWindows) prepare(wait Waiter, v *window) bool {
	if wait == nil {
		w.makeReady(v)
		return true
	}
	return wait.Wait(func() { w.makeReady(v) })
}

// makeReady maps and verifies a window, or marks one that is mapped. It may wait for the device, and holds no lock
// meanwhile. If another goroutine is at it, it waits for that.
func (w *pieceWindows) makeReady(v *window) {
	v.mu.Lock()
	if other := v.checking; other != nil {
		v.mu.Unlock()
		<-other
		return
	}
	if w.ready(v) {
		v.mu.Unlock()
		return
	}
	v.checking, v.stale = make(chan struct{}), false
	data := v.data
	v.mu.Unlock()

	if data != nil && !mark(data[:w.length(v)]) {
		data = nil // a page was gone: v.data must be verified again, in a new mapping
	}
	fresh := data == nil
	if fresh {
		data = w.verify(v)
	}

	c := &w.piece.disk.windows
	v.mu.Lock()
	if fresh || v.stale {
		c.unmap(v)
	}
	if v.stale && fresh && data != nil {
		_ = unix.Munmap(data)
		data = nil
	}
	keep := fresh && data != nil
	if keep {
		v.data = data
	}
	v.marked = time.Now()
	if keep {
		c.enlist(w, v)
	}
	close(v.checking)
	v.checking = nil
	v.mu.Unlock()
	if keep {
		c.trim(v)
	}
}

// mark tells the kernel that pages are in use, which sendfile does and a pipe does not. It reports
// false when one of them had to be mapped for that.
func mark(pages []byte) bool {
	return zerocopy.Faultless(func() { _ = unix.Madvise(pages, unix.MADV_POPULATE_READ) })
}

// length returns the bytes of a window that the piece has.
func (w *pieceWindows) length(v *window) int {
	return int(min(windowSize, w.piece.stat.Size-v.index*windowSize))
}

// splice puts verified pages of the range into the empty pipe, as many as it takes, and returns how
// many bytes that is; eager and wait as for verified.
func (w *pieceWindows) splice(wait Waiter, pipe *zerocopy.Pipe, off, n int64, eager bool) int64 {
	if w.file == nil || n < zerocopy.SizeMin {
		return 0
	}
	for at := off; at < off+n; {
		index := at / windowSize
		end := min((index+1)*windowSize, off+n)
		v := w.window(index, end-at, eager)
		if v == nil {
			return at - off
		}
		put, steady, ready := w.put(pipe, v, at, end)
		if !ready && w.prepare(wait, v) {
			put, steady, ready = w.put(pipe, v, at, end)
		}
		if !ready {
			return at - off
		}
		if !steady { // a page had to be mapped for it, so it may be another than was verified
			pipe.Drop()
			return 0
		}
		if at += put; at < end {
			return at - off
		}
	}
	return n
}

// put puts [from, to) of a window that is ready into the pipe, as much as it takes. Unless steady, what is in the
// pipe must not be sent.
func (w *pieceWindows) put(pipe *zerocopy.Pipe, v *window, from, to int64) (n int64, steady, ready bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !w.ready(v) {
		return 0, true, false
	}
	start := v.index * windowSize
	put, steady := pipe.Put(v.data[from-start : to-start])
	if !steady {
		w.piece.disk.windows.unmap(v)
	}
	return int64(put), steady, true
}

// window finds the window, or makes one if it is worth it.
func (w *pieceWindows) window(index, n int64, eager bool) *window {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.windows[index]
	if v != nil {
		return v
	}
	if w.windows == nil {
		w.windows, w.asked = map[int64]*window{}, make([]uint32, min(pages(w.piece.stat.Size)/windowPages+1, askedSlots))
	}
	// Two windows may share a slot: then one is verified a little early.
	asked := &w.asked[index%int64(len(w.asked))]
	if *asked += uint32(n); !eager && *asked < windowWorth {
		return nil
	}
	*asked = 0
	v = &window{index: index}
	w.windows[index] = v
	return v
}

// verify maps the window and compares its pages with their CRCs. It returns the mapping, or nil.
func (w *pieceWindows) verify(v *window) []byte {
	start := v.index * windowSize
	length := w.length(v)
	var sums [windowPages]uint32
	want := sums[:checksum.Fragments(start, length)]
	if w.piece.pageSums(start/hemera.PageSize, want) != nil {
		return nil
	}
	data, err := unix.Mmap(int(w.file.Fd()), start, windowSize+os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	if !w.matches(data[:length], start, want) {
		_ = unix.Munmap(data)
		return nil
	}
	return data
}

// matches compares mapped pages with their CRCs.
func (w *pieceWindows) matches(data []byte, start int64, want []uint32) (ok bool) {
	g := &w.piece.disk.gauge
	began := g.start()
	defer g.read(began, len(data))
	if c, ok := w.piece.file.(vfs.CachedReader); !ok || !c.Cached(start, int64(len(data))) {
		// Waiting for a device in a fault would keep a processor from running other goroutines.
		_ = unix.Madvise(data, unix.MADV_POPULATE_READ)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return checksum.VerifyDistantPages(data, start, want) < 0
}

// unmap unmaps a window. v.mu is held. The window stays in its piece's map, empty: a map entry for each that was ever
// read is little, and goes with the piece.
func (c *windowCache) unmap(v *window) {
	if v.data == nil {
		return
	}
	_ = unix.Munmap(v.data)
	v.data, v.bits = nil, nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.elem != nil {
		c.used.Remove(v.elem)
		v.elem = nil
	}
}

// touch makes a window the one used last.
func (c *windowCache) touch(v *window) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.elem != nil {
		c.used.MoveToBack(v.elem)
	}
}

// entry is a window in the list.
type entry struct {
	owner *pieceWindows
	w     *window
}

// enlist keeps a window. It is called with v.mu held; trim follows without.
func (c *windowCache) enlist(owner *pieceWindows, v *window) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v.elem = c.used.PushBack(entry{owner, v})
}

// trim unmaps the longest unused windows that no goroutine is at, while there are too many.
func (c *windowCache) trim(keep *window) {
	for c.evict(keep) {
	}
}

// resize changes how much may stay mapped.
func (c *windowCache) resize(bytes int64) {
	c.mu.Lock()
	c.max = int(bytes / windowSize)
	c.mu.Unlock()
	c.trim(nil)
}

// evict unmaps one window, not the one to keep, if there are too many.
func (c *windowCache) evict(keep *window) bool {
	// The order of both locks is the other way round elsewhere, so here a window's is only tried.
	c.mu.Lock()
	var out *list.Element
	if c.used.Len() > c.max {
		for out = c.used.Front(); out != nil; out = out.Next() {
			e := out.Value.(entry)
			if e.w == keep || !e.w.mu.TryLock() {
				continue
			}
			if e.w.checking == nil {
				break
			}
			e.w.mu.Unlock()
		}
	}
	c.mu.Unlock()
	if out == nil {
		return false
	}
	e := out.Value.(entry)
	c.unmap(e.w)
	e.w.mu.Unlock()
	return true
}

// drop unmaps the windows that overlap the range.
func (w *pieceWindows) drop(off, n int64) {
	// The windows are found with the map locked, and unmapped without: one may be in use for a moment.
	w.mu.Lock()
	var out []*window
	for i, v := range w.windows {
		if i*windowSize < off+n && off < (i+1)*windowSize {
			out = append(out, v)
		}
	}
	w.mu.Unlock()
	for _, v := range out {
		v.mu.Lock()
		if v.checking == nil {
			w.piece.disk.windows.unmap(v)
		}
		v.stale = true
		v.mu.Unlock()
	}
}

// close ends the windows of a piece that has no user any more.
func (w *pieceWindows) close() { w.drop(0, w.piece.stat.Size) }
