package pieces

import (
	"context"
	"fmt"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Checked is the result of a check of one piece.
type Checked struct {
	Stat hemera.PieceStat
	// BadPages has the offsets of pages that do not match their checksums; after many the check stops.
	BadPages []int64
	// Wrong names the checksum of the whole file that does not match, if the piece is a copy of the file; "" if all
	// match.
	Wrong string
}

// Good reports whether nothing is wrong with the piece.
func (c Checked) Good() bool { return len(c.BadPages) == 0 && c.Wrong == "" }

// Check reads all of a piece and compares each page with its checksum. For a copy of a file it also compares the
// checksums of the file. It calls read, if it is not nil, with the number of bytes after each read. It fails like
// [disk.OpenPieceFile], with an error of the device, and when ctx ends; bad pages are not an error.
func Check(ctx context.Context, fsys vfs.FS, path string, read func(n int)) (c Checked, err error) {
	p, err := disk.OpenPieceFile(fsys, path)
	if err != nil {
		return c, err
	}
	defer func() { _ = p.Close() }() // it was only read
	c.Stat = p.Stat()
	// A piece of a striped layout does not have the whole content.
	var kinds []hemera.ChecksumKind
	if c.Stat.Layout.Data <= 1 {
		for _, s := range c.Stat.Checksums {
			kinds = append(kinds, s.Kind)
		}
	}
	hash, err := checksum.NewMulti(kinds...)
	if err != nil {
		return c, errs.As(err, errs.Unsupported, "pieces.Check", path)
	}
	c.BadPages, err = p.Verify(ctx, func(b []byte) {
		_, _ = hash.Write(b) // a hash does not fail
		if read != nil {
			read(len(b))
		}
	})
	// With a bad page the hash is meaningless.
	if err != nil || len(c.BadPages) > 0 {
		return c, err
	}
	for _, got := range hash.Sums() {
		if want, _ := hemera.FindChecksum(c.Stat.Checksums, got.Kind); got != want {
			c.Wrong = fmt.Sprintf("the content has %s, and its footer says %s", got, want)
			break
		}
	}
	return c, nil
}
