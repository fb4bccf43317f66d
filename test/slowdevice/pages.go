package slowdevice

import (
	"bytes"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// pageSize is the part of a device that is kept as one byte when all of its bytes are the same.
const pageSize = 4096

// pages is the content of a device: pages that repeat one byte are kept as that byte, and the others in the backing file, which is mapped. So a
// device of 100 GB needs no room for what benchmarks write, while every byte passes through the kernel. Methods may be called concurrently.
type pages struct {
	// mu guards both. A page is in one of the two places at any time, for all readers.
	mu     sync.RWMutex
	mapped []byte
	repeat []uint16 // for each page: 0 if it is in the file, else its byte plus one
}

// newPages maps the backing file, whose length is that of the device.
func newPages(backing *os.File, size int64) (*pages, error) {
	m, err := unix.Mmap(int(backing.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, errs.Wrap(err, "slowdevice.Mount", backing.Name())
	}
	return &pages{mapped: m, repeat: make([]uint16, (size+pageSize-1)/pageSize)}, nil
}

// close ends the mapping. What repeated is lost.
func (d *pages) close() error { return unix.Munmap(d.mapped) }

// readAt fills p. It returns less only at the end of the device.
func (d *pages) readAt(p []byte, off int64) int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p = p[:max(0, min(int64(len(p)), int64(len(d.mapped))-off))]
	for n := 0; n < len(p); {
		at := off + int64(n)
		part := p[n:min(len(p), n+left(at))]
		// Most of what is read repeats, or nothing of it.
		if v := d.repeat[at/pageSize]; v != 0 {
			fill(part, byte(v-1))
		} else {
			copy(part, d.mapped[at:])
		}
		n += len(part)
	}
	return len(p)
}

// left returns the number of bytes of a page behind an offset.
func left(at int64) int { return int(pageSize - at%pageSize) }

// writeAt takes p, up to the end of the device.
func (d *pages) writeAt(p []byte, off int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	p = p[:max(0, min(int64(len(p)), int64(len(d.mapped))-off))]
	for n := 0; n < len(p); {
		at := off + int64(n)
		part := p[n:min(len(p), n+left(at))]
		n += len(part)
		// All bytes are the same if each equals the one before it. Of other data the first two decide.
		if len(part) == pageSize && bytes.Equal(part[1:], part[:pageSize-1]) {
			d.repeat[at/pageSize] = uint16(part[0]) + 1
			continue
		}
		d.spill(at / pageSize)
		copy(d.mapped[at:], part)
	}
	return len(p)
}

// spill writes a page that was kept as one byte to the file, because a part of it is to change.
func (d *pages) spill(page int64) {
	if v := d.repeat[page]; v != 0 {
		begin := page * pageSize
		fill(d.mapped[begin:min(begin+pageSize, int64(len(d.mapped)))], byte(v-1))
		d.repeat[page] = 0
	}
}

// fill sets all bytes: the first one, then twice as many with each copy.
func fill(p []byte, v byte) {
	p[0] = v
	for n := 1; n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
}
