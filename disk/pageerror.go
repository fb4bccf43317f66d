package disk

import (
	"errors"
	"fmt"

	"hemera/words/errs"
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
