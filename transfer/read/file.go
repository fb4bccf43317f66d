package read

import (
	"context"

	"hemera/platform/zerocopy"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// File is a Reader as a file.
type File struct {
	*Reader
	hemera.Refusal // of changes
}

var (
	_ hemera.File     = (*File)(nil)
	_ hemera.Sparse   = (*File)(nil)
	_ hemera.Lender   = (*File)(nil)
	_ zerocopy.Source = (*File)(nil)
)

// NewFile returns the handle of a client that reads. It owns the reader.
func NewFile(r *Reader) *File {
	return &File{Reader: r, Refusal: hemera.Refusal{Err: piece.ReadOnly("transfer.Write", r.Name())}}
}

// ReadPages implements hemera.Handle.
func (h *File) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	return h.Reader.ReadPages(p, sums, off)
}

// Sync has nothing to do.
func (h *File) Sync(context.Context) error { return nil }

// Shared implements hemera.File.
func (h *File) Shared() bool { return false }

// End ends all use.
func (h *File) End(context.Context, hemera.Ending) error {
	h.Reader.Close()
	return nil
}
