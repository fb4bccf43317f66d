package device

import (
	"errors"

	"hemera/words/errs"
)

// What calls of drives and changers end with, to be asked with errors.Is.
var (
	ErrFileMark       = errors.New("a filemark was read")
	ErrEndOfData      = errors.New("end of data")
	ErrEndOfTape      = errors.New("end of tape")
	ErrBlockTooBig    = errors.New("the block is larger than the buffer")
	ErrNoMedium       = errors.New("no cartridge in the drive")
	ErrNotReady       = errors.New("the device is not ready")
	ErrWriteProtected = errors.New("the cartridge is write-protected")
	ErrMedium         = errors.New("the tape cannot be read or written here")
	ErrHardware       = errors.New("the device is broken")
	ErrProtection     = errors.New("a block arrived with a wrong checksum")
	ErrEncrypted      = errors.New("the block is encrypted with a key that is not set")
	ErrEmpty          = errors.New("no cartridge in the element")
	ErrFull           = errors.New("the element holds a cartridge already")
)

// Cause returns an error of a drive, a changer or a tape for people: without the calls that led to it. Of a tape that cannot be read or written the
// place on it is left out, too.
func Cause(err error) string {
	for _, of := range []error{ErrMedium, ErrWriteProtected} {
		if errors.Is(err, of) {
			return of.Error()
		}
	}
	return errs.Reason(err, "")
}
