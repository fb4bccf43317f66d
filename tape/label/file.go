package label

import (
	"strconv"
	"strings"
)

// File is HDR1 or, behind the data, EOF1.
type File struct {
	Trailer bool
	// Prelabel marks the header that stands behind VOL1 while the tape is empty. It has no archive id.
	Prelabel  bool
	ArchiveID uint64
	VID       string
	// FSeq is written modulo 10,000. Parse returns what is written; the true one is in User.
	FSeq    uint64
	Created Day
	// Blocks of data, modulo a million; zero in headers.
	Blocks uint64
	// System names what wrote the file and its version, in 13 bytes.
	System string
}

// Encode makes the label.
func (f File) Encode() Label {
	l := blank("HDR1")
	if f.Trailer {
		l = blank("EOF1")
	}
	id := strings.ToUpper(strconv.FormatUint(f.ArchiveID, 16))
	if f.Prelabel {
		id = "PRELABEL"
	}
	// X3.27 has the name of the file here. Identity is in the catalogue, so the archive id is enough.
	l.put(4, 17, id)
	l.put(21, 6, f.VID)
	l.number(27, 4, 1)      // section
	l.number(31, 4, f.FSeq) // sequence
	l.number(35, 4, 1)      // generation
	l.number(39, 2, 0)      // its version
	l.putDay(41, f.Created)
	l.putDay(47, f.Created) // expiration
	// A header cannot know the number of blocks. CTA's reader refuses a blank system code.
	l.number(54, 6, f.Blocks)
	l.put(60, 13, f.System)
	return l
}

// ParseFile parses HDR1 or EOF1.
func ParseFile(b []byte) (f File, err error) {
	r, trailer := open(b, "HDR1", "EOF1")
	f.Trailer = trailer
	id := r.text("archive id", 4, 17)
	f.Prelabel = id == "PRELABEL"
	if r.err == nil && !f.Prelabel {
		n, err := strconv.ParseUint(id, 16, 64)
		if err != nil {
			r.fail("archive id", strconv.Quote(id)+" is not hexadecimal")
		}
		f.ArchiveID = n
	}
	f.VID = r.text("VID", 21, 6)
	// A file is never continued on another tape, so there is one section and one generation.
	r.expect("section", 27, "0001")
	f.FSeq = r.number("sequence", 31, 4)
	r.expect("generation", 35, "0001")
	r.expect("generation version", 39, "00")
	f.Created = r.day("creation date", 41)
	r.day("expiration date", 47)
	r.spaces("accessibility", 53, 1)
	f.Blocks = r.number("block count", 54, 6)
	f.System = r.text("system code", 60, 13)
	r.spaces("reserved field", 73, 7)
	if r.err != nil {
		return File{}, r.err
	}
	return f, nil
}
