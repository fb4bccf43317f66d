package device

import "context"

// Changer is the robot of a library. It has one arm: moves wait for each other.
type Changer interface {
	Identity() Identity
	// Inventory lists all elements.
	Inventory(ctx context.Context) ([]Element, error)
	// Move carries the cartridge from one element to another. ErrEmpty, ErrFull; ErrNotReady while a drive still holds the cartridge.
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
