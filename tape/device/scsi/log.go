package scsi

import "encoding/binary"

// The log pages that are used here, by number.
const (
	LogWriteErrors = 0x02
	LogReadErrors  = 0x03
	LogSequential  = 0x0C
	LogVolume      = 0x17
	LogAlerts      = 0x2E
)

// logMax bounds an answer; the longest page of a drive is some kilobytes.
const logMax = 16 << 10

// LogSense asks for the cumulative values of a page.
func LogSense(page byte) Command {
	const cumulative = 0x40
	cdb := make([]byte, 10)
	cdb[0], cdb[2] = opLogSense, cumulative|page
	binary.BigEndian.PutUint16(cdb[7:], logMax)
	return Command{Name: "LOG SENSE", CDB: cdb, Direction: FromDevice, In: logMax}
}

// Log is a log page: its parameters by code. A value has the bytes that the device sent.
type Log struct {
	Page   byte
	Values map[uint16][]byte
}

// DecodeLog takes a log page apart. Parameters that the answer ends in the middle of are left out.
func DecodeLog(b []byte) (Log, error) {
	if len(b) < 4 {
		return Log{}, short("LOG SENSE", len(b), 4)
	}
	// Each parameter is a code, a control byte that says nothing here, a length, and the value.
	l := Log{Page: b[0] & 0x3F, Values: map[uint16][]byte{}}
	for rest := b[4:min(len(b), 4+get16(b[2:]))]; len(rest) >= 4; {
		size := 4 + int(rest[3])
		if size > len(rest) {
			break
		}
		l.Values[binary.BigEndian.Uint16(rest)] = rest[4:size]
		rest = rest[size:]
	}
	return l, nil
}

// Number returns a parameter as a number, 0 when the page does not have it or it is longer than 8 bytes.
func (l Log) Number(code uint16) (n uint64) {
	v := l.Values[code]
	if len(v) > 8 {
		return 0
	}
	for _, b := range v {
		n = n<<8 | uint64(b)
	}
	return n
}

// Text returns a parameter as text, such as the barcode in page 17h.
func (l Log) Text(code uint16) string { return text(l.Values[code]) }

// Corrected returns the count of errors that the drive has corrected, of pages 02h and 03h.
func (l Log) Corrected() uint64 { return l.Number(0x0003) }

// Uncorrected returns the count of errors that it could not, of pages 02h and 03h.
func (l Log) Uncorrected() uint64 { return l.Number(0x0006) }

// Sequential has the counts of page 0Ch, in bytes as the host sees them and as they are on tape after compression.
type Sequential struct {
	Received, Written int64 // from the host; to the tape
	Read, Sent        int64 // from the tape; to the host
	CleaningRequired  bool
}

// Sequential reads page 0Ch.
func (l Log) Sequential() Sequential {
	n := func(code uint16) int64 { return int64(l.Number(code) &^ (1 << 63)) } // never below zero, whatever comes
	return Sequential{Received: n(0), Written: n(1), Read: n(2), Sent: n(3), CleaningRequired: l.Number(0x0100) != 0}
}

// Volume has the fields of page 17h about the cartridge in the drive.
type Volume struct {
	Mounts                    uint64
	WriteRetries, ReadRetries uint64
	WriteErrors, ReadErrors   uint64 // that could not be corrected
	WrittenMB, ReadMB         uint64 // in its life, in 10^6 bytes
	CapacityMB, UsedMB        uint64 // of the whole cartridge, without compression
	Serial, Barcode           string
}

// Volume reads page 17h.
func (l Log) Volume() Volume {
	return Volume{
		Mounts:       l.Number(0x0001),
		WriteRetries: l.Number(0x0003), WriteErrors: l.Number(0x0004),
		ReadRetries: l.Number(0x0008), ReadErrors: l.Number(0x0009),
		WrittenMB: l.Number(0x0010), ReadMB: l.Number(0x0011),
		CapacityMB: l.Number(0x0016), UsedMB: l.Number(0x0017),
		Serial: l.Text(0x0040), Barcode: l.Text(0x0042),
	}
}

// Alerts returns the numbers of the TapeAlert flags that are raised in page 2Eh, in order. The device clears them when it has
// sent the page.
func (l Log) Alerts() (raised []int) {
	const flags = 64
	for code := uint16(1); code <= flags; code++ {
		if l.Number(code)&1 != 0 {
			raised = append(raised, int(code))
		}
	}
	return raised
}
