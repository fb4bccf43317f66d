package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Stored describes how a file is, or would be, stored.
type Stored struct {
	Layout hemera.Layout
	Space  hemera.SpaceName
	// Checksums begins with the one that the file's policy names.
	Checksums []hemera.ChecksumKind
}

// Wanted returns how a file must be stored to have the form, and whether it is stored otherwise now. Checksums are added
// and never removed: they prove that the content stayed the same.
func Wanted(e hemera.Entry, f hemera.Form) (Stored, bool) {
	s := Stored{Layout: e.Layout, Space: e.Space}
	if f.Layout.Kind != 0 {
		s.Layout = f.Layout
		// The name of a layout has no block size: a file with blocks keeps its block size.
		if f.Layout.BlockSize == hemera.BlockSizeDefault {
			s.Layout = f.Layout.WithBlockSize(e.Layout.BlockSize)
		}
	}
	// WithBlockSize has no effect on layouts without blocks.
	s.Layout = s.Layout.WithBlockSize(f.BlockSize)
	if f.Space != "" {
		s.Space = f.Space
	}
	// The order matters: the first one is the policy's.
	for _, sum := range e.Checksums {
		s.Checksums = append(s.Checksums, sum.Kind)
	}
	if f.Checksum != hemera.ChecksumNone && !slices.Contains(s.Checksums, f.Checksum) {
		s.Checksums = slices.Insert(s.Checksums, 0, f.Checksum)
	}
	due := s.Layout != e.Layout || s.Space != e.Space || len(s.Checksums) != len(e.Checksums)
	return s, due
}

// CheckForm returns Invalid for a form that no file can have, or that names nothing.
func CheckForm(f hemera.Form) error {
	invalid := func(text string) error {
		return errs.New(errs.Invalid, "lifecycle.CheckForm", f.String(), text).WithRemedy("name a layout, a block size, a space or a checksum that files can have")
	}
	switch {
	case f.Zero():
		return invalid("nothing is asked for")
	case !f.Checksum.Valid():
		return invalid("the checksum is not known")
	case f.BlockSize != 0 && (f.BlockSize < hemera.BlockSizeMin || f.BlockSize > hemera.BlockSizeMax || f.BlockSize%hemera.PageSize != 0):
		return invalid(fmt.Sprintf("a block has %d to %d bytes, in whole pages", hemera.BlockSizeMin, hemera.BlockSizeMax))
	case f.Layout.Kind == 0:
		return nil
	}
	if err := f.Layout.Validate(); err != nil {
		return invalid(err.Error())
	}
	if f.BlockSize != 0 && !f.Layout.Coded() {
		return invalid("layout " + f.Layout.String() + " has no blocks")
	}
	return nil
}

// SetForm sets one part of a form by its key: layout, blocksize, space or checksum. It returns false for another key. It
// fails with Invalid for a malformed value.
func SetForm(f *hemera.Form, key, text string) (known bool, err error) {
	switch key {
	case "layout":
		f.Layout, err = hemera.ParseLayout(text, 0)
	case "blocksize":
		f.BlockSize, err = hemera.ParseBlockSize(text)
	case "space":
		if f.Space = hemera.SpaceName(text); text == "" {
			err = fmt.Errorf("it takes the name of a space")
		}
	case "checksum":
		if f.Checksum, err = hemera.ParseChecksumKind(text); err == nil && f.Checksum == hemera.ChecksumNone {
			err = fmt.Errorf("checksums are added, not taken away")
		}
	default:
		return false, nil
	}
	return true, errs.As(err, errs.Invalid, "lifecycle.SetForm", key+"="+strings.TrimSpace(text))
}
