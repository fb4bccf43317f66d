package slowdevice

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// pageSize is the part of a device that is kept as one byte when all of its bytes are the same.
const pageSize = 4096

// pages is the content of a device: pages that repeat one byte are kept as that byte, in memory, and the others in the backing file. So a device
// of 100 GB needs no room for what benchmarks write, while every byte passes through the kernel. Methods may be called concurrently.
type pages struct {
	backing *os.File

	// The lock is held over the backing file, unlike in the program: a page is in one of the two places, whoever looks. The file is in memory.
	mu     sync.RWMutex
	repeat []uint16 // for each page: 0 if it is in the file, else its byte and 1
}

// newPages makes the content of a device of so many bytes.
func newPages(backing *os.File, size int64) *pages {
	return &pages{backing: backing, repeat: make([]uint16, (size+pageSize-1)/pageSize)}
}

// ReadAt reads whole ranges: a device has no end within one.
func (d *pages) ReadAt(p []byte, off int64) (n int, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for n < len(p) {
		at := off + int64(n)
		page, run := d.run(at, len(p)-n)
		part := p[n : n+run]
		if v := d.value(page); v != 0 {
			fill(part, byte(v-1))
		} else if got, err := d.backing.ReadAt(part, at); err != nil && err != io.EOF {
			return n + got, err
		}
		n += run
	}
	return n, nil
}

// value is what is known of a page. Behind the end everything is in the file.
func (d *pages) value(page int64) uint16 {
	if page >= int64(len(d.repeat)) {
		return 0
	}
	return d.repeat[page]
}

// run is how many of n bytes from an offset on are in pages with the same value as the first.
func (d *pages) run(at int64, n int) (page int64, length int) {
	page = at / pageSize
	length = int(pageSize - at%pageSize)
	for v := d.value(page); length < n && d.value((at+int64(length))/pageSize) == v; {
		length += pageSize
	}
	return page, min(length, n)
}

// WriteAt writes p. A page of which only a part is written goes to the file first.
func (d *pages) WriteAt(p []byte, off int64) (n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	from := 0 // of p, what is to be written to the file next
	flush := func(to int) error {
		if from < to {
			if _, err := d.backing.WriteAt(p[from:to], off+int64(from)); err != nil {
				return err
			}
		}
		return nil
	}
	for n < len(p) {
		page := (off + int64(n)) / pageSize
		length := min(len(p)-n, int(pageSize-(off+int64(n))%pageSize))
		part := p[n : n+length]
		if length == pageSize && page < int64(len(d.repeat)) && bytes.Equal(part[1:], part[:length-1]) {
			if err := flush(n); err != nil {
				return from, err
			}
			d.repeat[page] = uint16(part[0]) + 1
			from = n + length
		} else if err := d.spill(page); err != nil {
			return from, err
		}
		n += length
	}
	return n, flush(n)
}

// spill writes a page that was kept as one byte to the file.
func (d *pages) spill(page int64) error {
	v := d.value(page)
	if v == 0 {
		return nil
	}
	whole := make([]byte, pageSize)
	fill(whole, byte(v-1))
	if _, err := d.backing.WriteAt(whole, page*pageSize); err != nil {
		return err
	}
	d.repeat[page] = 0
	return nil
}

// fill sets all bytes: the first one, then twice as many with each copy.
func fill(p []byte, v byte) {
	p[0] = v
	for n := 1; n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
}
