package disk

import (
	"slices"

	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// A piece that began as a copy has the checksums of its base; see clone.go. A page is compared before a part of it changes.

// prove verifies the pages that a write of n bytes at off changes in part, in a piece that began as a copy. It fails, and the
// piece is lost, if one of them is bad.
func (w *writer) prove(op string, off, n int64) error {
	if !w.cloned.Load() || n == 0 {
		return nil
	}
	size := w.size.Load()
	// Only the first and the last page can be changed in part, and the last there was, which grows if the write begins behind
	// it. Mostly none is: clients write whole pages.
	pages := [...]int64{off / hemera.PageSize, (off + n - 1) / hemera.PageSize, min(off, size) / hemera.PageSize}
	cut := func(page int64) bool { return cuts(size, page, off, n) }
	if !slices.ContainsFunc(pages[:], cut) {
		return nil
	}
	// Alone: a page must not change between its bytes and its checksum.
	w.io.Wait()
	defer w.io.Release()
	if err := w.usable(op); err != nil {
		return err
	}
	size = w.table.size
	for i, page := range pages {
		if !cut(page) || slices.Contains(pages[:i], page) {
			continue
		}
		if err := w.provePage(page); err != nil {
			return w.fail(err, op)
		}
	}
	return nil
}

// cuts reports whether n bytes at off, in the page or behind it, leave some of what the page has in data of the size.
func cuts(size, page, off, n int64) bool {
	from := page * hemera.PageSize
	end := from + int64(pageLen(size, page))
	return from < end && (off > from || off+n < end)
}

// provePage compares a page with its checksum, which is taken from the data from now on. It is called with io held alone.
func (w *writer) provePage(page int64) error {
	b, err := w.table.block(page / blockSums)
	i := int(page % blockSums)
	// A dirty one was verified before, or written by this Writer.
	if err != nil || b.isDirty(i) {
		return err
	}
	buf := onePage.Get().(*[hemera.PageSize]byte)
	defer onePage.Put(buf)
	p := buf[:pageLen(w.table.size, page)]
	if err := w.readData(p, page*hemera.PageSize); err != nil {
		return err
	}
	if checksum.CRC32C(p) != b.sums[i] {
		return &PageError{Page: page * hemera.PageSize, What: "page"}
	}
	b.setDirty(i, true) // its sum stays the same until it is written to
	return nil
}
