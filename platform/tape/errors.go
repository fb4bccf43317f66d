package tape

import "errors"

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
