package scsi

import (
	"fmt"

	"hemera/tape/device"
)

// Err returns the error of package tape that the sense stands for, wrapped with the sense in words. It is nil when the command
// was done: no sense, or an error that the device has corrected, with no flag raised.
func (s Sense) Err() error {
	cause := s.cause()
	if cause == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", cause, s)
}

// cause chooses by the additional code where it says more than the key, then by flags and key.
func (s Sense) cause() error {
	if err := s.special(); err != nil {
		return err
	}
	switch {
	case s.FileMark:
		return device.ErrFileMark
	case s.Key == BlankCheck:
		return device.ErrEndOfData
	case s.Key == VolumeOverflow, s.EndOfTape && s.Key <= Recovered:
		return device.ErrEndOfTape
	case s.WrongSize && s.Valid && s.Rest < 0:
		return device.ErrBlockTooBig
	}
	// Flags are done with; the key decides.
	switch s.Key {
	case NoSense, Recovered:
		return nil
	case NotReady, UnitAttention, Aborted:
		return device.ErrNotReady
	case MediumError:
		return device.ErrMedium
	case DataProtect:
		return device.ErrWriteProtected
	}
	return device.ErrHardware
}

// special returns the error of additional codes that have one of their own, whatever the key says.
func (s Sense) special() error {
	switch {
	case s.ASC == 0x3A:
		return device.ErrNoMedium
	case s.ASC == 0x74 && s.ASCQ <= 0x04:
		return device.ErrEncrypted
	case s.ASC == 0x10:
		return device.ErrProtection
	case s.ASC == 0x3B && s.ASCQ == 0x0D:
		return device.ErrFull
	case s.ASC == 0x3B && s.ASCQ == 0x0E:
		return device.ErrEmpty
	case s.ASC == 0x53 && s.ASCQ == 0x02, s.ASC == 0x53 && s.ASCQ == 0x03: // removal prevented: the drive still holds it
		return device.ErrNotReady
	case s.ASC == 0x30 && s.ASCQ != 0x03, s.ASC == 0x33: // the medium is of another format or length
		return device.ErrMedium
	}
	return nil
}

// String returns the sense in words, with the numbers that manuals list.
func (s Sense) String() string {
	text := additional(s.ASC, s.ASCQ)
	if text == "" {
		text = s.Key.String()
	}
	return fmt.Sprintf("%s (sense %X/%02X/%02X)", text, uint8(s.Key), s.ASC, s.ASCQ)
}

// String returns the key in words.
func (k Key) String() string {
	names := [...]string{"no sense", "recovered error", "not ready", "medium error", "hardware error", "illegal request", "unit attention",
		"data protect", "blank check", "vendor specific", "copy aborted", "aborted command", "reserved", "volume overflow", "miscompare", "completed"}
	return names[k&0xF]
}

// additional returns the text of SPC-5 for an additional sense code, in plain words; "" for the many that are rare.
func additional(asc, ascq byte) string {
	texts := map[uint16]string{
		0x0001: "a filemark", 0x0002: "end of partition or medium", 0x0004: "beginning of partition or medium", 0x0005: "end of data",
		0x0007: "early warning, end of the tape is near", 0x0302: "too much write current", 0x0400: "not ready, no cause given",
		0x0401: "the device is becoming ready", 0x0402: "the device needs a load command", 0x0403: "the device needs a person",
		0x0407: "an operation is in progress", 0x0412: "the device is offline", 0x0800: "the connection to the device failed",
		0x0900: "the head lost the track", 0x0C00: "a write failed", 0x1001: "a block arrived with a wrong checksum",
		0x1005: "the method of block protection is wrong", 0x1100: "a block cannot be read", 0x1101: "a block cannot be read after all retries",
		0x1112: "the memory of the cartridge cannot be read", 0x1400: "the place was not found", 0x1501: "positioning failed",
		0x1A00: "the list of parameters has a wrong length", 0x2000: "the device does not have the command",
		0x2101: "the element address does not exist", 0x2400: "a field of the command is wrong", 0x2600: "a field of the parameters is wrong",
		0x2700: "write-protected", 0x2800: "the cartridge may have changed", 0x2801: "the import and export gate was opened",
		0x2900: "power on or reset", 0x2A01: "mode parameters changed", 0x2A02: "log parameters changed", 0x2C00: "the commands are in a wrong order",
		0x3000: "the cartridge does not fit this drive", 0x3001: "the format cannot be read by this drive", 0x3002: "the format cannot be read by this drive",
		0x3003: "a cleaning cartridge is in the drive", 0x3005: "the format cannot be written by this drive", 0x3007: "cleaning failed",
		0x300D: "WORM cartridge", 0x3100: "the format of the tape is damaged", 0x3A00: "no cartridge", 0x3B00: "positioning failed",
		0x3B08: "the tape is not where it should be", 0x3B0D: "the element holds a cartridge already", 0x3B0E: "no cartridge in the element",
		0x3B12: "the magazine was removed", 0x3F01: "new firmware", 0x4400: "internal failure", 0x4B00: "the transfer failed",
		0x5000: "appending failed", 0x5100: "erasing failed", 0x5200: "the cartridge is damaged", 0x5300: "load or eject failed",
		0x5302: "removal is prevented", 0x5303: "the drive holds the cartridge still", 0x5A01: "a person asks for the cartridge",
		0x7400: "encryption failed", 0x7401: "the block cannot be decrypted", 0x7402: "the block is encrypted and no key is set",
		0x7403: "the block is encrypted with another key", 0x7404: "the block failed its check of encryption", 0x8282: "the drive needs cleaning",
	}
	return texts[uint16(asc)<<8|uint16(ascq)]
}
