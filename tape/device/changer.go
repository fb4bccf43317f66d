package device

import "context"

// Changer is the robot of a library. It has one arm: moves wait for each other. Calls block for the robot; a context ends the wait for other calls,
// but not a command that the robot works on. Errors are those of errors.go, wrapped with what the robot said.
type Changer interface {
	Identity() Identity
	// Inventory lists all elements. It moves nothing, but may wait for a move. ErrNotReady while the robot starts; ErrHardware if it is broken.
	Inventory(ctx context.Context) ([]Element, error)
	// Move carries the cartridge from one element to another, which takes up to minutes. The cartridge is there when it returns, and stays there
	// after a crash. ErrEmpty, ErrFull; ErrNotReady while a drive still holds the cartridge.
	Move(ctx context.Context, from, to int) error
}

// ElementKind says what an element of a library is. The numbers are those of SMC-3.
type ElementKind uint8

// The kinds of elements.
const (
	ElementArm   ElementKind = 1
	ElementSlot  ElementKind = 2
	ElementGate  ElementKind = 3 // import and export
	ElementDrive ElementKind = 4
)

// Element is one place of a library.
type Element struct {
	Address int
	Kind    ElementKind
	Full    bool
	Barcode string // "" where empty or not readable
	// Capacity is that of the cartridge in bytes, 0 where the library does not tell it.
	Capacity int64
	// Source is the slot that the cartridge in a drive came from, 0 where unknown.
	Source int
	// Serial is that of the drive, where the library tells it.
	Serial string
	// Why says what is wrong with the element, "" when nothing is.
	Why string
}
