package layout

import (
	"strings"

	"hemera"
)

// CheckAttribute refuses a value of one of this package's attributes, sys.* or user.*, that would make
// every later write below the directory fail. Other attributes are nobody's business here. Whether a
// space exists is for the caller. Invalid.
func CheckAttribute(name, text string) error {
	forced := name
	if rest, ok := strings.CutPrefix(name, "user.forced."); ok {
		forced = "sys.forced." + rest
	}
	if text == "" {
		return nil // says nothing, as if it were not set
	}
	s := sources{attrs: Attributes{Sys: map[string][]byte{forced: []byte(text)}}}
	switch forced {
	case AttrLayout, AttrStripes:
		_, err := s.layout(hemera.Replica(1), hemera.Wish{})
		return err
	case AttrChecksum:
		if _, err := hemera.ParseChecksumKind(text); err != nil {
			return value{text, name}.invalid(err)
		}
	case AttrNoUserLayout:
		_, err := allowed(s.attrs, hemera.Identity{})
		return err
	}
	return nil
}

// IsSpaceAttribute reports whether the value of an attribute names a space.
func IsSpaceAttribute(name string) bool {
	return name == AttrSpace || name == "user"+strings.TrimPrefix(AttrSpace, "sys")
}
