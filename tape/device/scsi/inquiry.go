package scsi

import (
	"fmt"
	"strings"

	"hemera/tape/device"
	"hemera/words/errs"
)

// inquiryMax and serialMax are the most that one byte of length, and a sane device, can give.
const (
	inquiryMax = 96
	// serialPage is the unit serial number, VPD page 80h.
	serialPage = 0x80
	serialMax  = 252
)

// The device types of INQUIRY that matter here.
const (
	TypeTape    = 0x01
	TypeChanger = 0x08
)

// Device is the answer of a device to INQUIRY.
type Device struct {
	device.Identity
	Type uint8 // TypeTape, TypeChanger or another of SPC-5
	// Protectable is the PROTECT bit. Drives set it when they have logical block protection.
	Protectable bool
}

// Inquiry asks for the standard data.
func Inquiry() Command {
	return Command{Name: "INQUIRY", CDB: []byte{opInquiry, 0, 0, 0, inquiryMax, 0}, Direction: FromDevice, In: inquiryMax}
}

// InquirySerial asks for the serial number.
func InquirySerial() Command {
	return Command{Name: "INQUIRY 80h", CDB: []byte{opInquiry, 1, serialPage, 0, serialMax, 0}, Direction: FromDevice, In: serialMax}
}

// DecodeInquiry reads standard data. The serial number and the device's name are empty.
func DecodeInquiry(b []byte) (Device, error) {
	const least = 36 // through the revision; every device since SCSI-2 sends it
	if len(b) < least {
		return Device{}, short("INQUIRY", len(b), least)
	}
	d := Device{Type: b[0] & 0x1F, Protectable: b[5]&1 != 0}
	d.Vendor, d.Product, d.Revision = text(b[8:16]), text(b[16:32]), text(b[32:36])
	return d, nil
}

// DecodeSerial reads VPD page 80h.
func DecodeSerial(b []byte) (string, error) {
	if len(b) < 4 {
		return "", short("INQUIRY 80h", len(b), 4)
	}
	if b[1] != serialPage {
		return "", errs.New(errs.Corrupt, "scsi.DecodeSerial", "INQUIRY 80h", "the device answered with another page")
	}
	return text(b[4:min(len(b), 4+get16(b[2:]))]), nil
}

// text returns a field of ASCII without its padding. A byte that cannot be printed becomes a question mark, so that a damaged
// answer does not reach a terminal.
func text(b []byte) string {
	s := strings.Map(func(r rune) rune {
		switch {
		case r == 0:
			return ' '
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, string(b))
	return strings.TrimSpace(s)
}

// short returns the error of an answer that ends too early.
func short(subject string, got, want int) error {
	return errs.New(errs.Corrupt, "scsi.Decode", subject, fmt.Sprintf("the answer has %d bytes, at least %d are needed", got, want))
}
