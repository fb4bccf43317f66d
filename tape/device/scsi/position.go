package scsi

import (
	"encoding/binary"
)

// Locate goes to a logical object. LOCATE(10) knows 32 bits of it, so LOCATE(16) is used for all that need more.
func Locate(object uint64) Command {
	if object>>32 != 0 {
		return Locate16(object)
	}
	return Locate10(uint32(object))
}

// Locate10 goes to a logical object of the current partition.
func Locate10(object uint32) Command {
	cdb := make([]byte, 10)
	cdb[0] = opLocate10
	binary.BigEndian.PutUint32(cdb[3:], object)
	return Command{Name: "LOCATE(10)", CDB: cdb, Weight: Slow}
}

// Locate16 goes to a logical object of the current partition.
func Locate16(object uint64) Command {
	cdb := make([]byte, 16)
	cdb[0] = opLocate16 // destination type 0: a logical object
	binary.BigEndian.PutUint64(cdb[4:], object)
	return Command{Name: "LOCATE(16)", CDB: cdb, Weight: Slow}
}

// What SPACE counts.
const (
	spaceBlocks = 0
	spaceMarks  = 1
	spaceEnd    = 3
)

// SpaceMax is the most filemarks that one SPACE goes, either way.
const SpaceMax = 1<<23 - 1

// SpaceMarks goes n filemarks ahead, or back if n is below zero. It is cut to SpaceMax.
func SpaceMarks(n int) Command { return space(spaceMarks, max(-SpaceMax, min(SpaceMax, n))) }

// SpaceEnd goes to the end of data.
func SpaceEnd() Command { return space(spaceEnd, 0) }

// space encodes SPACE(6). The count is a number of 24 bits with a sign.
func space(what byte, n int) Command {
	cdb := make([]byte, 6)
	cdb[0], cdb[1] = opSpace6, what
	put24(cdb[2:], n)
	return Command{Name: "SPACE", CDB: cdb, Weight: Slow}
}

// Read reads one block of at most size bytes (READ(6), variable length). A block of another length raises Sense.WrongSize.
func Read(size int) Command {
	cdb := make([]byte, 6)
	cdb[0] = opRead6
	put24(cdb[2:], size)
	return Command{Name: "READ", CDB: cdb, Direction: FromDevice, In: size, Weight: Slow}
}

// The forms of READ POSITION, by service action.
const (
	shortForm     = 0x00
	shortFormSize = 20
	longForm      = 0x06
	longFormSize  = 32
)

// ReadPositionShort asks for the position and for what is buffered.
func ReadPositionShort() Command {
	cdb := make([]byte, 10)
	cdb[0], cdb[1] = opReadPosition, shortForm
	return Command{Name: "READ POSITION", CDB: cdb, Direction: FromDevice, In: shortFormSize}
}

// ReadPositionLong asks for the position in 64 bits.
func ReadPositionLong() Command {
	cdb := make([]byte, 10)
	cdb[0], cdb[1] = opReadPosition, longForm
	return Command{Name: "READ POSITION long", CDB: cdb, Direction: FromDevice, In: longFormSize}
}

// Position has the fields of both forms of READ POSITION.
type Position struct {
	// Known is false when the device has lost its place; Object says nothing then.
	Known        bool
	BeginOfTape  bool
	EndOfTape    bool // behind the early warning
	EarlyWarning bool // behind the programmable early warning (long form: of SSC-5; older devices leave it 0)
	Partition    uint32
	Object       uint64
	// File counts the filemarks before the position. Of the long form only.
	File uint64
	// Buffered objects and bytes are not on tape yet; CountKnown says if the device tells. Of the short form only.
	Buffered      uint64
	BufferedBytes uint64
	CountKnown    bool
}

// DecodePositionShort reads the short form.
func DecodePositionShort(b []byte) (Position, error) {
	if len(b) < shortFormSize {
		return Position{}, short("READ POSITION", len(b), shortFormSize)
	}
	// Bits of byte 0: 7 begin, 6 end, 5 count of objects unknown, 4 count of bytes unknown, 2 location unknown, 1 error, 0 early warning.
	p := Position{BeginOfTape: b[0]&0x80 != 0, EndOfTape: b[0]&0x40 != 0, EarlyWarning: b[0]&1 != 0, Known: b[0]&0x04 == 0, Partition: uint32(b[1])}
	p.CountKnown = b[0]&0x20 == 0
	if p.Known {
		p.Object = uint64(binary.BigEndian.Uint32(b[4:]))
	}
	if p.CountKnown {
		p.Buffered = uint64(get24(b[13:]))
		p.BufferedBytes = uint64(binary.BigEndian.Uint32(b[16:]))
	}
	return p, nil
}

// DecodePositionLong reads the long form.
func DecodePositionLong(b []byte) (Position, error) {
	if len(b) < longFormSize {
		return Position{}, short("READ POSITION long", len(b), longFormSize)
	}
	// Bits of byte 0: 7 begin, 6 end, 3 mark count unknown, 2 location unknown, 0 early warning.
	p := Position{BeginOfTape: b[0]&0x80 != 0, EndOfTape: b[0]&0x40 != 0, EarlyWarning: b[0]&1 != 0, Known: b[0]&0x04 == 0}
	p.Partition = binary.BigEndian.Uint32(b[4:])
	if p.Known {
		p.Object = binary.BigEndian.Uint64(b[8:])
	}
	if b[0]&0x08 == 0 {
		p.File = binary.BigEndian.Uint64(b[16:])
	}
	return p, nil
}
