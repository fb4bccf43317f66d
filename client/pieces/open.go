package pieces

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/rules/erasure"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Problem is an error of one of the given files.
type Problem struct {
	Path string
	Err  error
}

// File is one content of a file, with the given pieces. It is not safe for concurrent use.
type File struct {
	// stat is that of the first piece. All agree about the file; index, size and time differ.
	stat     hemera.PieceStat
	code     *erasure.Code // nil for a layout without parity
	pieces   [hemera.PiecesMax][]*disk.PieceFile
	have     layout.Set // available pieces, by index, including those without bytes
	problems []Problem

	plans   map[lost]*erasure.Plan
	buffers [hemera.PiecesMax][]byte // for rebuilding, made when first needed
}

// lost is the key of a plan: the wanted piece, and the available ones.
type lost struct {
	want int
	have layout.Set
}

// Open opens the pieces of one file. A path without a good piece becomes a problem, and the others are used. It fails
// with Conflict if the pieces are of different files or contents, and with NoReplicas, naming the missing ones, if they
// are not enough. The caller closes the file.
func Open(fsys vfs.FS, paths []string) (_ *File, err error) {
	f := &File{plans: map[lost]*erasure.Plan{}}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	var first *disk.PieceFile
	for _, path := range paths {
		p, err := disk.OpenPieceFile(fsys, path)
		// One bad file is not the end: the others may be enough.
		if err != nil {
			f.problems = append(f.problems, Problem{path, err})
			continue
		}
		// Compare footers with the first good one. Which of two contents the user wants cannot be known.
		if first == nil {
			first, f.stat = p, p.Stat()
		}
		if err := f.add(first.Path(), p); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	if first == nil {
		return nil, f.insufficient(0)
	}
	// The geometry of a layout of a later version is unknown.
	if err := f.stat.Layout.Validate(); err != nil {
		return nil, errs.As(err, errs.Unsupported, "pieces.Open", first.Path())
	}
	if f.stat.Layout.Data > 1 {
		if f.code, err = layout.Code(f.stat.Layout); err != nil {
			return nil, errs.As(err, errs.Unsupported, "pieces.Open", first.Path())
		}
	}
	if !layout.Readable(f.stat.Layout, f.stat.FileSize, f.have) {
		return nil, f.insufficient(f.have)
	}
	// Pieces without bytes are not stored, and are zeros.
	for i := range f.stat.Layout.Pieces {
		if !layout.Stored(f.stat.Layout, f.stat.FileSize, i) {
			f.have = f.have.With(int(i))
		}
	}
	return f, nil
}

// add adds a piece. It fails with Conflict if the piece is not of the file. A piece with a wrong size is a problem.
func (f *File) add(first string, p *disk.PieceFile) error {
	s, index := p.Stat(), p.Stat().ID.Index
	// The error names both sides, as either may be the wrong one.
	if what := difference(f.stat, s); what != "" {
		return errs.New(errs.Conflict, "pieces.Open", p.Path(), fmt.Sprintf("it is of %s, and %s is of %s", what, first, difference(s, f.stat))).
			WithRemedy("give the pieces of one content of one file; `hemera piece show` tells which they are")
	}
	// Footers have a CRC, so this is a defect of their writer, but arithmetic must not rely on that.
	if int(index) >= len(f.pieces) || index >= s.Layout.Pieces || layout.PieceSize(s.Layout, s.FileSize, index) != s.Size {
		f.problems = append(f.problems, Problem{p.Path(), errs.New(errs.Corrupt, "pieces.Open", p.Path(),
			fmt.Sprintf("piece %d with %d bytes does not fit layout %s of a file of %d bytes", index, s.Size, s.Layout, s.FileSize))})
		return p.Close()
	}
	f.pieces[index] = append(f.pieces[index], p)
	f.have = f.have.With(int(index))
	return nil
}

// difference says how the second piece differs from the content of the first; "" if it does not.
func difference(a, b hemera.PieceStat) string {
	switch {
	case a.ID.File != b.ID.File:
		return "file fxid:" + b.ID.File.Hex()
	case a.ID.Gen != b.ID.Gen:
		return fmt.Sprintf("generation %d", b.ID.Gen)
	case a.Layout != b.Layout:
		return fmt.Sprintf("layout %s with blocks of %d bytes", b.Layout, b.Layout.BlockSize)
	case a.FileSize != b.FileSize:
		return fmt.Sprintf("a file of %d bytes", b.FileSize)
	case !slices.Equal(a.Checksums, b.Checksums):
		return fmt.Sprintf("a file with checksums %v", b.Checksums)
	}
	return ""
}

// Stat returns the common data of the footers: all except the index, the size and the time of the seal, which are those
// of one piece.
func (f *File) Stat() hemera.PieceStat { return f.stat }

// Problems returns the problems found so far. The file may still be complete.
func (f *File) Problems() []Problem { return f.problems }

// Close closes the pieces.
func (f *File) Close() {
	for _, list := range f.pieces {
		for _, p := range list {
			_ = p.Close() // they were only read
		}
	}
}

// insufficient returns the error for too few pieces: those of have are good, and problems has the reasons for the others.
func (f *File) insufficient(have layout.Set) error {
	const op = "pieces.Open"
	var text []string
	// Without a footer the number of pieces is not known.
	if f.stat.Layout.Pieces > 0 {
		var missing layout.Set
		for i := range f.stat.Layout.Pieces {
			if layout.Stored(f.stat.Layout, f.stat.FileSize, i) && !f.have.Has(int(i)) {
				missing = missing.With(int(i))
			}
		}
		text = append(text, fmt.Sprintf("a file with layout %s cannot be read from pieces %s", f.stat.Layout, have))
		if missing != 0 {
			text = append(text, "missing are "+missing.String())
		}
	} else {
		text = append(text, "no piece is good")
	}
	// A given piece that is bad is not missing: it is named with its reason.
	for _, p := range f.problems {
		text = append(text, fmt.Sprintf("%s: %s", p.Path, errs.Reason(p.Err, p.Path)))
	}
	// The id helps in finding more pieces.
	subject := ""
	if f.stat.ID.File != 0 {
		subject = "fxid:" + f.stat.ID.File.Hex()
	}
	return errs.New(errs.NoReplicas, op, subject, strings.Join(text, "; ")).
		WithRemedy("find more pieces: on each disk they are named " + pieceNames(f.stat.ID))
}

// pieceNames returns a pattern of the names that pieces of the content have on disks.
func pieceNames(id hemera.PieceID) string {
	if id.File == 0 {
		return "<file id>.<generation>.<piece>, in hexadecimal"
	}
	name := id.String()
	return name[:strings.LastIndexByte(name, '.')] + ".*"
}
