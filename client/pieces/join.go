package pieces

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hemera/disk"
	"hemera/rules/checksum"
	"hemera/rules/erasure"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// chunk is the number of bytes of a file that are made at a time: the memory for each piece that a rebuild reads.
const chunk = 256 << 10

// WriteTo writes the content of the file, from its beginning to its end, and calls wrote, if it is not nil, with the
// number of bytes after each step. A page that is bad in one piece is taken from others, and is recorded as a problem.
//
// It fails with NoReplicas at the first place that cannot be rebuilt, and with Corrupt if the whole does not match the
// checksums in the footers. Then the bytes written before are not the file.
func (f *File) WriteTo(ctx context.Context, w io.Writer, wrote func(n int)) error {
	const op = "pieces.Join"
	l, size := f.stat.Layout, f.stat.FileSize
	// All checksums are computed in the same pass; most files have one.
	kinds := make([]hemera.ChecksumKind, 0, len(f.stat.Checksums))
	for _, c := range f.stat.Checksums {
		kinds = append(kinds, c.Kind)
	}
	hash, err := checksum.NewMulti(kinds...)
	if err != nil {
		return errs.As(err, errs.Unsupported, op, "")
	}
	buf := make([]byte, min(chunk, size))
	for off := int64(0); off < size; {
		if err := ctx.Err(); err != nil {
			return errs.Wrap(err, op, "")
		}
		p := buf[:min(int64(len(buf)), size-off)]
		// Spans are in the order of the file, and begin and end at pages, as blocks do.
		for _, s := range layout.Split(l, off, len(p)) {
			if err := f.column(int(s.Column), p[s.At:s.At+s.Len], s.Off); err != nil {
				return err
			}
		}
		if _, err := hash.Write(p); err != nil {
			return errs.Wrap(err, op, "")
		}
		if _, err := w.Write(p); err != nil {
			return errs.Wrap(err, op, "output")
		}
		off += int64(len(p))
		if wrote != nil {
			wrote(len(p))
		}
	}
	// Pages can match their own checksums and belong to another content: only the checksum of the whole shows that.
	for _, got := range hash.Sums() {
		if want, _ := hemera.FindChecksum(f.stat.Checksums, got.Kind); got != want {
			return errs.New(errs.Corrupt, op, "fxid:"+f.stat.ID.File.Hex(), fmt.Sprintf("the content has %s, and its footers say %s", got, want)).
				WithRemedy("every page was good, so a piece is of another content: leave out one after the other")
		}
	}
	return nil
}

// column fills p with the bytes of a column. A page that is bad in one piece may be good in all others, so the second
// attempt goes page by page.
func (f *File) column(column int, p []byte, off int64) error {
	if f.fill(column, p, off) {
		return nil
	}
	for len(p) > 0 {
		n := min(len(p), hemera.PageFragment(off, len(p)))
		if !f.fill(column, p[:n], off) {
			return f.insufficient(f.good(p[:n], off))
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// fill fills p from the pieces of a column, or from others. It returns false if that is not possible for all of p at once.
func (f *File) fill(column int, p []byte, off int64) bool {
	if f.stat.Layout.Data <= 1 { // all pieces are copies
		for i := range f.have.All() {
			if f.read(i, p, off) {
				return true
			}
		}
		return false
	}
	return f.read(column, p, off) || f.code != nil && f.rebuild(column, p, off)
}

// rebuild computes the bytes of a data piece from other pieces, without those that are bad there.
func (f *File) rebuild(column int, p []byte, off int64) bool {
	have := f.have.Without(column)
	// Each round leaves out a bad piece, so there are at most as many as pieces.
	for {
		plan, err := f.plan(column, have)
		if err != nil {
			return false
		}
		blocks, bad := make([][]byte, f.code.Pieces()), -1
		for i := range plan.Read().All() {
			blocks[i] = f.buffer(i, len(p))
			if !f.read(i, blocks[i], off) {
				bad = i
				break
			}
		}
		if bad < 0 {
			blocks[column] = p[:0:len(p)]
			return plan.Rebuild(blocks) == nil // the blocks fit, because they are those of the plan
		}
		have = have.Without(bad)
	}
}

// good returns the set of pieces that are good at the offset, for an error. p is memory for reading.
func (f *File) good(p []byte, off int64) (have layout.Set) {
	for i := range f.have.All() {
		if f.read(i, p, off) {
			have = have.With(i)
		}
	}
	return have
}

// plan returns the plan to rebuild the piece, which is the same for most of a file.
func (f *File) plan(want int, have layout.Set) (*erasure.Plan, error) {
	key := lost{want, have}
	if p := f.plans[key]; p != nil {
		return p, nil
	}
	p, err := f.code.Plan(erasure.SetOf(want), have)
	if err == nil {
		f.plans[key] = p
	}
	return p, err
}

// buffer returns memory for n bytes of a piece.
func (f *File) buffer(index, n int) []byte {
	if f.buffers[index] == nil {
		f.buffers[index] = make([]byte, chunk)
	}
	return f.buffers[index][:n]
}

// read fills p from the piece with the index, or another copy of it. Bytes beyond its end are zeros. It returns false if
// no copy is good there.
func (f *File) read(index int, p []byte, off int64) bool {
	// A column may end within a row of blocks; the code then uses zeros.
	stored := max(0, min(int64(len(p)), layout.PieceSize(f.stat.Layout, f.stat.FileSize, uint8(index))-off))
	clear(p[stored:])
	if stored == 0 {
		return true
	}
	// Usually there is one; a second is another disk's copy of the same piece.
	for _, piece := range f.pieces[index] {
		n, err := piece.ReadAt(p[:stored], off)
		if int64(n) == stored {
			return true
		}
		f.note(piece, err)
	}
	return false
}

// note records the first problem of a piece.
func (f *File) note(piece *disk.PieceFile, err error) {
	// One line for each piece is enough for a person; hemera piece verify lists all bad pages.
	for _, p := range f.problems {
		if p.Path == piece.Path() {
			return
		}
	}
	if at, ok := disk.BadPage(err); ok {
		err = errs.New(errs.Corrupt, "pieces.Join", piece.Path(), fmt.Sprintf("the page at offset %d does not match its checksum", at))
	} else if err == nil || errors.Is(err, io.EOF) {
		err = errs.New(errs.Corrupt, "pieces.Join", piece.Path(), "it ends too early")
	}
	f.problems = append(f.problems, Problem{piece.Path(), err})
}
