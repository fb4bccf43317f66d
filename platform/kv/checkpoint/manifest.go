package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"hemera/words/errs"
)

// BlockSize is the unit of sums and of reads, in bytes. The last block of a file is shorter.
const BlockSize = 1 << 20

// Limits of a manifest, which bound what a source can make its reader store. With 8 bytes a MiB a checkpoint has at most 8 TiB.
const (
	manifestMax = 64 << 20 // bytes
	filesMax    = 1 << 20
	nameMax     = 255 // bytes of a name
	depthMax    = 8   // parts of a name
)

// Parts of a stored manifest, see docs/formats/checkpoint.md.
const (
	magic     = "hemera-checkpoint 1\n"
	headBytes = len(magic) + 8 + 8 + 4 // magic, last batch, bytes, files
	fileBytes = 2 + 1 + 8              // of the shortest file: length of the name, name, size
	sumBytes  = 8
)

// Manifest describes a checkpoint.
type Manifest struct {
	// Last is the number of a batch: the copy has it and all before it, and perhaps later ones. A store that opens the copy needs the journal's
	// entries behind it.
	Last  uint64
	Files []File // in byte order of their names; at least one
}

// File is one file of a checkpoint.
type File struct {
	Name string // relative, with slashes
	Size int64
	Sums []uint64 // XXH3 with 64 bits, of each block
}

// Bytes returns the size of all files.
func (m *Manifest) Bytes() int64 {
	n := int64(0)
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// equal reports whether two manifests describe the same files at the same batch.
func (m *Manifest) equal(o *Manifest) bool {
	return m.Last == o.Last && slices.EqualFunc(m.Files, o.Files, func(a, b File) bool {
		return a.Name == b.Name && a.Size == b.Size && slices.Equal(a.Sums, b.Sums)
	})
}

// sort puts the files into the order that a manifest has.
func (m *Manifest) sort() {
	slices.SortFunc(m.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
}

// Encode returns the stored bytes. It fails with TooLarge or Invalid if Decode would refuse them.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	b := append([]byte(nil), magic...)
	b = binary.BigEndian.AppendUint64(b, m.Last)
	b = binary.BigEndian.AppendUint64(b, uint64(m.Bytes()))
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.Files)))
	for _, f := range m.Files {
		b = binary.BigEndian.AppendUint16(b, uint16(len(f.Name)))
		b = append(b, f.Name...)
		b = binary.BigEndian.AppendUint64(b, uint64(f.Size))
		for _, sum := range f.Sums {
			b = binary.BigEndian.AppendUint64(b, sum)
		}
	}
	return binary.BigEndian.AppendUint64(b, xxh3.Hash(b)), nil
}

// check returns an error if a manifest cannot be stored: TooLarge, or Invalid.
func (m *Manifest) check() error {
	const op = "checkpoint.Encode"
	switch {
	case len(m.Files) == 0: // an engine would take an empty directory for that of a new store
		return errs.New(errs.Invalid, op, "", "a checkpoint has files")
	case len(m.Files) > filesMax:
		return errs.New(errs.TooLarge, op, "", fmt.Sprintf("a checkpoint has at most %d files, not %d", filesMax, len(m.Files)))
	}
	length := headBytes + sumBytes
	for _, f := range m.Files {
		if f.Size < 0 || int64(len(f.Sums)) != blocks(f.Size) {
			return errs.New(errs.Invalid, op, fmt.Sprintf("%.100q", f.Name), "its sums do not belong to its size")
		}
		length += fileBytes - 1 + len(f.Name) + sumBytes*len(f.Sums)
	}
	if length > manifestMax {
		return errs.New(errs.TooLarge, op, "", fmt.Sprintf("a manifest has at most %d bytes, not %d", manifestMax, length))
	}
	return errs.As(checkNames(m.Files), errs.Invalid, op, "")
}

