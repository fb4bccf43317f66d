package policy

import (
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// CheckAttribute refuses a value of one of this package's attributes, sys.* or user.*, that would make every later write
// below the directory fail. It also refuses unknown names of sys.forced.*. It accepts any other attribute. It judges the
// attribute alone: a number of pieces that only some layouts can have is accepted. The caller checks whether a space
// exists. It fails with Invalid.
func CheckAttribute(name, text string) error {
	attr := name
	if rest, ok := strings.CutPrefix(name, "user.forced."); ok {
		attr = "sys.forced." + rest
	}
	if text == "" {
		return nil // empty counts as not set
	}
	v := value{text, name, forced}
	var err error
	switch attr {
	case AttrSpace:
	case AttrLayout:
		_, err = Named(text, 0, hemera.Plain())
	case AttrStripes:
		_, err = v.pieces() // whether a layout can have that many is checked when both are known
		return err
	case AttrBlockSize:
		_, err = hemera.ParseBlockSize(text)
	case AttrChecksum:
		_, err = hemera.ParseChecksumKind(text)
	case AttrMode:
		if name != AttrMode {
			return errs.New(errs.Invalid, "policy.CheckAttribute", name, "a mode is for the whole tree").WithRemedy("set " + AttrMode)
		}
		_, err = parseMode(name, text)
		return err
	case AttrNoUserLayout:
		_, err = allowed(Attributes{Sys: map[string][]byte{attr: []byte(text)}}, hemera.Identity{})
		return err
	default:
		if strings.HasPrefix(name, "sys.forced.") {
			return errs.New(errs.Invalid, "policy.CheckAttribute", name, "nothing reads this attribute, so it would steer nothing").
				WithRemedy("known are " + strings.Join([]string{AttrSpace, AttrLayout, AttrStripes, AttrBlockSize, AttrChecksum, AttrNoUserLayout, AttrMode}, ", "))
		}
	}
	if err != nil {
		return v.invalid(err)
	}
	return nil
}

// IsSpaceAttribute reports whether the value of an attribute names a space.
func IsSpaceAttribute(name string) bool {
	return name == AttrSpace || name == "user"+strings.TrimPrefix(AttrSpace, "sys")
}
