package scsi

import "encoding/binary"

// Direction is the way that the data of a command goes.
type Direction uint8

// The directions.
const (
	NoData Direction = iota
	FromDevice
	ToDevice
)

// Weight says how long a command may take on a healthy device; the carrier makes a timeout of it.
type Weight uint8

// The weights.
const (
	Quick Weight = iota // answered from memory
	Slow                // a robot or a tape moves
)

// Command is one command with its data.
type Command struct {
	Name      string // as the standard calls it, for errors
	CDB       []byte
	Direction Direction
	Out       []byte // what is sent, with ToDevice
	In        int    // the most bytes that come back, with FromDevice
	Weight    Weight
}

// Operation codes, in the order of their numbers.
const (
	opTestUnitReady     = 0x00
	opRead6             = 0x08
	opSpace6            = 0x11
	opInquiry           = 0x12
	opModeSelect6       = 0x15
	opModeSense6        = 0x1A
	opLoadUnload        = 0x1B
	opLocate10          = 0x2B
	opReadPosition      = 0x34
	opLogSense          = 0x4D
	opLocate16          = 0x92
	opSecurityIn        = 0xA2
	opMaintenanceIn     = 0xA3
	opMaintenanceOut    = 0xA4
	opMoveMedium        = 0xA5
	opSecurityOut       = 0xB5 // of drives
	opReadElementStatus = 0xB8
)

// TestUnitReady asks if the device can be used; only its sense answers.
func TestUnitReady() Command {
	return Command{Name: "TEST UNIT READY", CDB: make([]byte, 6)}
}

// LoadUnload loads the cartridge that is in the drive, or rewinds and ejects it.
func LoadUnload(load bool) Command {
	cdb := make([]byte, 6)
	cdb[0] = opLoadUnload
	if load {
		cdb[4] = 1
	}
	return Command{Name: "LOAD UNLOAD", CDB: cdb, Weight: Slow}
}

// put24 writes the low three bytes of v.
func put24(b []byte, v int) {
	b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v)
}

// get24 returns the number in three bytes.
func get24(b []byte) int {
	return int(b[0])<<16 | int(b[1])<<8 | int(b[2])
}

// get16 returns the number in two bytes.
func get16(b []byte) int { return int(binary.BigEndian.Uint16(b)) }
