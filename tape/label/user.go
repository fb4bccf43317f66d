package label

import "strings"

// User is UHL1 or, behind the data, UTL1. Both are CTA's own.
type User struct {
	Trailer   bool
	FSeq      uint64 // from 1
	BlockSize uint64 // bytes; no block of the file is longer
	Site      string // where it was written, in 8 bytes
	Host      string // name of the machine, in 10
	Vendor    string // of the drive, in 8
	Model     string // of the drive, in 8
	Serial    string // of the drive, in 12
}

// Encode makes the label. Site and host are written in upper case.
func (u User) Encode() Label {
	l := blank("UHL1")
	if u.Trailer {
		l = blank("UTL1")
	}
	l.number(4, 10, u.FSeq)
	l.number(14, 10, u.BlockSize)
	l.number(24, 10, u.BlockSize) // record length
	// Where the file was written is for people who look for the cause of a bad tape; programs ignore it.
	l.put(34, 8, strings.ToUpper(u.Site))
	l.put(42, 10, strings.ToUpper(u.Host))
	l.put(52, 8, u.Vendor)
	l.put(60, 8, u.Model)
	l.put(68, 12, u.Serial)
	return l
}

// ParseUser parses UHL1 or UTL1. A block size or fSeq of zero fails.
func ParseUser(b []byte) (u User, err error) {
	r, trailer := open(b, "UHL1", "UTL1")
	u.Trailer = trailer
	// What addresses and sizes a file is checked; the rest only has to be there.
	u.FSeq = r.number("fSeq", 4, 10)
	u.BlockSize = r.number("block size", 14, 10)
	r.number("record length", 24, 10)
	u.Site = r.text("site", 34, 8)
	u.Host = r.text("host", 42, 10)
	u.Vendor = r.text("drive vendor", 52, 8)
	u.Model = r.text("drive model", 60, 8)
	u.Serial = r.text("drive serial number", 68, 12)
	// A size of zero would have a reader loop for ever, and files are counted from 1.
	if u.FSeq == 0 {
		r.fail("fSeq", "it is 0")
	}
	if u.BlockSize == 0 {
		r.fail("block size", "it is 0")
	}
	if r.err != nil {
		return User{}, r.err
	}
	return u, nil
}
