package disk

import (
	"context"
	"errors"
	"io"
	"os"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// PieceFile is one sealed piece, opened as a file, whatever directory it is in: for tools that work without a node. It
// reads nothing but the file, keeps one block of page checksums in memory, and changes nothing. Its methods must not be
// called concurrently.
type PieceFile struct {
	file  vfs.File
	hint  vfs.Hinter // nil if the file takes none
	path  string
	stat  hemera.PieceStat
	block int64    // that sums are of; -1: none yet
	sums  []uint32 // of its pages
}

// OpenPieceFile opens the file of a sealed piece. It fails with NotFound if there is no such file, and with Corrupt if
// its footer is missing, damaged or of a format that this program does not know. The name of the file does not matter.
func OpenPieceFile(fsys vfs.FS, path string) (*PieceFile, error) {
	const op = "disk.OpenPieceFile"
	f, err := fsys.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, errs.Wrap(err, op, path)
	}
	stat, err := readFooter(f)
	if err != nil {
		return nil, errs.Wrap(errors.Join(err, f.Close()), op, path)
	}
	p := &PieceFile{file: f, path: path, stat: stat, block: -1}
	p.hint, _ = f.(vfs.Hinter)
	return p, nil
}

// readFooter reads the footer of an open file; Corrupt if it has no good one.
func readFooter(f vfs.File) (hemera.PieceStat, error) {
	size, err := f.Size()
	if err != nil {
		return hemera.PieceStat{}, err
	}
	tail := make([]byte, min(size, footerMax))
	n, err := f.ReadAt(tail, size-int64(len(tail)))
	if err != nil && err != io.EOF {
		return hemera.PieceStat{}, err
	}
	stat, err := parseFooter(tail[:n], size)
	if err != nil {
		return stat, errs.As(err, errs.Corrupt, "disk.ReadFooter", "")
	}
	return stat, nil
}

// Path returns the name that the file was opened by.
func (p *PieceFile) Path() string { return p.path }

// Stat returns what the footer says.
func (p *PieceFile) Stat() hemera.PieceStat { return p.stat }

// Close closes the file.
func (p *PieceFile) Close() error { return p.file.Close() }

// ReadAt reads the piece's data, as io.ReaderAt does, and compares each page that it touches with its checksum. It never
// returns a byte that does not match: at a bad page it returns what came before, and a Corrupt error whose [BadPage] can
// be asked for.
func (p *PieceFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := readPages(p, b, nil, off)
	if err != nil && err != io.EOF {
		return n, errs.Wrap(err, "disk.Read", p.path)
	}
	return n, err
}

// Verify reads all pages, and calls good, if it is not nil, with the bytes that match their checksums, in their order. It
// returns the offsets of bad pages: after many it stops. Its error is of the device or of ctx; bad pages are none.
func (p *PieceFile) Verify(ctx context.Context, good func(b []byte)) (bad []int64, err error) {
	buf := make([]byte, readStep*hemera.PageSize)
	for off := int64(0); off < p.stat.Size && len(bad) < badPagesMax; {
		if err := ctx.Err(); err != nil {
			return bad, errs.Wrap(err, "disk.Verify", p.path)
		}
		n, err := p.ReadAt(buf, off)
		off += int64(n)
		if good != nil {
			good(buf[:n])
		}
		if errors.Is(err, errs.Corrupt) {
			page := off / hemera.PageSize * hemera.PageSize
			bad = append(bad, page)
			off = min(page+hemera.PageSize, p.stat.Size)
		} else if err != nil && err != io.EOF {
			return bad, err
		}
	}
	return bad, nil
}

// PieceFile is a pageSource.
func (p *PieceFile) dataSize() int64 { return p.stat.Size }

// readAt implements pageSource.
func (p *PieceFile) readAt(b []byte, off int64) error {
	n, err := p.file.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return io.ErrUnexpectedEOF // the footer said how long it is
	}
	return err
}

// pageSums implements pageSource: a piece is read from its begin to its end, so one block of the table is enough.
func (p *PieceFile) pageSums(first int64, dst []uint32) error {
	for len(dst) > 0 {
		if err := p.loadBlock(first / blockSums); err != nil {
			return err
		}
		n := copy(dst, p.sums[first%blockSums:])
		dst, first = dst[n:], first+int64(n)
	}
	return nil
}

// loadBlock reads a block of the table, unless it is the one in memory.
func (p *PieceFile) loadBlock(index int64) error {
	if p.block == index {
		return nil
	}
	n, off := blockLen(p.stat.Size, index), tableOff(p.stat.Size)+index*blockSize
	raw, sums := make([]byte, 4*(n+1)), make([]uint32, n)
	for range 2 { // the second time from the device
		if err := p.readAt(raw, off); err != nil {
			return err
		}
		if parseBlock(raw, sums) {
			p.block, p.sums = index, sums
			return nil
		}
		p.forget(off, int64(len(raw)))
	}
	return badTable(index)
}

// forget implements pageSource.
func (p *PieceFile) forget(off, n int64) {
	if p.hint != nil {
		p.hint.Forget(off, n)
	}
}
