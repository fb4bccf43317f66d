package label

import "strconv"

// Format is HDR2 or, behind the data, EOF2. Readers take the block size of User.
type Format struct {
	Trailer bool
	// BlockSize in bytes; from 100,000 on it does not fit the field and zero is written.
	BlockSize uint64
	// Compressed is set in files whose writer switched the drive's compression on.
	Compressed bool
}

// blockSizeMax bounds what HDR2 can say.
const blockSizeMax = 100_000

// Encode makes the label.
func (f Format) Encode() Label {
	l := blank("HDR2")
	if f.Trailer {
		l = blank("EOF2")
	}
	// Blocks of 256 KiB do not fit.
	size := f.BlockSize
	if size >= blockSizeMax {
		size = 0
	}
	l[4] = 'F'           // all blocks but the last have one length
	l.number(5, 5, size) // of a block
	l.number(10, 5, size)
	if f.Compressed {
		l[34] = 'P'
	}
	l.number(50, 2, 0) // the format has no version since
	return l
}

// ParseFormat parses HDR2 or EOF2.
func ParseFormat(b []byte) (f Format, err error) {
	r, trailer := open(b, "HDR2", "EOF2")
	f.Trailer = trailer
	r.expect("record format", 4, "F")
	f.BlockSize = r.number("block length", 5, 5)
	r.number("record length", 10, 5)
	// CTA leaves the technique blank and lets the drive decide whether it compresses.
	switch technique := r.optional(34, 2); technique {
	case "":
	case "P":
		f.Compressed = true
	default:
		r.fail("recording technique", strconv.Quote(technique)+" is not one")
	}
	r.expect("version", 50, "00")
	if r.err != nil {
		return Format{}, r.err
	}
	return f, nil
}
