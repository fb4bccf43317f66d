package disk

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"hemera"
	"hemera/errs"
	"hemera/rules/checksum"
)

// PageError says which bytes did not match their checksum. Its kind is Corrupt.
type PageError struct {
	// Page is the offset of the bad page in the piece, or of the first page whose checksum is not known.
	Page int64
	What string
}

func (e *PageError) Error() string {
	return fmt.Sprintf("%s at offset %d: bytes do not match their checksum", e.What, e.Page)
}

// Is makes errors.Is(err, errs.Corrupt) true.
func (e *PageError) Is(target error) bool { return target == errs.Corrupt }

// As gives errs.KindOf the kind.
func (e *PageError) As(target any) bool {
	k, ok := target.(*errs.Kind)
	if ok {
		*k = errs.Corrupt
	}
	return ok
}

// BadPage returns the offset, in the piece, of the first bad page that the error is about.
func BadPage(err error) (off int64, ok bool) {
	var e *PageError
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Page, true
}

// pageSource is data and its page CRCs.
type pageSource interface {
	dataSize() int64
	// readAt fills p or fails.
	readAt(p []byte, off int64) error
	// pageSums puts the CRCs of the pages from first on into dst.
	pageSums(first int64, dst []uint32) error
	// forget drops clean pages from memory, so that they are read from the device again.
	forget(off, n int64)
}

// readStep is how much is read before it is verified, in pages: a verified step is still in a
// core's second-level cache.
const readStep = 64

// onePage is memory for reads of a part of a page.
var onePage = sync.Pool{New: func() any { return new([hemera.PageSize]byte) }}

// readPages reads from off to p, as hemera.File.ReadPages; every page it touches is read as a whole
// and verified. With an error that is not io.EOF, what came before the bad page is good.
func readPages(s pageSource, p []byte, sums []uint32, off int64) (int, error) {
	size := s.dataSize()
	if off < 0 {
		return 0, errs.New(errs.Invalid, "disk.Read", "", "negative offset")
	}
	if off >= size {
		return 0, io.EOF
	}
	var eof error
	if int64(len(p)) > size-off {
		p, eof = p[:size-off], io.EOF
	}
	if sums != nil && len(sums) < checksum.Fragments(off, len(p)) {
		return 0, errs.New(errs.Invalid, "disk.Read", "", "fewer checksums than page fragments")
	}
	done := 0 // bytes of p that are good
	for done < len(p) {
		n, pages, err := readSome(s, p[done:], sums, off+int64(done))
		done += n
		if err != nil {
			return done, err
		}
		if sums != nil {
			sums = sums[pages:]
		}
	}
	return done, eof
}

// readSome reads whole pages from off, or the part of one. It returns how many bytes and fragments
// are good.
func readSome(s pageSource, p []byte, sums []uint32, off int64) (n, fragments int, err error) {
	in := int(off % hemera.PageSize) // where in its page the range begins
	whole := min(len(p), readStep*hemera.PageSize)
	if off+int64(whole) < s.dataSize() {
		whole -= whole % hemera.PageSize
	}
	if in != 0 || whole == 0 {
		n, err := readPart(s, p, sums, off)
		return n, 1, err
	}
	// Checksums come first: memory has them mostly, and without them the bytes are of no use.
	var buf [readStep]uint32
	want := buf[:checksum.Fragments(off, whole)]
	if err := s.pageSums(off/hemera.PageSize, want); err != nil {
		return 0, 0, err
	}
	if err := s.readAt(p[:whole], off); err != nil {
		return 0, 0, err
	}
	// The caller gets the stored checksums, which match the bytes or end the read.
	copy(sums, want)
	if bad := checksum.VerifyPages(p[:whole], off, want); bad >= 0 {
		if err := reread(s, p[:whole], off, want); err != nil {
			good, _ := BadPage(err)
			return int(good - off), 0, err
		}
	}
	return whole, len(want), nil
}

// readPart reads a part of one page, by way of the whole page.
func readPart(s pageSource, p []byte, sums []uint32, off int64) (int, error) {
	buf := onePage.Get().(*[hemera.PageSize]byte)
	defer onePage.Put(buf)
	number := off / hemera.PageSize
	page := buf[:pageLen(s.dataSize(), number)]
	var want [1]uint32
	if err := s.pageSums(number, want[:]); err != nil {
		return 0, err
	}
	if err := s.readAt(page, number*hemera.PageSize); err != nil {
		return 0, err
	}
	if checksum.CRC32C(page) != want[0] {
		if err := reread(s, page, number*hemera.PageSize, want[:]); err != nil {
			return 0, err
		}
	}
	n := copy(p, page[off%hemera.PageSize:])
	if sums != nil { // of the part; the stored one is of the page
		sums[0] = checksum.CRC32C(p[:n])
	}
	return n, nil
}

// reread gives pages that did not match a second chance, from the device: memory may have been bad.
func reread(s pageSource, p []byte, off int64, want []uint32) error {
	s.forget(off, int64(len(p)))
	if err := s.readAt(p, off); err != nil {
		return err
	}
	if bad := checksum.VerifyPages(p, off, want); bad >= 0 {
		return &PageError{Page: off + int64(bad)*hemera.PageSize, What: "page"}
	}
	return nil
}
