package piece

import (
	"encoding/binary"
	"fmt"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// SizeMismatch says that a piece has got bytes where the file, by its layout, has want.
func SizeMismatch(op, subject string, got, want int64) error {
	return errs.New(errs.Corrupt, op, subject, fmt.Sprintf("the piece has %d bytes, the file %d", got, want))
}

// BadHandle refuses a call on a handle that has ended.
func BadHandle(op, subject string) error {
	return errs.New(errs.BadHandle, op, subject, "the handle is closed")
}

// ReadOnly refuses a change through a handle that only reads.
func ReadOnly(op, subject string) error {
	return errs.New(errs.Denied, op, subject, "the handle is open for reading")
}

// CheckRange refuses offsets no file can have.
func CheckRange(op, subject string, off int64, n int) error {
	switch {
	case off < 0:
		return errs.New(errs.Invalid, op, subject, fmt.Sprintf("offset %d is negative", off))
	case off > hemera.FileSizeMax-int64(n):
		return errs.New(errs.TooLarge, op, subject, fmt.Sprintf("a file has at most %d bytes: file too large", int64(hemera.FileSizeMax)))
	}
	return nil
}

// CRC32C returns a CRC32C in the shape of a stored checksum, which is big-endian.
func CRC32C(crc uint32) hemera.Checksum {
	c := hemera.Checksum{Kind: hemera.CRC32C}
	binary.BigEndian.PutUint32(c.Value[:], crc)
	return c
}
