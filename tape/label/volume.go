package label

import (
	"strconv"

	"hemera/words/errs"
)

// Protection says how blocks are protected between host and drive. The values are those of SSC-5, in hexadecimal digits on tape.
type Protection uint8

// The methods that exist. Tapes with Reed-Solomon are refused by everything that is known to read these labels.
const (
	Unprotected Protection = 0
	ReedSolomon Protection = 1
	CRC32C      Protection = 2
)

// Volume is VOL1, the first block of a tape.
type Volume struct {
	VID        string
	Owner      string
	Protection Protection
}

// vidMax is the length of the longest VID. CTA cannot read the labels of tapes with a shorter one, because it compares all six bytes.
const vidMax = 6

// CheckVID fails with Invalid unless vid has one to six upper-case letters and digits.
func CheckVID(vid string) error {
	ok := len(vid) >= 1 && len(vid) <= vidMax
	for i := range len(vid) {
		c := vid[i]
		ok = ok && (c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')
	}
	if !ok {
		return errs.New(errs.Invalid, "label.CheckVID", strconv.Quote(vid), "it is not a VID").
			WithRemedy("use six upper-case letters and digits, such as V01007")
	}
	return nil
}

// Encode makes the label. The VID must be valid.
func (v Volume) Encode() Label {
	l := blank("VOL1")
	// Bytes 10 to 36 and 51 to 76 stay blank, since readers demand that.
	l.put(4, 6, v.VID)
	l.put(37, 14, v.Owner)
	l[77], l[78] = '0', '0'+byte(v.Protection%10)
	// The label standard: ANSI X3.27-1987.
	l[79] = '3'
	return l
}

// ParseVolume parses VOL1. Fields that X3.27 reserves must be blank, and the label standard must be 3.
func ParseVolume(b []byte) (v Volume, err error) {
	r, _ := open(b, "VOL1", "")
	v.VID = r.text("VID", 4, 6)
	r.spaces("accessibility", 10, 1)
	r.spaces("reserved field", 11, 13)
	r.spaces("implementation id", 24, 13)
	v.Owner = r.optional(37, 14)
	r.spaces("reserved field", 51, 26)
	// Tapes from before block protection have spaces here.
	switch method := r.optional(77, 2); method {
	case "", "00":
	case "01":
		v.Protection = ReedSolomon
	case "02":
		v.Protection = CRC32C
	default:
		r.fail("block protection", strconv.Quote(method)+" is not a method")
	}
	r.expect("label standard", 79, "3")
	if r.err != nil {
		return Volume{}, r.err
	}
	return v, nil
}
