package hemera

import (
	"strings"
)

// Form says how files are to be stored. A zero field leaves what a file has.
type Form struct {
	Layout    Layout // of kind 0: as it is
	BlockSize uint32 // of layouts with blocks, in bytes
	Space     SpaceName
	// Checksum is to be stored of each file. Those that a file has are kept beside it.
	Checksum ChecksumKind
}

// Zero reports whether the form asks for nothing.
func (f Form) Zero() bool { return f == Form{} }

// String returns the form in the words of `hemera convert`: "layout=rs:4+2 space=archive".
func (f Form) String() string {
	var words []string
	if f.Layout.Kind != 0 {
		words = append(words, "layout="+f.Layout.String())
	}
	if f.BlockSize != 0 {
		words = append(words, "blocksize="+FormatBlockSize(f.BlockSize))
	}
	if f.Space != "" {
		words = append(words, "space="+string(f.Space))
	}
	if f.Checksum != ChecksumNone {
		words = append(words, "checksum="+f.Checksum.String())
	}
	return strings.Join(words, " ")
}
