package scsi

import (
	"encoding/binary"
	"fmt"

	"hemera/words/errs"
)

// Key is the class of what sense data tells.
type Key uint8

// The sense keys of SPC-5.
const (
	NoSense        Key = 0x0
	Recovered      Key = 0x1
	NotReady       Key = 0x2
	MediumError    Key = 0x3
	HardwareError  Key = 0x4
	IllegalRequest Key = 0x5
	UnitAttention  Key = 0x6
	DataProtect    Key = 0x7
	BlankCheck     Key = 0x8
	VendorSpecific Key = 0x9
	Aborted        Key = 0xB
	VolumeOverflow Key = 0xD
)

// Sense is the reason for which a command failed, or a remark on one that did not.
type Sense struct {
	Key       Key
	ASC, ASCQ byte
	Deferred  bool // it is of an earlier command
	FileMark  bool
	EndOfTape bool // early warning when writing, beginning or end when moving
	WrongSize bool // ILI: the block has another length than was asked for
	// Rest is the part of the request that was not done, below zero when a block was larger. It has a meaning only with
	// Valid.
	Rest  int64
	Valid bool
}

// DecodeSense reads sense data of fixed or descriptor format.
func DecodeSense(b []byte) (Sense, error) {
	if len(b) < 4 {
		return Sense{}, short("sense", len(b), 4)
	}
	switch code := b[0] & 0x7F; code {
	case 0x70, 0x71:
		return fixedSense(b, code == 0x71), nil
	case 0x72, 0x73:
		return descriptorSense(b, code == 0x73), nil
	default:
		return Sense{}, errs.New(errs.Corrupt, "scsi.DecodeSense", "sense", fmt.Sprintf("format %02Xh is not known", code))
	}
}

// fixedSense reads what there is; devices may send less than 18 bytes.
func fixedSense(b []byte, deferred bool) Sense {
	s := Sense{Key: Key(b[2] & 0xF), Deferred: deferred}
	s.flags(b[2])
	if len(b) >= 7 && b[0]&0x80 != 0 {
		s.Valid, s.Rest = true, int64(int32(binary.BigEndian.Uint32(b[3:])))
	}
	if len(b) >= 14 {
		s.ASC, s.ASCQ = b[12], b[13]
	}
	return s
}

// descriptorSense walks the descriptors. Those of other types say nothing that a caller here would use.
func descriptorSense(b []byte, deferred bool) Sense {
	s := Sense{Key: Key(b[1] & 0xF), ASC: b[2], ASCQ: b[3], Deferred: deferred}
	if len(b) < 8 {
		return s
	}
	for rest := b[8:min(len(b), 8+int(b[7]))]; len(rest) >= 2; {
		size := 2 + int(rest[1])
		if size > len(rest) {
			break
		}
		switch d := rest[:size]; {
		case d[0] == 0x00 && size >= 12: // information
			s.Valid, s.Rest = d[2]&0x80 != 0, int64(binary.BigEndian.Uint64(d[4:]))
		case d[0] == 0x04 && size >= 4: // stream commands
			s.flags(d[3])
		}
		rest = rest[size:]
	}
	return s
}

// flags takes the three bits of stream commands, which stand alike in both formats.
func (s *Sense) flags(b byte) {
	s.FileMark, s.EndOfTape, s.WrongSize = b&0x80 != 0, b&0x40 != 0, b&0x20 != 0
}

// Fixed returns the sense in the fixed format, as most drives send it. Emulated devices use it.
func (s Sense) Fixed() []byte {
	b := make([]byte, 18)
	b[0], b[2], b[7], b[12], b[13] = 0x70, byte(s.Key), 10, s.ASC, s.ASCQ
	if s.Deferred {
		b[0] = 0x71
	}
	if s.Valid {
		b[0] |= 0x80
		binary.BigEndian.PutUint32(b[3:], uint32(int32(s.Rest)))
	}
	for bit, set := range map[byte]bool{0x80: s.FileMark, 0x40: s.EndOfTape, 0x20: s.WrongSize} {
		if set {
			b[2] |= bit
		}
	}
	return b
}

// Retry reports whether the same command may succeed in a while: the device becomes ready, or it only announces that
// something changed.
func (s Sense) Retry() bool {
	switch s.Key {
	case UnitAttention:
		return true
	case NotReady:
		// 04/01 becoming ready, 04/07 an operation is in progress, 04/10 the cartridge memory is read, 04/00 no cause given.
		// 04/02 asks for LOAD, 04/03 for a person, 3A for a cartridge.
		return s.ASC == 0x04 && s.ASCQ != 0x02 && s.ASCQ != 0x03 && s.ASCQ != 0x12
	case Aborted:
		return s.ASC == 0x4B || s.ASC == 0x08 // data phase error, communication failure
	}
	return false
}
