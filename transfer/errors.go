package transfer

import (
	"fmt"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// sizeMismatch says that a piece has got bytes where the file, by its layout, has want.
func sizeMismatch(op, subject string, got, want int64) error {
	return errs.New(errs.Corrupt, op, subject, fmt.Sprintf("the piece has %d bytes, the file %d", got, want))
}

// badHandle refuses a call on a handle that has ended.
func badHandle(op, subject string) error {
	return errs.New(errs.BadHandle, op, subject, "the handle is closed")
}

// readOnly refuses a change through a handle that only reads.
func readOnly(op, subject string) error {
	return errs.New(errs.Denied, op, subject, "the handle is open for reading")
}

// checkRange refuses offsets no file can have.
func checkRange(op, subject string, off int64, n int) error {
	switch {
	case off < 0:
		return errs.New(errs.Invalid, op, subject, fmt.Sprintf("offset %d is negative", off))
	case off > hemera.FileSizeMax-int64(n):
		return errs.New(errs.TooLarge, op, subject, fmt.Sprintf("a file has at most %d bytes: file too large", int64(hemera.FileSizeMax)))
	}
	return nil
}
