package policy

import (
	"strings"

	"hemera"
	"hemera/errs"
)

// CheckAttribute refuses a value of one of this package's attributes, sys.* or user.*, that would make
// every later write below the directory fail, and names of sys.forced.* that steer nothing. It accepts any other attribute.
// The caller checks whether a space exists. Invalid.
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
	case AttrSpace:
	case AttrLayout, AttrStripes:
		_, err := s.layout(hemera.Replica(1), hemera.Wish{})
		return err
	case AttrChecksum:
		if _, err := hemera.ParseChecksumKind(text); err != nil {
			return value{text, name}.invalid(err)
		}
	case AttrMode:
		if name != AttrMode {
			return errs.New(errs.Invalid, "policy.CheckAttribute", name, "a mode is for the whole tree").WithRemedy("set " + AttrMode)
		}
		_, err := parseMode(name, text)
		return err
	case AttrNoUserLayout:
		_, err := allowed(s.attrs, hemera.Identity{})
		return err
	default:
		if strings.HasPrefix(name, "sys.forced.") {
			return errs.New(errs.Invalid, "policy.CheckAttribute", name, "nothing reads this attribute, so it would steer nothing").
				WithRemedy("known are " + strings.Join([]string{AttrSpace, AttrLayout, AttrStripes, AttrChecksum, AttrNoUserLayout, AttrMode}, ", "))
		}
	}
	return nil
}

// IsSpaceAttribute reports whether the value of an attribute names a space.
func IsSpaceAttribute(name string) bool {
	return name == AttrSpace || name == "user"+strings.TrimPrefix(AttrSpace, "sys")
}
