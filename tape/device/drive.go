package device

import "context"

// Drive is one tape drive. Its methods may be called by several goroutines. Errors of all methods here are those of errors.go, wrapped with
// what the device said. Calls block for the device, and wait for those before them: a load or a locate takes minutes. A context that ends stops the wait
// for other calls, but does not interrupt a command that the device works on.
type Drive interface {
	Identity() Identity
	// Status never waits for the drive to become ready: while a command runs it returns what was known last. ErrHardware if the drive is broken.
	Status(ctx context.Context) (Status, error)
	// Load makes the cartridge in the drive ready and stands at its beginning. ErrNoMedium; ErrNotReady when the context ended first.
	Load(ctx context.Context) (Tape, error)
	// Unload rewinds and ejects the cartridge, so that a changer can take it. What was not flushed is flushed first. The Tape cannot be used any more.
	Unload(ctx context.Context) error
}

// Tape is a cartridge that is loaded in a drive. One goroutine uses it at a time.
// The features of features.go are of a Tape too.
type Tape interface {
	Positioner
	Blocks
}

// Positioner moves the tape, and blocks for as long as that takes: minutes from one end to the other. It fails with ErrEndOfData when the place
// is behind the last object: the tape then stands at the end of data.
type Positioner interface {
	// Locate goes to the object; 0 rewinds.
	Locate(ctx context.Context, object uint64) error
	// Space goes n filemarks ahead, behind the last of them; below zero back, before the last of them.
	Space(ctx context.Context, n int) error
	// SpaceToEnd goes behind the last object.
	SpaceToEnd(ctx context.Context) error
	// Position returns where the tape stands.
	Position(ctx context.Context) (Position, error)
}

// Blocks reads and writes where the tape stands, and moves behind what was read or written. Calls block for the drive.
type Blocks interface {
	// ReadBlock reads one block. ErrFileMark when there was a filemark instead, ErrEndOfData, ErrBlockTooBig when the block is larger than buf: the
	// tape then stands behind it. ErrMedium, ErrProtection.
	ReadBlock(ctx context.Context, buf []byte) (n int, err error)
	// WriteBlock writes one block of 1 to [BlockMax] bytes. It may return before the block is on tape: durable is what a Flush came after.
	// ErrEndOfTape: the early warning was reached and the block is not written; the next call writes, as long as the tape has room behind the
	// warning. ErrWriteProtected, ErrMedium.
	WriteBlock(ctx context.Context, b []byte) error
	// WriteMarks writes n filemarks, also behind the early warning. With immediate they may stay in the drive's buffer; without, everything is
	// durable when it returns.
	WriteMarks(ctx context.Context, n int, immediate bool) error
	// Flush makes everything durable that was written so far, which stops the tape for seconds. After an error all that was written since the
	// last flush may be lost.
	Flush(ctx context.Context) error
}

// BlockMax bounds one block, in bytes. It is what LTO drives take; SCSI counts the bytes of a block in 24 bits.
const BlockMax = 8 << 20

// Identity is the answer of a device to INQUIRY.
type Identity struct {
	Vendor, Product, Revision, Serial string
	// Device is its name on this machine, such as /dev/nst0 or emu0.
	Device string
}

// Status is the state of a drive.
type Status struct {
	Loaded         bool // a cartridge is in the drive
	Ready          bool // and can be read
	WriteProtected bool
	BeginOfTape    bool
	EndOfData      bool
	Density        uint8 // density code of the cartridge, 0 where unknown
}

// Position is a place on tape.
type Position struct {
	Object uint64 // the number of the next object
	// Buffered objects were accepted and are not on tape yet.
	Buffered uint64
	// EarlyWarning: the end of the tape is near.
	EarlyWarning bool
}
