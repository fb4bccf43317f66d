package label

import (
	"strconv"
	"strings"

	"hemera/words/errs"
)

// Size of a label in bytes.
const Size = 80

// Label is one encoded label.
type Label [Size]byte

// blank returns a label of spaces that begins with its identifier.
func blank(id string) (l Label) {
	for i := range l {
		l[i] = ' '
	}
	copy(l[:], id)
	return l
}

// put writes s left aligned, cut to the field. Bytes that are not printable ASCII become question marks, and an empty string becomes
// NONE, since readers refuse blank fields.
func (l *Label) put(off, length int, s string) {
	if strings.Trim(s, " ") == "" {
		s = "NONE"
	}
	// The field is filled to its end, so nothing of an earlier value stays.
	for i := range length {
		switch {
		case i >= len(s):
			l[off+i] = ' '
		case s[i] < ' ' || s[i] > '~':
			l[off+i] = '?'
		default:
			l[off+i] = s[i]
		}
	}
}

// number writes n with leading zeros, modulo what the field holds.
func (l *Label) number(off, length int, n uint64) {
	for i := off + length - 1; i >= off; i-- {
		l[i] = byte('0' + n%10)
		n /= 10
	}
}

// reader parses the fields of one label and keeps the first error, so that a parser is a list of fields without a test behind each.
// After an error fields are empty.
type reader struct {
	b    []byte
	name string // of the label
	err  error
}

// open checks the length and the identifier: that of a header, or of a trailer.
func open(b []byte, header, trailer string) (r *reader, isTrailer bool) {
	r = &reader{b: b, name: header}
	if len(b) != Size {
		r.fail("length", strconv.Itoa(len(b))+" bytes instead of 80")
		return r, false
	}
	// A parser of both tells the caller which of the two it found.
	switch id := string(b[:4]); id {
	case header:
	case trailer:
		r.name = trailer
		return r, true
	default:
		r.fail("identifier", "it is "+strconv.Quote(id))
	}
	return r, false
}

// fail keeps the error unless there was one before.
func (r *reader) fail(field, why string) {
	if r.err == nil {
		r.err = errs.New(errs.Corrupt, "label.Parse", r.name, field+": "+why)
	}
}

// text reads a field without the spaces behind it. It fails for a blank one.
func (r *reader) text(field string, off, length int) string {
	if r.err != nil {
		return ""
	}
	s := strings.TrimRight(string(r.b[off:off+length]), " ")
	if s == "" {
		r.fail(field, "it is blank")
	}
	return s
}

// optional reads a field that may be blank.
func (r *reader) optional(off, length int) string {
	if r.err != nil {
		return ""
	}
	return strings.TrimRight(string(r.b[off:off+length]), " ")
}

// number reads a field of decimal digits.
func (r *reader) number(field string, off, length int) uint64 {
	s := r.text(field, off, length)
	if r.err != nil {
		return 0
	}
	// ParseUint alone would take fewer digits with spaces behind them, which no writer makes.
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || len(s) != length {
		r.fail(field, strconv.Quote(s)+" is not a number of "+strconv.Itoa(length)+" digits")
		return 0
	}
	return n
}

// expect fails unless the field is exactly this.
func (r *reader) expect(field string, off int, want string) {
	if r.err != nil {
		return
	}
	if s := string(r.b[off : off+len(want)]); s != want {
		r.fail(field, "it is "+strconv.Quote(s)+", not "+strconv.Quote(want))
	}
}

// spaces fails unless the field is blank.
func (r *reader) spaces(field string, off, length int) {
	r.expect(field, off, strings.Repeat(" ", length))
}
