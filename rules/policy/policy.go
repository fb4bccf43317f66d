// Package policy decides how a new file is stored: which space, which layout, which checksum. It is pure. From strong to
// weak: the directory's sys.forced.* attributes, the client's wishes (unless sys.forced.nouserlayout forbids them), the
// directory's defaults (user.forced.*), the space's policy. The attribute names and values are EOS's.
//
// The manager calls two functions for each new file: [Space] chooses the space, and [Decide] with that space's own policy
// decides how to store it. [Mode] returns its permission bits. [CheckAttribute] refuses values when they are set, so that
// a directory's attributes are valid later; Decide checks them again.
package policy

import (
	"fmt"
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// The attributes of a directory that this package reads; the same names with "user." are defaults.
const (
	AttrSpace        = "sys.forced.space"
	AttrLayout       = "sys.forced.layout"    // a name as [hemera.ParseLayout] reads it, with numbers or without
	AttrStripes      = "sys.forced.nstripes"  // number of all pieces
	AttrBlockSize    = "sys.forced.blocksize" // of coded layouts, as [hemera.ParseBlockSize] reads it
	AttrChecksum     = "sys.forced.checksum"
	AttrNoUserLayout = "sys.forced.nouserlayout" // 1: clients may not choose
)

// Attributes are the ones that apply to a directory's new files. The functions change neither map.
type Attributes struct {
	Sys  map[string][]byte // the sys.* ones in force, including inherited ones
	User map[string][]byte // the directory's own; other names in it are ignored
	// OwnLayout: the owner, not an admin, set a layout or a number of pieces among them. OwnSpace: the owner set a space.
	OwnLayout, OwnSpace bool
}

// Space returns the name of the space for a new file. It does not check the name against the cluster. It fails with
// Invalid if nouserlayout has a malformed value.
func Space(attrs Attributes, wish hemera.Wish, who hemera.Identity) (hemera.SpaceName, error) {
	wished, err := allowed(attrs, who)
	if err != nil {
		return "", err
	}
	s := sources{attrs: attrs, wished: wished}
	if v := s.first(AttrSpace, string(wish.Space)); v.text != "" {
		return hemera.SpaceName(v.text), nil
	}
	return hemera.DefaultSpace, nil
}

// Decide returns the policy for a new file in a space. It fails with Invalid for a malformed value; the error names the
// attribute or wish that it came from.
func Decide(attrs Attributes, space hemera.Space, wish hemera.Wish, who hemera.Identity) (hemera.Policy, error) {
	p := space.Policy
	p.Space = space.Name
	wished, err := allowed(attrs, who)
	if err != nil {
		return p, err
	}
	s := sources{attrs: attrs, wished: wished}
	if p.Layout, err = s.layout(p, wish); err != nil {
		return p, err
	}
	p.PiecesMin = MinimumOf(space.Policy, p.Layout)
	if v := s.first(AttrChecksum, wish.Checksum); v.text != "" {
		if p.Checksum, err = hemera.ParseChecksumKind(v.text); err != nil {
			return p, v.invalid(err)
		}
	}
	return p, nil
}

// allowed reports whether the client's wishes count. Admins are not bound by nouserlayout.
func allowed(attrs Attributes, who hemera.Identity) (bool, error) {
	switch v := string(attrs.Sys[AttrNoUserLayout]); v {
	case "", "0":
		return true, nil
	case "1":
		return who.Admin, nil
	default: // a misspelt restriction must not count as none
		return false, value{v, AttrNoUserLayout, forced}.invalid(fmt.Errorf("it takes 0 or 1"))
	}
}

// value is a setting's text, its source, and the strength of that source.
type value struct {
	text, from string
	strength   int
}

// invalid returns the error for a value. It names the source, because the user or the admin has to change it there.
func (v value) invalid(err error) error {
	return (&errs.Error{Kind: errs.Invalid, Op: "policy.Decide", Subject: v.from + "=" + v.text, Cause: err}).WithRemedy(v.remedy())
}

// sources are the places that a setting may come from: the directory's forced attributes, the client's wish, the
// directory's defaults. If none of them has it, the space's policy applies.
type sources struct {
	attrs  Attributes
	wished bool // the client's wishes count
}

// first returns the strongest of the forced attribute, the wish and the directory's default. An empty value counts as
// none: an attribute with an empty value leaves the decision to the weaker sources.
func (s sources) first(attr, wish string) value {
	if v := string(s.attrs.Sys[attr]); v != "" {
		return value{v, attr, forced}
	}
	if wish != "" && s.wished {
		return value{wish, "wish for " + strings.TrimPrefix(attr, "sys.forced."), client}
	}
	if len(s.attrs.User) == 0 { // the usual case
		return value{}
	}
	attr = "user" + strings.TrimPrefix(attr, "sys")
	if text := string(s.attrs.User[attr]); text != "" {
		return value{text, attr, directory}
	}
	return value{}
}