// Decode returns the manifest of stored bytes. It fails with Corrupt, or with Unsupported if a later version wrote them. What it allocates is bounded
// by the number of bytes.
func Decode(b []byte) (*Manifest, error) {
	const version = len(magic) - 2 // its place
	if len(b) > len(magic) && bytes.HasPrefix(b, []byte(magic[:version])) && string(b[:len(magic)]) != magic {
		return nil, errs.New(errs.Unsupported, "checkpoint.Decode", "", "the manifest's format is not version 1").
			WithRemedy("run the same version of hemera on both machines")
	}
	if len(b) < headBytes+sumBytes || len(b) > manifestMax || string(b[:len(magic)]) != magic {
		return nil, damaged("this is no manifest of a checkpoint")
	}
	body, sum := b[:len(b)-sumBytes], b[len(b)-sumBytes:]
	if xxh3.Hash(body) != binary.BigEndian.Uint64(sum) {
		return nil, damaged("the manifest's sum is wrong")
	}
	r := &reader{rest: body[len(magic):]}
	m := &Manifest{Last: r.uint64()}
	total, count := r.uint64(), int(r.uint32())
	if count == 0 || count > filesMax || count > len(r.rest)/fileBytes {
		return nil, damaged("the manifest has no files, or fewer than it says")
	}
	m.Files = make([]File, 0, count)
	for range count {
		m.Files = append(m.Files, r.file())
	}
	switch {
	case r.short || len(r.rest) > 0:
		return nil, damaged("the manifest's length is wrong")
	case uint64(m.Bytes()) != total:
		return nil, damaged("the manifest's number of bytes is wrong")
	}
	if err := checkNames(m.Files); err != nil {
		return nil, err
	}
	return m, nil
}

// damaged returns the error for bytes that are not a manifest.
func damaged(text string) error { return errs.New(errs.Corrupt, "checkpoint.Decode", "", text) }

// reader reads the body of a manifest. After the end it returns zeros.
type reader struct {
	rest  []byte
	short bool // there were fewer bytes than needed
}

// next returns the next n bytes, or nil.
func (r *reader) next(n int) []byte {
	if n > len(r.rest) {
		r.short, r.rest = true, nil
		return nil
	}
	p := r.rest[:n]
	r.rest = r.rest[n:]
	return p
}

// uint64 reads a number of 8 bytes.
func (r *reader) uint64() uint64 {
	if p := r.next(8); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

// uint32 reads a number of 4 bytes.
func (r *reader) uint32() uint32 {
	if p := r.next(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

// file reads a file.
func (r *reader) file() File {
	length := 0
	if p := r.next(2); p != nil {
		length = int(binary.BigEndian.Uint16(p))
	}
	f := File{Name: string(r.next(length))}
	size := r.uint64()
	// The sums must be there: that bounds the size, and with it all sums of sizes.
	if size > uint64(len(r.rest)/sumBytes)*BlockSize {
		r.short = true
		return f
	}
	f.Size = int64(size)
	if n := blocks(f.Size); n > 0 {
		f.Sums = make([]uint64, n)
		for i := range f.Sums {
			f.Sums[i] = r.uint64()
		}
	}
	return f
}

// blocks returns the number of blocks of a file.
func blocks(size int64) int64 { return size/BlockSize + min(1, size%BlockSize) }

// checkNames returns an error unless the files are in order, their names stay below their directory, and none is the directory of another.
func checkNames(files []File) error {
	dirs := map[string]bool{}
	for i, f := range files {
		if err := checkName(f.Name); err != nil {
			return errs.As(err, errs.Corrupt, "checkpoint.Decode", "")
		}
		if i > 0 && files[i-1].Name >= f.Name {
			return damaged("the files are not in order")
		}
		for d := path.Dir(f.Name); d != "."; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	for _, f := range files {
		if dirs[f.Name] {
			return damaged("a name is that of a file and of a directory")
		}
	}
	return nil
}

// checkName returns an error unless a name is relative, stays below its directory, and has plain characters only: it becomes part of paths and of
// addresses.
func checkName(name string) error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/", r)
	}
	if name == "." || len(name) > nameMax || !fs.ValidPath(name) || strings.Count(name, "/") >= depthMax ||
		strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return errs.New(errs.Invalid, "checkpoint.Read", fmt.Sprintf("%.100q", name), "this is not the name of a file of a checkpoint")
	}
	return nil
}
