package scsi

import (
	"encoding/binary"

	"hemera/tape/device"
)

const (
	elementsHeader = 8
	pageHeader     = 8
	voltagSize     = 36
	// elementsMax bounds an answer: 4,000 elements of 250 bytes.
	elementsMax = 1 << 20
	// ElementsAtOnce is the number of elements that one command asks for.
	ElementsAtOnce = 1000
)

// ReadElementStatus asks for count elements of a kind from an address on, with barcodes and, with serials, the serial
// numbers of drives. Older changers refuse serials (Sense 5/24/00).
func ReadElementStatus(kind device.ElementKind, first, count int, serials bool) Command {
	const barcodes, currentData, ids = 0x10, 0x02, 0x01
	cdb := make([]byte, 12)
	cdb[0], cdb[1] = opReadElementStatus, barcodes|byte(kind)
	binary.BigEndian.PutUint16(cdb[2:], uint16(first))
	binary.BigEndian.PutUint16(cdb[4:], uint16(count))
	cdb[6] = currentData // no movement: what the changer has in memory
	if serials {
		cdb[6] |= ids
	}
	put24(cdb[7:], elementsMax)
	return Command{Name: "READ ELEMENT STATUS", CDB: cdb, Direction: FromDevice, In: elementsMax, Weight: Slow}
}

// MoveMedium carries a cartridge. Arm is the address of the robot's arm.
func MoveMedium(arm, from, to int) Command {
	cdb := make([]byte, 12)
	cdb[0] = opMoveMedium
	for i, address := range []int{arm, from, to} {
		binary.BigEndian.PutUint16(cdb[2+2*i:], uint16(address))
	}
	return Command{Name: "MOVE MEDIUM", CDB: cdb, Weight: Slow}
}

// DecodeElements reads the answer of ReadElementStatus. An answer that ends in the middle gives the elements before.
func DecodeElements(b []byte) ([]device.Element, error) {
	if len(b) < elementsHeader {
		return nil, short("READ ELEMENT STATUS", len(b), elementsHeader)
	}
	// The answer has a page for each kind of element, and a page has descriptors of one length.
	var found []device.Element
	for rest := b[elementsHeader:min(len(b), elementsHeader+get24(b[5:]))]; len(rest) >= pageHeader; {
		end := min(len(rest), pageHeader+get24(rest[5:]))
		kind, tags, size := device.ElementKind(rest[0]&0xF), rest[1], get16(rest[2:])
		for d := rest[pageHeader:end]; size >= 4 && len(d) >= size; d = d[size:] {
			found = append(found, element(d[:size], kind, tags))
		}
		rest = rest[end:]
	}
	return found, nil
}

// element reads one descriptor. Its optional parts follow each other, so each is there only as far as the size goes.
func element(d []byte, kind device.ElementKind, tags byte) device.Element {
	e := device.Element{Kind: kind, Address: get16(d), Full: d[2]&0x01 != 0}
	if d[2]&0x04 != 0 && len(d) >= 6 { // an exception
		e.Why = Sense{Key: HardwareError, ASC: d[4], ASCQ: d[5]}.String()
	}
	const sourceEnd = 12
	if len(d) < sourceEnd {
		return e
	}
	if d[9]&0x80 != 0 && e.Full {
		e.Source = get16(d[10:])
	}
	rest := d[sourceEnd:]
	for _, bit := range []byte{0x80, 0x40} { // primary and alternate volume tag
		if tags&bit == 0 {
			continue
		}
		if len(rest) < voltagSize {
			return e
		}
		if bit == 0x80 && e.Full {
			e.Barcode = text(rest[:32]) // 4 bytes of sequence number follow
		}
		rest = rest[voltagSize:]
	}
	if kind == device.ElementDrive {
		e.Serial = identifier(rest)
	}
	return e
}

// identifier returns the serial number in the device identifier of a drive: code set, type, a reserved byte, and length.
func identifier(b []byte) string {
	const ascii, vendorSpecific, t10 = 2, 0, 1
	if len(b) < 4 || b[0]&0xF != ascii {
		return ""
	}
	id := b[4:min(len(b), 4+int(b[3]))]
	switch b[1] & 0xF {
	case vendorSpecific:
		return text(id)
	case t10: // 8 bytes vendor, 16 bytes product, serial number
		return text(id[min(24, len(id)):])
	}
	return ""
}
